"""Files of a host, live or captured, behind one small set of questions; every answer is bounded in size.

A capture is never left: its links, absolute or relative, are followed inside it, and loops of them end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from itertools import islice
from typing import Protocol

MAX_NAMES = 20_000  # of one folder: more than any that is read here holds
_MAX_HOPS = 40  # links on one path, as in the kernel
_CHUNK = 65536


class Files(Protocol):
    """What can be asked. Paths are absolute, as on the host; all but the two tests raise OSError."""

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes of a regular file."""

    def names(self, path: str) -> list[str]:
        """The names in a folder, in no order."""

    def resolve(self, path: str) -> str:
        """The path without any link in it; FileNotFoundError where it leads nowhere."""

    def is_dir(self, path: str) -> bool:
        """True for a folder, or links to one."""

    def is_link(self, path: str) -> bool:
        """True where the last part of the path is a link."""


class Tree(Protocol):
    """Plain storage below Confined: paths hold no links, so that none is followed here."""

    def kind(self, path: str) -> str | None:
        """`dir`, `file`, `other`, or None where there is nothing."""

    def target(self, path: str) -> str | None:
        """Where a link points; None for what is no link."""

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes of a file; OSError for anything else."""

    def names(self, path: str) -> list[str]:
        """The names in a folder; OSError for anything else."""


def failure(number: int, path: str) -> OSError:
    """The OSError of an errno, as the kernel would have raised it for a path."""
    return OSError(number, os.strerror(number), path)


def read_bounded(path: str, limit: int, flags: int = 0) -> bytes:
    """The first `limit` bytes of a regular file; what is none (a pipe, a device) is not waited for but refused."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise failure(errno.EISDIR if os.path.isdir(path) else errno.EINVAL, path)
        first = os.read(descriptor, min(limit, _CHUNK))
        parts = [first]
        left = limit - len(first)
        while left > 0 and parts[-1]:
            parts.append(os.read(descriptor, min(left, _CHUNK)))
            left -= len(parts[-1])
        return b"".join(parts)
    finally:
        os.close(descriptor)


def names_bounded(path: str) -> list[str]:
    """The names in a folder, at most MAX_NAMES of them."""
    with os.scandir(path) as entries:
        return [entry.name for entry in islice(entries, MAX_NAMES)]


class Live:
    """The machine itself: the kernel follows the links and says what may be read."""

    def read(self, path: str, limit: int) -> bytes:
        """See Files."""
        return read_bounded(path, limit)

    def names(self, path: str) -> list[str]:
        """See Files."""
        return names_bounded(path)

    def resolve(self, path: str) -> str:
        """See Files."""
        return os.path.realpath(path, strict=True)

    def is_dir(self, path: str) -> bool:
        """See Files."""
        return os.path.isdir(path)

    def is_link(self, path: str) -> bool:
        """See Files."""
        return os.path.islink(path)


class Folder:
    """A folder as storage: its real paths are looked up one by one and never through a link."""

    def __init__(self, base: str) -> None:
        self._base = base.rstrip("/")

    def kind(self, path: str) -> str | None:
        """See Tree."""
        try:
            mode = os.lstat(self._base + path).st_mode
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(mode):
            return "dir"
        return "file" if stat.S_ISREG(mode) else "other"

    def target(self, path: str) -> str | None:
        """See Tree."""
        try:
            return os.readlink(self._base + path)
        except (OSError, ValueError):
            return None

    def read(self, path: str, limit: int) -> bytes:
        """See Tree."""
        return read_bounded(self._base + path, limit, os.O_NOFOLLOW)

    def names(self, path: str) -> list[str]:
        """See Tree."""
        return names_bounded(self._base + path)


class Confined:
    """A tree seen as a root of its own: links are followed inside it, and faults answer before its files do.

    `links` are links beyond those of the tree (path → target), `faults` errnos by the real path that answers one.
    """

    def __init__(self, tree: Tree, links: Mapping[str, str], faults: Mapping[str, int]) -> None:
        self._tree = tree
        self._faults = faults
        self._targets: dict[str, str | None] = dict(links)

    def locate(self, path: str) -> str:
        """The path without any link in it, whether there is something or not; ELOOP for a loop."""
        todo = _parts(path)
        real = ""
        hops = 0
        while todo:
            part = todo.pop()
            if part == "..":
                real = real.rpartition("/")[0]
                continue
            here = f"{real}/{part}"
            target = self._target(here)
            if target is None:
                real = here
                continue
            hops += 1
            if hops > _MAX_HOPS:
                raise failure(errno.ELOOP, path)
            if target.startswith("/"):
                real = ""
            todo += _parts(target)
        return real or "/"

    def read(self, path: str, limit: int) -> bytes:
        """See Files."""
        return self._tree.read(self._answering(path), limit)

    def names(self, path: str) -> list[str]:
        """See Files."""
        return self._tree.names(self._answering(path))

    def resolve(self, path: str) -> str:
        """See Files."""
        real = self.locate(path)
        if self._tree.kind(real) is None:
            raise failure(errno.ENOENT, path)
        return real

    def is_dir(self, path: str) -> bool:
        """See Files."""
        try:
            return self._tree.kind(self.locate(path)) == "dir"
        except OSError:
            return False

    def is_link(self, path: str) -> bool:
        """See Files."""
        folder, _, name = path.rstrip("/").rpartition("/")
        try:
            return self._target(f"{self.locate(folder).rstrip('/')}/{name}") is not None
        except OSError:
            return False

    def _target(self, path: str) -> str | None:
        """Where a link points; asked of the tree once."""
        if path not in self._targets:
            self._targets[path] = self._tree.target(path)
        return self._targets[path]

    def _answering(self, path: str) -> str:
        """The real path of what is there and may be read; raises the fault that is laid on it."""
        real = self.locate(path)
        if real in self._faults:
            raise failure(self._faults[real], path)
        return real


def _parts(path: str) -> list[str]:
    """The parts of a path, the last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
