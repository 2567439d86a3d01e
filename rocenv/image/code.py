"""Code objects in files: which gfx targets there is code for, told from headers alone.

Sources: LLVM's "User Guide for AMDGPU Backend" (ELF header flags) and "Clang Offload Bundler" (bundles, plain and
compressed); the kpack archive's magic is that of ROCm's rocm-kpack.
"""

from __future__ import annotations

import re
import struct
import zlib
from typing import NamedTuple

from rocenv.catalog.machines import MACH
from rocenv.image.stream import zstandard

ELF = b"\x7fELF"
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED = b"CCOB"
KPACK = b"KPAK"
KPACK_MARK = b".rocm_kpack_ref\0"  # a section's name: the code lies in kpack archives
HEAD = 64  # bytes that tell what a file is

_EM_AMDGPU = 224
_LOOK = 256 << 10  # bytes behind a magic that are looked at: a zstd block's 128 KiB, and room
_TAIL = 64 << 10  # section names stand at a file's end
_MOST_ENTRIES, _LONGEST_ID = 1024, 256
_HOLD = len(BUNDLE) - 1
_ALIGNED = 8
_MOST_TARGETS = 256  # of one file: LLVM knows some 70
_MOST_MISSES = 1000  # magics without a bundle behind them: a file made of these would be looked at for hours

_V3, _V4 = 1, 2  # e_ident[EI_ABIVERSION] of code object versions 3 and 4; 5 and 6 flag features as 4 does
_FEATURE = {2: "-", 3: "+"}  # unsupported and any say nothing of what the code wants

# `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`, with an environment in its triple or without.
_DEVICE = re.compile(
    rb"(?:hip|hipv4|openmp)-[\w.-]*?-(amdgcnspirv|gfx\d+(?:-\d+)?-generic|gfx[0-9a-f]{3,6})((?::[a-z]+[+-])*)"
)
_KIND = re.compile(rb"(?:host|hip|hipv4|openmp)-[\x20-\x7e]+")


class Bundle(NamedTuple):
    """What a bundle's header says: the targets that it has code for, and its length in bytes, 0 if unsaid."""

    targets: tuple[str, ...]
    length: int
    readable: bool = True


def elf_target(head: bytes) -> str | None:
    """The target that an AMD code object (a device's ELF file) is for; None for any other file."""
    if len(head) < HEAD or not head.startswith(ELF) or head[4:6] != b"\x02\x01":
        return None
    machine, flags = struct.unpack_from("<H", head, 18)[0], struct.unpack_from("<I", head, 48)[0]
    if machine != _EM_AMDGPU:
        return None
    name = MACH.get(flags & 0xFF, f"gfx?{flags & 0xFF:#04x}")
    version = head[8]
    if version == _V3:
        return name + (":sramecc+" if flags & 0x200 else "") + (":xnack+" if flags & 0x100 else "")
    if version < _V4:
        return name
    features = (("sramecc", flags >> 10 & 3), ("xnack", flags >> 8 & 3))
    return name + "".join(f":{feature}{_FEATURE[value]}" for feature, value in features if value in _FEATURE)


def bundle(data: bytes, at: int = 0) -> Bundle | None:
    """The plain bundle at an offset, by its header; None where there is none."""
    if not data.startswith(BUNDLE, at):
        return None
    found: dict[str, None] = {}
    try:
        (count,) = struct.unpack_from("<Q", data, at + 24)
        if not 0 < count <= _MOST_ENTRIES:
            return None
        place = at + 32
        length = 0
        for _ in range(count):
            offset, size, width = struct.unpack_from("<QQQ", data, place)
            name = data[place + 24 : place + 24 + width] if width <= _LONGEST_ID else b""
            if not _KIND.fullmatch(name):
                return None
            device = _DEVICE.fullmatch(name)
            if device is not None and size > 0:
                found[(device[1] + device[2]).decode("ascii")] = None
            place += 24 + width
            length = max(length, offset + size)
    except struct.error:
        return None
    return Bundle(tuple(found), max(length, place - at))


def packed(data: bytes, at: int = 0) -> Bundle | None:
    """The compressed bundle at an offset: its targets stand in what comes first out of it. None where there is none.

    A header that is one, and a payload that cannot be read, are a Bundle that is not readable.
    """
    try:
        version, method = struct.unpack_from("<HH", data, at + 4)
        if version == 1:
            length, header = 0, 20
        elif version == 2:  # noqa: PLR2004
            (length,), header = struct.unpack_from("<I", data, at + 8), 24
        elif version == 3:  # noqa: PLR2004
            (length,), header = struct.unpack_from("<Q", data, at + 8), 32
        else:
            return None
    except struct.error:
        return None
    if method not in (0, 1) or (version > 1 and length <= header):
        return None
    first = _unpacked(data[at + header : at + (min(length, _LOOK) or _LOOK)], zstd=method == 1)
    inner = bundle(first) if first is not None else None
    if inner is not None:
        return Bundle(inner.targets, length)
    return None if version == 1 else Bundle((), 0, readable=False)


def _unpacked(payload: bytes, *, zstd: bool) -> bytes | None:
    """The beginning of what was compressed, as much as a bundle's header takes; None for what does not expand."""
    if not zstd:
        try:
            return zlib.decompressobj().decompress(payload, _LOOK)
        except zlib.error:
            return None
    module = zstandard()
    try:
        first: bytes = module.ZstdDecompressor().decompress(payload, _LOOK)
    except module.ZstdError:
        return None
    return first


class CodeSearch:
    """Looks for bundles in a file that comes piece by piece; holds one piece and a little more at most.

    A bundle's magic also stands in the compilers that write it: only what has a whole header behind it counts.
    """

    def __init__(self) -> None:
        self.targets: dict[str, None] = {}
        self.unreadable = 0
        self.marked = False  # names kpack archives as the place of its code
        self._position = 0
        self._held = b""
        self._skip = 0
        self._tail = b""
        self._misses = 0

    def feed(self, piece: bytes) -> None:
        """Look at the next bytes of the file."""
        self._position += len(piece)
        self._tail = piece[-_TAIL:] if len(piece) >= _TAIL else (self._tail + piece)[-_TAIL:]
        if self._skip >= len(piece):
            self._skip -= len(piece)
            return
        data = self._held + piece[self._skip :] if self._skip or self._held else piece
        self._skip = 0
        self._held = self._search(data, last=False)

    def end(self) -> None:
        """Look at what was held back, now that nothing follows."""
        self._search(self._held, last=True)
        self.marked = KPACK_MARK in self._tail

    def _search(self, data: bytes, *, last: bool) -> bytes:
        """Take every bundle in `data`, the last bytes so far; what is to be looked at again with more behind it."""
        if self._misses > _MOST_MISSES:
            return b""
        aligned = _Aligned(data, self._position - len(data))
        at, plain, small = 0, data.find(BUNDLE), aligned.find(0)
        while plain >= 0 or small >= 0:
            hit = min(place for place in (plain, small) if place >= 0)
            if not last and len(data) - hit < _LOOK:
                return data[hit:]
            found = bundle(data, hit) if hit == plain else packed(data, hit)
            at = hit + (self._take(found) or len(PACKED))
            if self._misses > _MOST_MISSES:
                self.unreadable += 1
                return b""
            if at > len(data):
                self._skip = at - len(data)
                return b""
            plain = data.find(BUNDLE, at) if 0 <= plain < at else plain
            small = aligned.find(at) if 0 <= small < at else small
        return data[max(at, len(data) - _HOLD) :]

    def _take(self, found: Bundle | None) -> int:
        if found is None or not found.readable:
            self._misses += 1
            self.unreadable += found is not None
            return 0
        if len(self.targets) < _MOST_TARGETS:
            self.targets.update(dict.fromkeys(found.targets))
        return found.length


class _Aligned:
    """Finds the short magic of compressed bundles, where a linker can have put one.

    They lie on a page each, or on 16 bytes where clang's linker wrapper wrote them; so one byte of eight is looked at,
    which is three times as fast as looking at all.
    """

    def __init__(self, data: bytes, offset: int) -> None:
        """`offset`: of the data in its file."""
        self._data = data
        self._first = -offset % _ALIGNED
        self._marks = data[self._first :: _ALIGNED]

    def find(self, start: int) -> int:
        """The first place from `start` on, or -1."""
        mark = max(0, -(-(start - self._first) // _ALIGNED))
        while (mark := self._marks.find(PACKED[:1], mark)) >= 0:
            place = self._first + mark * _ALIGNED
            if self._data.startswith(PACKED, place):
                return place
            mark += 1
        return -1
