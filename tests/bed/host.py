"""The host that a bed shows: four MI300X with the DKMS driver, as tests/hosts builds it, and nodes that can be opened.

The nodes' numbers are those of virtual terminals that nobody uses (major 4): every kernel lets them be opened, each
has a number of its own, and the device cgroup of a container denies those that were not passed. The numbers of null
or zero would not do: every container may open them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bed.place import Bed

FIRST_MINOR = 20
# Nodes' groups: odd on purpose, different for kfd and the render nodes, and without a name anywhere.
GIDS = {"kfd": 993, "renderD": 2044, "card": 44}


def build(bed: Bed) -> Path:
    trial = Path(os.environ["BED_TRIAL"])
    target = bed.folder / "host"
    if not target.exists():
        shutil.copytree(trial, target, symlinks=True)
    return target / "root"


def write_nodes(bed: Bed) -> Path:
    names = ["/dev/kfd"]
    for path in sorted((bed.folder / "host/root/sys/class/drm").iterdir()):
        if path.name.startswith(("card", "renderD")):
            names.append(f"/dev/dri/{path.name}")
    lines = []
    for minor, name in enumerate(names, FIRST_MINOR):
        gid = next(gid for prefix, gid in GIDS.items() if name.rpartition("/")[2].startswith(prefix))
        lines.append(f"node {name} {minor} 0660 0 {gid}\n")
    path = bed.run / "nodes"
    path.write_text("".join(lines))
    return path
