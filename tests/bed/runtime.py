"""The container runtime of a bed: runc, after the bed's /sys has been put into the container's configuration.

On a real host a container sees the host's sysfs, since runc mounts it afresh. Here a fresh sysfs would be the real
machine's; so the folders of the bed's own /sys are mounted over it, read-only as the fresh one is.
Called as runc with the path of the real runc before its arguments.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

FOLDERS = ("bus", "class", "devices", "module")


def main() -> None:
    runc, *arguments = sys.argv[1:]
    if ("create" in arguments or "run" in arguments) and "--bundle" in arguments:
        path = Path(arguments[arguments.index("--bundle") + 1], "config.json")
        config = json.loads(path.read_bytes())
        if any(mount["destination"] == "/sys" for mount in config["mounts"]):
            config["mounts"] += [
                {"destination": f"/sys/{name}", "type": "bind", "source": f"/sys/{name}", "options": ["rbind", "ro"]}
                for name in FOLDERS
                if Path("/sys", name).is_dir()
            ]
            path.write_text(json.dumps(config))
    os.execv(runc, ["runc", *arguments])


main()
