"""Bring a bed up, run things in it, take it down."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from bed import engines, images, space
from bed.place import CHECKOUT, IMAGES, KEY, NAMES, ROOT, RUN, Bed, BedError, locked, remove_tree, say

SPACE = 6_000_000_000  # bytes


def user() -> tuple[int, int]:
    """The uid and gid of the bed's user: who called sudo, or who owns the checkout, or 1000 where that is root."""
    if int(os.environ.get("SUDO_UID", "0")):
        return int(os.environ["SUDO_UID"]), int(os.environ.get("SUDO_GID", os.environ["SUDO_UID"]))
    owner = CHECKOUT.stat()
    return (owner.st_uid, owner.st_gid) if owner.st_uid else (1000, 1000)


def up(bed: Bed) -> None:
    """Start the bed with all its images; nothing happens when that is so already."""
    if os.geteuid() != 0:
        raise BedError("root is needed for namespaces, mounts and a Docker: `./dev` calls sudo for it")
    if platform.machine() != "x86_64":
        raise BedError(f"the stand-in image is made for x86_64, and this machine is {platform.machine()}")
    with locked():
        _require_space(bed)
        for folder in (IMAGES, bed.home):
            folder.mkdir(parents=True, exist_ok=True)
        os.chown(bed.home, *user())
        space.start(bed)
        images.fill(bed)
        if bed.name == "test":
            engines.fill()


def _require_space(bed: Bed) -> None:
    """Refuse to begin what the disk cannot hold: layers, registry and engine each keep the image once."""
    if bed.folder.exists():
        return
    place = next(path for path in (ROOT, *ROOT.parents) if path.exists())
    free = shutil.disk_usage(place).free
    if free < SPACE:
        raise BedError(
            f"{place} has {free / 1e9:.1f} GB free, and the images need {SPACE / 1e9:.0f} GB for a while: "
            "`ROCENV_BED=FOLDER ./dev …` puts the bed on another disk"
        )


def stop(bed: Bed) -> None:
    """End the bed and drop its containers and its engine's data; the image store stays."""
    with locked():
        space.end(bed)
        remove_tree(bed.folder)


def down() -> None:
    """End every bed of this checkout, and remove all that they left. Nothing happens where there is none."""
    if ROOT.is_dir():
        say(f"removing {ROOT} and all that runs there")
    with locked():
        for name in NAMES:
            space.end(Bed(name))
            remove_tree(Bed(name).folder)
        remove_tree(IMAGES)
        if ROOT.is_dir() and not any(ROOT.iterdir()):
            ROOT.rmdir()
        (RUN / f"{KEY}.lock").unlink()


def argv(bed: Bed, command: Sequence[str], *, as_root: bool, folder: Path | None = None) -> list[str]:
    """The command line that runs `command` in the bed."""
    return space.entering(bed, command, user=None if as_root else user(), folder=folder or bed.home)


def run(
    bed: Bed, command: Sequence[str], *, as_root: bool = False, folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run `command` in the bed to its end, with nothing to read, and return what it left."""
    return subprocess.run(
        argv(bed, command, as_root=as_root, folder=folder), env=space.environment(bed, environment or {}),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip


def become(
    bed: Bed, command: Sequence[str], *, as_root: bool = False, folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> NoReturn:  # fmt: skip
    """Go on as `command` in the bed: the terminal and the exit status are its own."""
    line = argv(bed, command, as_root=as_root, folder=folder)
    os.execvpe(line[0], line, space.environment(bed, environment or {}))
