"""The entries of a tar, read forward: ustar, pax and GNU, with constant memory however many there are.

The standard library's tarfile keeps every member that it has seen, and takes more than twice as long for each: layers
have hundreds of thousands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocenv.image.stream import DamagedError, Stream

BLOCK = 512
LONGEST = 4096  # of a path: Linux's own limit
_HEADER_LIMIT = 1 << 20  # of a pax header; those of real layers hold a few extended attributes
_KEYS, _SPARSE = ("path", "linkpath", "size"), "GNU.sparse."
_ZERO = bytes(BLOCK)
_SPACES = sum(b" " * 8)
FILE, FOLDER, LINK, HARD, SPARSE, OTHER = "file", "folder", "link", "hard", "sparse", "other"
_KINDS = {b"0": FILE, b"\0": FILE, b"7": FILE, b"1": HARD, b"2": LINK, b"5": FOLDER, b"S": SPARSE}


class Entry(NamedTuple):
    """One entry: `link` is where a link leads, `size` the bytes that are stored."""

    name: str
    kind: str  # file | folder | link | hard | sparse | other (devices, FIFOs)
    size: int
    link: str


class Tar:
    """Iterates over entries; `read` and `parts` give the content of the last one, what is left of it is passed over."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._left = 0
        self._padding = 0

    def read(self, size: int) -> bytes:
        """The next bytes of the entry's content. Raises DamagedError where the tar ends within it."""
        size = min(size, self._left)
        data = self._stream.read(size)
        self._left -= size
        if len(data) < size:
            raise self._cut()
        return data

    def parts(self) -> Iterator[bytes]:
        """All that is left of the entry's content, in pieces."""
        while self._left:
            for piece in self._stream.parts(self._left):
                self._left -= len(piece)
                yield piece
            if self._left:
                raise self._cut()

    def __iter__(self) -> Iterator[Entry]:
        """The entries in their order. Raises DamagedError for what is no tar, or a cut one."""
        pax: dict[str, str] = {}
        while True:
            self._pass()
            header = self._stream.read(BLOCK)
            if not header or header == _ZERO:
                return
            if len(header) < BLOCK:
                raise self._cut()
            kind, size = header[156:157], self._number(header[124:136])
            self._checked(header)
            if kind in (b"x", b"g", b"L", b"K"):
                self._content(size)
                text = self._extension(size)
                if kind == b"x":
                    pax = {key: value for key, value in _records(text) if key in _KEYS or key.startswith(_SPARSE)}
                elif kind != b"g":
                    pax["path" if kind == b"L" else "linkpath"] = _text(text.split(b"\0", 1)[0])
                continue
            entry = self._entry(header, kind, size, pax)
            self._content(entry.size)
            pax = {}
            yield entry

    def _entry(self, header: bytes, kind: bytes, size: int, pax: dict[str, str]) -> Entry:
        name = pax.get("path") or _field(header[:100])
        if header[345] and header[257:263] == b"ustar\0" and "path" not in pax:
            name = f"{_field(header[345:500])}/{name}"
        what = _KINDS.get(kind, OTHER)
        if what == SPARSE:
            self._sparse(header)
        if pax:
            size = self._decimal(pax["size"]) if "size" in pax else size
            if any(key.startswith(_SPARSE) for key in pax):
                what, name = SPARSE, pax.get("GNU.sparse.name", name)
        if what == FILE and name.endswith("/"):
            what = FOLDER  # as old tars write them
        stored = size if what in (FILE, SPARSE) or kind not in _KINDS else 0
        link = (pax.get("linkpath") or _field(header[157:257])) if what in (LINK, HARD) else ""
        return Entry(name, what, stored, link)

    def _content(self, size: int) -> None:
        self._left, self._padding = size, -size % BLOCK

    def _pass(self) -> None:
        wanted = self._left + self._padding
        if wanted and self._stream.skip(wanted) < wanted:
            raise self._cut()
        self._left = self._padding = 0

    def _extension(self, size: int) -> bytes:
        if size > _HEADER_LIMIT:
            raise DamagedError(f"the header at byte {self._stream.position} announces {size} bytes of attributes")
        return self.read(size)

    def _sparse(self, header: bytes) -> None:
        """Pass the blocks that go on with a GNU sparse map; the content comes behind them."""
        more = header[482]
        while more:
            block = self._stream.read(BLOCK)
            if len(block) < BLOCK:
                raise self._cut()
            more = block[504]

    def _number(self, field: bytes) -> int:
        """A size as octal digits, or in base 256 where the first bit is set."""
        if field[0] & 0x80:
            number = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
            if field[0] & 0x40 or number >= 1 << 62:
                raise self._broken()
            return number
        digits = field.strip(b"\0 ")
        try:
            return int(digits, 8) if digits else 0
        except ValueError:
            raise self._broken() from None

    def _decimal(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18:  # noqa: PLR2004
            raise self._broken()
        return int(text)

    def _checked(self, header: bytes) -> None:
        """A header's sum is that of its bytes, its own field counted as blanks."""
        if sum(header) - sum(header[148:156]) + _SPACES != self._number(header[148:156]):
            raise self._broken()

    def _broken(self) -> DamagedError:
        return DamagedError(f"the tar header at byte {self._stream.position - BLOCK} is none")

    def _cut(self) -> DamagedError:
        return DamagedError(f"the tar is cut short at byte {self._stream.position}")


def _field(field: bytes) -> str:
    return _text(field.split(b"\0", 1)[0])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _records(data: bytes) -> Iterator[tuple[str, str]]:
    """The `LENGTH KEY=VALUE` lines of a pax header. Raises DamagedError for what is none.

    Most hold times alone, and are not taken apart.
    """
    at = 0 if b"path=" in data or b"size=" in data or b"GNU.sparse." in data else len(data)
    while at < len(data):
        blank = data.find(b" ", at, at + 20)
        digits = data[at:blank] if blank > 0 else b""
        if not digits.isdigit() or not blank + 1 < at + int(digits) <= len(data):
            raise DamagedError("a pax header of the tar is no list of attributes")
        stop = at + int(digits)
        key, _, value = data[blank + 1 : stop - 1].partition(b"=")
        yield _text(key), _text(value)
        at = stop


def plain_path(name: str) -> str | None:
    """A path from the root of the image, without `./` and `//`; None for one that leads out, or that no file has."""
    if len(name) > LONGEST or "\0" in name:
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
