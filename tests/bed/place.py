"""Where a bed keeps its things: data in `.testbed/` of the checkout, what is alive in /run, one lock for both."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ROOT = Path(os.environ.get("ROCENV_BED") or CHECKOUT / ".testbed").resolve()
# Two checkouts on one machine never share a name: /run, cgroups and locks carry this hash of the folder.
KEY = f"rocenv-bed-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
RUN = Path("/run")
CGROUPS = Path("/sys/fs/cgroup")
NAMES = ("demo", "test")


class BedError(Exception):
    """The bed cannot be made or used; the message says why, in words for the person who started it."""


@dataclass(frozen=True)
class Bed:
    """One bed by name. The image store is shared, everything else is its own."""

    name: str

    @property
    def folder(self) -> Path:
        """What outlives a reboot: the engine's data, the host's tree, the home of the bed's user."""
        return ROOT / self.name

    @property
    def run(self) -> Path:
        """What does not: the socket, process ids, logs. A short path, since a socket's may have 107 bytes."""
        return RUN / f"{KEY}-{self.name}"

    @property
    def socket(self) -> Path:
        """The engine's socket, as seen from outside the bed."""
        return self.run / "docker.sock"

    @property
    def home(self) -> Path:
        """The home folder of the bed's user."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """The folder that the demo calls its project."""
        return self.home / "demo"

    @property
    def cgroup(self) -> str:
        """The parent of all cgroups of the bed's containers, so that they can be told from others'."""
        return f"{KEY}-{self.name}"


IMAGES = ROOT / "images"


def say(text: str) -> None:
    """Progress for the person who waits, on stderr."""
    print(f"bed: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Hold the lock of this checkout's beds: two at once wait for one another.

    The file is removed with the last bed, so after the wait it is looked at again: who was given the lock of a file
    that is no longer there tries anew.
    """
    path = RUN / f"{KEY}.lock"
    while True:
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another command that starts or stops a bed of this checkout")
                fcntl.flock(file, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                yield
                return


def remove_tree(path: Path) -> None:
    """Remove a folder of the bed's; nothing is mounted below it once the bed's namespace has ended."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)


def remove_cgroups(bed: Bed) -> None:
    """Remove the cgroups that the bed's containers left, in every hierarchy, the deepest first."""
    parents = [CGROUPS / bed.cgroup, *(path / bed.cgroup for path in CGROUPS.glob("*") if path.is_dir())]
    for parent in filter(Path.is_dir, parents):
        folders = [Path(folder) for folder, _, _ in os.walk(parent, topdown=False)]
        for folder in folders:
            with contextlib.suppress(
                OSError
            ):  # a process that is still ending keeps its cgroup; the next `down` mends it
                folder.rmdir()
