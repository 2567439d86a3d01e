"""One layer of an image, read once: the files that tell of GPUs, and what the layer hides of those below it.

Layers may come in any order, so each is read for itself; `rocenv.image.merged` lays them over each other. A layer's
other paths are kept as hashes of 8 bytes, which is all that hiding needs.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from rocenv.errors import ImageError
from rocenv.image import code, names
from rocenv.image.stream import DamagedError, Stream, expanded
from rocenv.image.tar import FILE, FOLDER, HARD, LINK, SPARSE, Entry, Tar, plain_path
from rocenv.report.text import one_line

_TEXT_LIMIT = 64 << 10
# What is kept of an image, in bytes: the largest real ones have some 40 000 files of code objects, 10 MB.
_ROOM = 48 << 20
_MOST_ENTRIES = 10_000_000  # the largest real ones have one million
_COST = 200  # of one name beside its letters
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
# Packages of dpkg that tell a release of ROCm or HIP.
_DPKG = re.compile(rb"rocm|amdrocm|hip|libamdhip|hsa-|libhsa|rccl|librocblas|rocblas|miopen")
_FLAGS = re.compile(rb"(?<![\w-])gfx[0-9a-f]{3,4}(?: gfx[0-9a-f]{3,4}){1,99}(?=\0)")


class Found(NamedTuple):
    """What one file tells: code for targets, a text, where a link leads, or its name alone."""

    targets: tuple[str, ...] = ()
    text: bytes | None = None
    link: str | None = None
    code: bool = False  # an ELF file or bundle with code objects, in a container of any kind
    loose: bool = False  # a code object by itself, no library
    kpack: bool = False  # a library whose code is in kpack archives
    unreadable: int = 0  # bundles that could not be read


NAMED = Found()


class Room:
    """How much may be kept of an image, all its layers together: an image made to harm is refused, not kept."""

    def __init__(self, size: int = _ROOM) -> None:
        self._left = size
        self._entries = 0

    def count(self) -> None:
        """Count an entry of a layer. Raises DamagedError where there are more than any real image has."""
        self._entries += 1
        if self._entries > _MOST_ENTRIES:
            raise DamagedError(f"it has more than {_MOST_ENTRIES} entries, as no real one has")

    def take(self, *kept: str | bytes) -> None:
        """Take room for these. Raises DamagedError where there is none left."""
        self._left -= sum(map(len, kept)) + _COST
        if self._left < 0:
            raise DamagedError("it has more files that tell of GPUs, or that it removes, than any real one")


class Layer:
    """What was read of one layer."""

    def __init__(self) -> None:
        self.found: dict[str, Found] = {}
        self.paths = array("q")  # hashes of all that is no folder
        self.folders = array("q")
        self.removed: set[str] = set()
        self.opaque: set[str] = set()
        self.entries = 0
        self.bytes = 0
        self.outside = 0  # entries whose path leads out of the image
        self.sparse = 0


def read_layer(chunks: Iterable[bytes], name: str, room: Room) -> Layer:
    """Read a layer's tar, compressed or not, to the end of its bytes. Raises ImageError for what is damaged."""
    layer = Layer()
    stream = Stream(expanded_or_raise(chunks, name))
    try:
        tar = Tar(stream)
        for entry in tar:
            _take(layer, tar, entry, room)
        for _ in stream.parts(1 << 62):  # what pads the end: whoever counts or hashes the bytes wants all of them
            pass
    except DamagedError as error:
        raise damaged(name, error) from None
    layer.bytes = stream.position
    return layer


def expanded_or_raise(chunks: Iterable[bytes], name: str) -> Iterable[bytes]:
    """The plain bytes; see `expanded`."""
    try:
        return expanded(chunks)
    except DamagedError as error:
        raise damaged(name, error) from None


def damaged(name: str, error: DamagedError) -> ImageError:
    """What is to be said of a layer that cannot be read."""
    return ImageError(f"the layer `{one_line(name)}` cannot be read: {error}", "fetch or save the image anew")


def _take(layer: Layer, tar: Tar, entry: Entry, room: Room) -> None:
    """One entry: note what it hides, and what it tells."""
    layer.entries += 1
    room.count()
    path = plain_path(entry.name)
    if path is None:
        layer.outside += 1
        return
    folder, _, base = path.rpartition("/")
    if base.startswith(_WHITEOUT):
        room.take(path)
        _hide(layer, folder, base)
        return
    layer.found.pop(path, None)  # the last of a name counts
    if entry.kind == FOLDER:
        layer.folders.append(hash(path))
        return
    layer.paths.append(hash(path))
    found = _found(layer, tar, entry, path)
    if found is not None:
        room.take(path, found.text or b"", found.link or "", *found.targets)
        layer.found[path] = found


def _hide(layer: Layer, folder: str, base: str) -> None:
    if base == _OPAQUE:
        layer.opaque.add(folder)
    elif base != _WHITEOUT and not base.startswith(
        _WHITEOUT * 2
    ):  # .wh..wh.plnk and the like are an old storage driver's own
        name = base.removeprefix(_WHITEOUT)
        layer.removed.add(f"{folder}/{name}" if folder else name)


def _found(layer: Layer, tar: Tar, entry: Entry, path: str) -> Found | None:
    if entry.kind == FILE:
        return _file(tar, path, entry.size)
    if entry.kind == HARD:
        return layer.found.get(plain_path(entry.link) or "")
    if entry.kind == LINK:
        return Found(link=entry.link[: names.LONGEST_LINK]) if names.wanted_link(path) else None
    layer.sparse += entry.kind == SPARSE
    return None


def _file(tar: Tar, path: str, size: int) -> Found | None:
    """What a regular file tells: its text, its code objects, or its name."""
    wanted = names.wanted(path)
    if wanted == names.TEXT:
        return Found(text=tar.read(_TEXT_LIMIT))
    if wanted == names.STATUS:
        return Found(text=_packages(tar))
    by_name = NAMED if wanted else None
    if size < code.HEAD:
        return by_name
    head = tar.read(code.HEAD)
    if head.startswith(code.ELF):
        target = code.elf_target(head)
        if target is not None:
            return Found(targets=(target,), code=True, loose=True)
        return _library(tar, head, path) or by_name
    if head.startswith((code.BUNDLE, code.PACKED)):
        return _library(tar, head, path, loose=True) or by_name
    return by_name


def _library(tar: Tar, head: bytes, path: str, *, loose: bool = False) -> Found | None:
    """The code objects in a file, and of torch's Python library the targets that it was built for."""
    search = code.CodeSearch()
    flags = _Flags() if path.endswith("libtorch_python.so") else None
    first: bytes | None = head
    for piece in tar.parts():
        data = first + piece if first else piece
        first = None
        search.feed(data)
        if flags:
            flags.feed(data)
    if first:
        search.feed(first)
    search.end()
    if search.targets or search.unreadable or search.marked:
        return Found(
            targets=tuple(search.targets),
            code=bool(search.targets or search.unreadable),
            loose=loose,
            kpack=search.marked,
            unreadable=search.unreadable,
        )
    return Found(text=flags.best) if flags and flags.best else None


class _Flags:
    """The longest list of targets that stands in a library as text: what torch.cuda.get_arch_list() answers."""

    def __init__(self) -> None:
        self.best = b""
        self._held = b""

    def feed(self, piece: bytes) -> None:
        data = self._held + piece
        for match in _FLAGS.finditer(data):
            self.best = max(self.best, match.group(), key=len)
        self._held = data[-1024:]


def _packages(tar: Tar) -> bytes:
    """`NAME VERSION` lines of the installed packages in a dpkg status file that belong to ROCm."""
    found: list[bytes] = []
    name, installed, held = b"", False, b""
    for piece in tar.parts():
        *lines, held = (held + piece).split(b"\n")
        held = held[:_TEXT_LIMIT]
        for line in lines:
            if line.startswith(b"Package: "):
                name, installed = line[9:].strip(), True
            elif line.startswith(b"Status: "):
                installed = line.endswith(b" installed")
            elif line.startswith(b"Version: ") and installed and _DPKG.match(name):
                found.append(b"%s %s" % (name[:200], line[9:].strip()[:200]))
    return b"\n".join(found[:2000])
