"""Files of a host, live or captured, behind one small set of questions; every answer is bounded in size.

A capture is never left: its links, absolute or relative, are followed inside it, and loops of them end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocenv.host.shapes import Tree

MAX_NAMES = 20_000  # of one folder: more than any that is read here holds
_MAX_HOPS = 40  # links on one path, as in the kernel
_CHUNK = 65536
_FIRST = 8192  # bytes: sysfs answers with at most a page
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def failure(number: int, path: str) -> OSError:
    """The OSError of an errno, as the kernel would have raised it for a path."""
    return OSError(number, os.strerror(number), path)


def read_bounded(path: str, limit: int, flags: int = 0, *, trusted: bool = False) -> bytes:
    """The first `limit` bytes of a file. A pipe or device is never waited for, and only opened where `trusted`."""
    if not trusted and not stat.S_ISREG(os.stat(path, follow_symlinks=not flags & os.O_NOFOLLOW).st_mode):
        raise failure(errno.EISDIR if os.path.isdir(path) else errno.EINVAL, path)
    descriptor = os.open(path, _FLAGS | flags)
    try:
        size = min(limit, _FIRST)
        part = os.read(descriptor, size)
        if len(part) < size and not path.startswith("/proc/"):
            return part  # the end: /proc alone answers in pieces
        parts = [part]
        left = limit - len(part)
        while part and left > 0:
            part = os.read(descriptor, min(left, _CHUNK))
            parts.append(part)
            left -= len(part)
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
        return read_bounded(path, limit, trusted=True)

    def names(self, path: str) -> list[str]:
        """See Files."""
        return os.listdir(path)[:MAX_NAMES]

    def resolve(self, path: str) -> str:
        """See Files."""
        return os.path.realpath(path, strict=True)

    def is_dir(self, path: str) -> bool:
        """See Files."""
        return os.path.isdir(path)

    def target(self, path: str) -> str | None:
        """See Files."""
        try:
            return os.readlink(path)
        except OSError:
            return None


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

    def target(self, path: str) -> str | None:
        """See Files."""
        folder, _, name = path.rstrip("/").rpartition("/")
        try:
            return self._target(f"{self.locate(folder).rstrip('/')}/{name}")
        except OSError:
            return None

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
