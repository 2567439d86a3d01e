"""A bundle read through before anything of it is used: every byte of every blob, and every word that must agree."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from rocenv.errors import UsageError
from rocenv.lifecycle.carry import files, layout
from rocenv.lifecycle.carry.layout import Image
from rocenv.lifecycle.carry.record import Record, read_record
from rocenv.lifecycle.carry.tar import BLOCK, END, Member, members
from rocenv.model.lock import FILE, Lock
from rocenv.profile.places import SETTINGS

_PIECE = 1 << 20
_MOST_TEXT = 64 << 20  # bytes of all that is no blob
_LAYOUT = ("oci-layout", "index.json", "manifest.json")
_BLOB = re.compile(r"blobs/sha256/([0-9a-f]{64})")
_OWN = re.compile(
    rf"{files.ROOT}(?:bundle\.json|project/(?:{re.escape(FILE)}|{re.escape(SETTINGS)})"
    r"|profiles/[a-z0-9][a-z0-9_.-]{0,62}\.yaml|catalog/[a-z]{1,40}\.json|probes/[A-Za-z0-9_-]{1,60}\.(?:py|sh|hip))"
)


class Opened(NamedTuple):
    """A bundle that was found sound: its open file, what is where in it, its record, lock, texts and images."""

    stream: IO[bytes]
    path: str
    members: tuple[Member, ...]
    record: Record
    lock: Lock
    texts: Mapping[str, bytes]
    images: tuple[Image, ...]
    size: int


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """A bundle, verified whole. Raises UsageError for one that is broken, cut, or holds what no bundle holds."""
    with _file(path) as stream:
        try:
            yield _verified(stream, str(path))
        except _UnsoundError as error:
            raise UsageError(
                f"`{path}` is no sound bundle: {error}; nothing of it was used",
                error.mend or "copy it anew, or `rocenv bundle save` it anew",
            ) from None


class _UnsoundError(Exception):
    """What is wrong with a bundle, and what mends it where that is not another copy."""

    def __init__(self, what: str, mend: str | None = None) -> None:
        super().__init__(what)
        self.mend = mend


@contextmanager
def _file(path: Path) -> Iterator[IO[bytes]]:
    try:
        stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}", f"`ls -ld {path}`") from error
    with stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise UsageError(f"`{path}` is no regular file", f"`ls -ld {path}` shows what it is")
        yield stream


def _verified(stream: IO[bytes], path: str) -> Opened:
    size = os.fstat(stream.fileno()).st_size
    texts: dict[str, bytes] = {}
    found = []
    for member in members(stream, path, size):
        blob = _BLOB.fullmatch(member.name)
        if blob is None and member.name not in _LAYOUT and not _OWN.fullmatch(member.name):
            raise _UnsoundError(f"`{member.name[:200]}` has no place in a bundle")
        if blob is None:
            if member.size > files.LARGEST or sum(map(len, texts.values())) + member.size > _MOST_TEXT:
                raise _UnsoundError(f"`{member.name}` has {member.size} bytes, far more than it ever has")
            texts[member.name] = read(stream, member)
        elif hashed(stream, member) != blob[1]:
            raise _UnsoundError(f"`{member.name}` is not what its digest says")
        found.append(member)
    try:
        record, lock = _record(texts)
        images = _images(stream, found, texts)
        _agree(record, lock, images, found)
    except UsageError as error:
        raise _UnsoundError(error.message, error.hint) from error
    return Opened(stream, path, tuple(found), record, lock, texts, images, size)


def read(stream: IO[bytes], member: Member) -> bytes:
    """A whole member."""
    stream.seek(member.start)
    return stream.read(member.size)


def hashed(stream: IO[bytes], member: Member) -> str:
    """The sha256 of a member's bytes, in hexadecimal."""
    found = hashlib.sha256()
    for piece in pieces(stream, member.start, member.size):
        found.update(piece)
    return found.hexdigest()


def pieces(stream: IO[bytes], start: int, size: int) -> Iterator[bytes]:
    """So many bytes from a place on, as many of them as there are."""
    stream.seek(start)
    while size > 0 and (piece := stream.read(min(_PIECE, size))):
        size -= len(piece)
        yield piece


def _record(texts: Mapping[str, bytes]) -> tuple[Record, Lock]:
    from rocenv.lock.read import read_lock

    lock = texts.get(f"{files.PROJECT}{FILE}")
    if files.RECORD not in texts or lock is None:
        raise UsageError("it lacks its record or its lock", "`rocenv bundle save` writes bundles; other tars are none")
    record = read_record(texts[files.RECORD])
    own = {name: layout.digest_of(data) for name, data in texts.items() if name != files.RECORD}
    if own != record.files:
        odd = min(own.items() ^ record.files.items())[0]
        raise UsageError(f"`{odd}` is not what the record tells", None)
    try:
        return record, read_lock(lock)
    except UsageError as error:
        raise UsageError(f"in its lock, {error.message}", None) from error


def _images(stream: IO[bytes], found: list[Member], texts: Mapping[str, bytes]) -> tuple[Image, ...]:
    sizes = {member.name: member.size for member in found if _BLOB.fullmatch(member.name)}
    small = {one.name: read(stream, one) for one in found if one.name in sizes and one.size <= _PIECE}
    for name in _LAYOUT:
        if name not in texts:
            raise UsageError(f"`{name}` is missing", None)
    images = layout.read_images(texts, sizes, small)
    used = {blob.path for one in images for blob in (one.manifest, one.config, *one.layers)}
    for path in sizes:
        if path not in used:
            raise UsageError(f"`{path}` belongs to no image", None)
    return images


def _agree(record: Record, lock: Lock, images: tuple[Image, ...], found: list[Member]) -> None:
    """The images are those of the record, and those of the record are what the lock says."""
    if {one.config.digest for one in images} != {one.image for one in record.images} or not found:
        raise UsageError("it holds other images than its record tells", None)
    names = {one.image: one.name for one in record.images}
    for image in images:
        if image.name != names[image.config.digest]:
            raise UsageError(f"`{image.name}` is not the name that the record tells", None)
    by_config = {one.config.digest: one for one in images}
    for one in record.images:
        locked = lock.profiles.get(one.profile)
        if locked is None:
            raise UsageError(f"its lock does not hold `{one.profile}`", None)
        if one.digest is None:
            same = locked.build is not None and one.reference == locked.build.reference
        else:
            image = by_config[one.image]
            same = one.reference == locked.image.reference and bool(
                {image.config.digest, image.manifest.digest} & set(locked.image.ids)
            )
        if not same:
            raise UsageError(f"its image for `{one.profile}` is not the one that its lock tells", None)


def unchanged(opened: Opened) -> Iterator[bytes]:
    """The images' part of the tar, as an engine takes it; each blob is verified once more as it goes by.

    Raises UsageError before the tar's end where the file has changed meanwhile: an engine takes nothing of it then.
    """
    for member in opened.members:
        if member.name.startswith(files.ROOT):
            continue
        yield from pieces(opened.stream, member.start - BLOCK, BLOCK)
        blob = _BLOB.fullmatch(member.name)
        found = hashlib.sha256()
        for piece in pieces(opened.stream, member.start, member.size):
            found.update(piece)
            yield piece
        if found.hexdigest() != (blob[1] if blob else hashlib.sha256(opened.texts[member.name]).hexdigest()):
            raise UsageError(f"`{opened.path}` changed while it was loaded: nothing of it was taken", "load it again")
        yield bytes(member.end - member.start - member.size)
    yield END
