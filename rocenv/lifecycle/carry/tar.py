"""The tar of a bundle, written and read by the letter: plain files with plain names, one after the other, and an end.

Python's own module reads far more (links, devices, sparse files, headers that rename what follows), none of which a
bundle holds; here all of that is refused by its name before anything of it is used. Format: POSIX.1-1988 "ustar".
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from rocenv.errors import UsageError

BLOCK = 512
END = bytes(2 * BLOCK)
_LONGEST = 100
_MOST = 20_000
_REGULAR = b"0"
_KINDS = {
    b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"5": "a folder", b"6": "a FIFO",
    b"S": "a sparse file", b"L": "a name that is too long", b"K": "a name that is too long",
    b"x": "an extended header", b"g": "an extended header",
}  # fmt: skip


class Member(NamedTuple):
    """One file in the tar: its name, its size, and the byte at which its contents start."""

    name: str
    size: int
    start: int

    @property
    def end(self) -> int:
        """Where the next header stands."""
        return self.start + padded(self.size)


def padded(size: int) -> int:
    """The room that so many bytes take."""
    return -(-size // BLOCK) * BLOCK


def header(name: str, size: int) -> bytes:
    """The header of a file: the same name and size are the same bytes, whoever writes it and when."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.GNU_FORMAT)  # one block: no name of a bundle is long


class Writer:
    """Puts files into a tar that can be written anywhere: a file whose name is known only at its end gets it then."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.names: set[str] = set()

    def add(self, name: str, data: bytes) -> None:
        """A file that is at hand."""
        self.stream(len(data), iter((data,)), lambda: name)

    def stream(self, size: int, pieces: Iterator[bytes], name: Callable[[], str]) -> str:
        """A file piece by piece; `name` is asked when they have all come. One that is in there already is dropped."""
        start = self._stream.tell()
        try:
            self._stream.write(bytes(BLOCK))
            for piece in pieces:
                self._stream.write(piece)
            written = self._stream.tell() - start - BLOCK
            called = _sized(name(), written, size)
        except BaseException:
            self._back(start)
            raise
        if called in self.names:
            self._back(start)
            return called
        self._stream.write(bytes(padded(size) - size))
        end = self._stream.tell()
        self._stream.seek(start)
        self._stream.write(header(called, size))
        self._stream.seek(end)
        self.names.add(called)
        return called

    def _back(self, start: int) -> None:
        self._stream.seek(start)
        self._stream.truncate()

    def close(self) -> None:
        """The tar's end."""
        self._stream.write(END)


def _sized(name: str, written: int, size: int) -> str:
    if written != size:
        raise UsageError(f"`{name}` has {written} bytes instead of {size}", "try again")
    return name


def members(stream: IO[bytes], path: str, total: int) -> Iterator[Member]:
    """Every file of a tar of `total` bytes. Raises UsageError for anything that a bundle does not hold."""
    seen: set[str] = set()
    place = 0
    while True:
        block = _block(stream, path, place, total)
        if not any(block):
            break
        found = _member(block, path, place)
        if found.name in seen:
            raise _refusal(path, f"`{found.name}` is in it twice")
        if found.end + len(END) > total:
            raise _refusal(path, f"it is cut off within `{found.name}`")
        if len(seen) >= _MOST:
            raise _refusal(path, f"it holds more than {_MOST} files")
        seen.add(found.name)
        yield found
        place = found.end
    if any(_block(stream, path, place + BLOCK, total)) or place + len(END) != total:
        raise _refusal(path, "something stands behind its end")


def _block(stream: IO[bytes], path: str, place: int, total: int) -> bytes:
    if place + BLOCK > total:
        raise _refusal(path, "it is cut off")
    stream.seek(place)
    return stream.read(BLOCK)


def _member(block: bytes, path: str, place: int) -> Member:
    """What a header says. Its sum is looked at first: all else may then be believed to be meant."""
    told = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    if block[148:156] != b"%06o\0 " % told or block[257:262] != b"ustar":
        raise _refusal(path, f"what stands at byte {place} is no header of a tar")
    raw, _, rest = block[:_LONGEST].partition(b"\0")
    name = raw.decode("ascii", "backslashreplace")
    kind, size = block[156:157], _number(block[124:136])
    if kind != _REGULAR:
        raise _refusal(
            path, f"`{name}` is {_KINDS.get(kind, 'of no known kind')}, and a bundle holds plain files alone"
        )
    if any(rest) or any(block[345:500]) or size is None:
        raise _refusal(path, f"`{name}` has a header that no bundle has")
    return Member(name, size, place + BLOCK)


def _number(field: bytes) -> int | None:
    """A number as tars write it: octal, or for large ones in base 256."""
    if field[0] == 0x80:  # noqa: PLR2004
        return int.from_bytes(field[1:], "big")
    text = field.rstrip(b" \0").lstrip(b" ")
    return int(text, 8) if text.isdigit() and not set(text) & set(b"89") else None


def _refusal(path: str, why: str) -> UsageError:
    return UsageError(
        f"`{path}` is no sound bundle: {why}; nothing of it was used", "copy it anew, or `rocenv bundle save` it anew"
    )
