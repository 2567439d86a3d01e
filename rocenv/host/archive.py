"""A capture's .tar.gz read into memory: nothing is unpacked, so nothing can be written, left over or overrun."""

from __future__ import annotations

import errno
import gzip
import tarfile
import zlib
from typing import Protocol

from rocenv.errors import UsageError
from rocenv.host.files import MAX_NAMES, failure

_MAX_UNPACKED = 256 << 20  # bytes that the archive may unpack to; a capture has a few hundred KB
_MAX_KEPT = 64 << 20  # bytes of files that are kept
_MAX_FILE = 8 << 20  # bytes of one file that are kept
_MAX_MEMBERS = 200_000
_MAX_DEPTH = 64
_MAX_PATH = 4096
_BAD_ARCHIVE = (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError)


class Archive:
    """The members of an archive as a tree: folders, files and links by their path below root/."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._folders: dict[str, set[str]] = {}

    def add_folder(self, path: str) -> None:
        """Add a folder, and those above it."""
        self._enter(path)
        self._folders.setdefault(path, set())

    def add_file(self, path: str, data: bytes) -> None:
        """Add a file, and the folders above it; it takes the place of what has been there."""
        self._enter(path)
        self._links.pop(path, None)
        self._files[path] = data

    def add_link(self, path: str, target: str) -> None:
        """Add a link, and the folders above it."""
        self._enter(path)
        self._links[path] = target

    def _enter(self, path: str) -> None:
        """Put a name into the folder above it, making that and those above it where they are not yet."""
        while path != "/":
            above, _, name = path.rpartition("/")
            above = above or "/"
            known = above in self._folders
            self._folders.setdefault(above, set()).add(name)
            if known:
                return
            path = above

    @property
    def empty(self) -> bool:
        """True as long as there is not even a root."""
        return not self._folders

    def kind(self, path: str) -> str | None:
        """See Tree."""
        if path in self._folders:
            return "dir"
        return "file" if path in self._files else None

    def target(self, path: str) -> str | None:
        """See Tree."""
        return self._links.get(path)

    def read(self, path: str, limit: int) -> bytes:
        """See Tree."""
        if path not in self._files:
            raise failure(errno.EISDIR if path in self._folders else errno.ENOENT, path)
        return self._files[path][:limit]

    def names(self, path: str) -> list[str]:
        """See Tree."""
        if path not in self._folders:
            raise failure(errno.ENOTDIR if path in self._files else errno.ENOENT, path)
        return sorted(self._folders[path])[:MAX_NAMES]


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Counted:
    """A stream that ends in an error once it has given more than a capture ever holds."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self._left = _MAX_UNPACKED

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise OverflowError(f"it unpacks to more than {_MAX_UNPACKED >> 20} MiB")
        return data


def read_archive(path: str) -> tuple[Archive, bytes]:
    """The tree and the text of devices.yaml in a .tar.gz.

    Raises UsageError for what is no whole .tar.gz, holds no root/, or unpacks to more than a capture ever holds.
    Members that would lie outside, devices and the like are passed over.
    """
    try:
        with gzip.open(path) as unpacked, tarfile.open(fileobj=_Counted(unpacked), mode="r|") as members:  # type: ignore[call-overload]
            tree, manifest = _read_members(members)
    except _BAD_ARCHIVE as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UsageError(f"`{path}` is no whole .tar.gz: {why}", "name a capture's folder or .tar.gz") from error
    if tree.empty:
        raise UsageError(f"`{path}` holds no host capture: no folder `root` is in it", "name a capture's .tar.gz")
    return tree, manifest


def _read_members(members: tarfile.TarFile) -> tuple[Archive, bytes]:
    """Sort every member into the tree; devices.yaml stands beside root/."""
    tree, manifest, kept = Archive(), b"", 0
    for count, member in enumerate(members):
        if count >= _MAX_MEMBERS or kept > _MAX_KEPT:
            raise OverflowError("it holds more than a host capture ever does")
        place = _place(member.name)
        if place is None:
            continue
        if member.isreg() and not member.issparse():
            stream = members.extractfile(member)
            data = stream.read(min(member.size, _MAX_FILE)) if stream else b""
            kept += len(data)
            if place == "devices.yaml":
                manifest = data
            elif place.startswith("/"):
                tree.add_file(place, data)
        elif place.startswith("/"):
            _add_other(tree, place, member)
    return tree, manifest


def _add_other(tree: Archive, place: str, member: tarfile.TarInfo) -> None:
    """Add a folder or a link; a hard link is one more name of a file that came before it."""
    if member.isdir():
        tree.add_folder(place)
    elif member.issym():
        tree.add_link(place, member.linkname)
    elif member.islnk():
        other = _place(member.linkname)
        if other is not None and tree.kind(other) == "file":
            tree.add_file(place, tree.read(other, _MAX_FILE))


def _place(name: str) -> str | None:
    """Where a member belongs: `/sys/…` for what lies below root/, `devices.yaml`; None for all else.

    Both may stand in a folder of the capture's name.
    """
    if len(name) > _MAX_PATH:
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if len(parts) > _MAX_DEPTH or ".." in parts:
        return None
    start = next((number for number, part in enumerate(parts[:2]) if part == "root"), None)
    if start is not None:
        return "/" + "/".join(parts[start + 1 :])
    return "devices.yaml" if parts[-1:] == ["devices.yaml"] and len(parts) <= 2 else None  # noqa: PLR2004
