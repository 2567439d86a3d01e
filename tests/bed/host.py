"""The host that a bed shows: host.yaml, written as files by the builder of tests/hosts, and nodes that can be opened.

The nodes' numbers are those of virtual terminals that nobody uses (major 4): the kernel lets them be opened, each has
a number of its own, and the device cgroup of a container denies those that were not passed. The numbers of null or
zero would not do: every container may open them.
"""

from __future__ import annotations

from pathlib import Path

from bed.place import Bed

DESCRIPTION = Path(__file__).with_name("host.yaml")
FIRST_MINOR, LAST_MINOR = 20, 63


def build(bed: Bed) -> Path:
    """Write the host's files; the folder that stands for its root."""
    import yaml
    from hosts import builder

    folder: Path = builder.build(yaml.safe_load(DESCRIPTION.read_text()), bed.folder / "host")
    return folder / "root"


def write_nodes(bed: Bed) -> Path:
    """Write which nodes the host has, for inside.sh: a line each with path, minor, mode, uid and gid."""
    import yaml

    devices = yaml.safe_load((bed.folder / "host" / "devices.yaml").read_text())["devices"]
    minors = range(FIRST_MINOR, LAST_MINOR + 1)
    lines = [
        f"{device['path']} {minor} {device['mode']} {device['uid']}:{device['gid']}\n"
        for minor, device in zip(minors, devices, strict=False)
    ]
    path = bed.run / "nodes"
    path.write_text("".join(lines))
    return path
