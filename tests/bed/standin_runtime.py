"""A stand-in for amd-container-runtime: what its documentation says of AMD_VISIBLE_DEVICES, and no line of its own.

It reads the bed's /sys as it is, puts the card and render nodes of the GPUs named by `0x<UUID>`, and /dev/kfd, into
the container's configuration with their own groups, then becomes the runtime whose path stands before its arguments.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    runtime, *arguments = sys.argv[1:]
    if "create" in arguments and "--bundle" in arguments:
        path = Path(arguments[arguments.index("--bundle") + 1], "config.json")
        config = json.loads(path.read_bytes())
        words = dict(word.split("=", 1) for word in config["process"]["env"])
        for node in nodes(words.get("AMD_VISIBLE_DEVICES", "none").split(",")):
            add(config["linux"], node)
        path.write_text(json.dumps(config))
    os.execv(runtime, [runtime, *arguments])


def nodes(wanted: list[str]) -> list[str]:
    """The nodes of the GPUs with these UUIDs."""
    found = ["/dev/kfd"] if wanted != ["none"] else []
    for file in Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties"):
        facts = dict(line.split() for line in file.read_text().splitlines())
        if f"0x{int(facts.get('unique_id', 0)):x}" in wanted:
            drm = Path(f"/sys/class/drm/renderD{facts['drm_render_minor']}/device/drm")
            found += [f"/dev/dri/{one.name}" for one in sorted(drm.iterdir())]
    return found


def add(linux: dict[str, Any], node: str) -> None:
    status = os.stat(node)
    number = {"type": "c", "major": os.major(status.st_rdev), "minor": os.minor(status.st_rdev)}
    owner = {"fileMode": status.st_mode & 0o777, "uid": 0, "gid": status.st_gid}
    linux.setdefault("devices", []).append({"path": node, **number, **owner})
    linux["resources"]["devices"].append({"allow": True, "access": "rwm", **number})


main()
