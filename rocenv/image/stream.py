"""Bytes that are read forward only: decompressed on the way, cut where a reader wants them cut, never held whole."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

PIECE = 1 << 20  # bytes that are decompressed and looked at in one go
# A layer may be zeros for gigabytes; one that goes on to a ratio that no file system reaches is made to harm.
_FREE = 4 << 30
_RATIO = 400

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


class DamagedError(Exception):
    """The bytes are not what they should be: cut short, or of no format that is known here."""


def expanded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The plain bytes of a layer, in pieces of at most PIECE: gzip and zstd are told by their first bytes.

    Raises DamagedError for what is cut short, broken, or a bomb.
    """
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= len(ZSTD) + 2:
            break
    for magic, name in _OTHERS.items():
        if head.startswith(magic):
            raise DamagedError(f"it is compressed with {name}, which image layers are not")
    if head.startswith(GZIP):
        return _inflated(_joined(head, source))
    if head.startswith(ZSTD):
        return _unzstd(_joined(head, source))
    return _joined(head, source)


def _joined(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from rest


class _Bound:
    """Counts what goes in and what comes out, and ends a bomb."""

    def __init__(self) -> None:
        self.read = self.made = 0

    def check(self, piece: bytes) -> bytes:
        self.made += len(piece)
        if self.made > _FREE and self.made > self.read * _RATIO:
            raise DamagedError(
                f"it grows to more than {self.made >> 30} GiB from {self.read >> 20} MiB: a decompression bomb"
            )
        return piece


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Gzip, of one member or several."""
    bound, engine = _Bound(), zlib.decompressobj(wbits=31)
    try:
        for chunk in chunks:
            bound.read += len(chunk)
            data = chunk
            while data:
                if engine.eof:
                    if data[:1] != GZIP[:1]:
                        break  # padding behind the last member
                    engine = zlib.decompressobj(wbits=31)
                yield bound.check(engine.decompress(data, PIECE))
                data = engine.unused_data if engine.eof else engine.unconsumed_tail
        while not engine.eof and (piece := engine.decompress(b"", PIECE)):  # all is read, and not all of it came out
            yield bound.check(piece)
    except zlib.error as error:
        raise DamagedError(f"its gzip data is broken: {error}") from None
    if not engine.eof:
        raise DamagedError("its gzip data is cut short")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Zstandard, of one frame or several; skippable frames, which zstd:chunked adds, yield nothing."""
    zstd = zstandard()
    bound, engine = _Bound(), zstd.ZstdDecompressor()
    try:
        for chunk in chunks:
            bound.read += len(chunk)
            data = chunk
            while data or not (engine.eof or engine.needs_input):
                if engine.eof:
                    engine = zstd.ZstdDecompressor()
                yield bound.check(engine.decompress(data, PIECE))
                data = engine.unused_data if engine.eof else b""
    except zstd.ZstdError as error:
        raise DamagedError(f"its zstd data is broken: {error}") from None
    if not engine.eof:
        raise DamagedError("its zstd data is cut short")


def zstandard() -> Any:
    """Python's zstd module: its own from 3.14 on, the same from a package before."""
    import importlib

    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return importlib.import_module("backports.zstd")


class Stream:
    """Plain bytes that are read forward; `position` counts them."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._buffer = b""
        self._at = 0
        self.position = 0

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        stop = self._at + size
        if stop <= len(self._buffer):
            data = self._buffer[self._at : stop]
            self._at = stop
            self.position += size
            return data
        return b"".join(self.parts(size))

    def parts(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes as they come, in pieces; fewer only at the end."""
        while size > 0:
            left = len(self._buffer) - self._at
            if left == 0:
                self._buffer = next(self._pieces, b"")
                self._at = 0
                if not self._buffer and not self._more():
                    return
                continue
            taken = min(left, size)
            whole = taken == len(self._buffer)
            piece = self._buffer if whole else self._buffer[self._at : self._at + taken]
            self._at += taken
            self.position += taken
            size -= taken
            yield piece

    def _more(self) -> bool:
        """Go on past empty pieces; False at the end."""
        for piece in self._pieces:
            if piece:
                self._buffer = piece
                return True
        return False

    def skip(self, size: int) -> int:
        """Pass over the next `size` bytes; how many there were."""
        before = self.position
        while size > 0:
            left = len(self._buffer) - self._at
            if left == 0:
                self._buffer, self._at = next(self._pieces, b""), 0
                if not self._buffer and not self._more():
                    break
                continue
            taken = min(left, size)
            self._at += taken
            self.position += taken
            size -= taken
        return self.position - before
