"""A saved image: what `docker save` and `podman save` write, and the OCI image layout, as members in any order.

Manifests often come last, so layers are read as they come and put in order at the end. Sources of the forms: the OCI
image specification (image-layout.md), and Docker's own archives, which hold a `manifest.json`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from rocenv.catalog.references import Reference
from rocenv.errors import ImageError
from rocenv.image.layer import Layer, Room, read_layer
from rocenv.image.stream import GZIP, ZSTD, DamagedError, expanded
from rocenv.image.tar import FILE, FOLDER, Tar, plain_path
from rocenv.report.text import one_line

_BLOB = re.compile(r"blobs/sha256/([0-9a-f]{64})")
_DOCUMENT = 1 << 20  # bytes of a manifest or a configuration at most
_TELLING = 512  # bytes that tell what a member is: a tar's first header
_ANEW = "save it anew: `docker save -o FILE IMAGE`"
_HOPS = 4
_NAMES = ("org.opencontainers.image.ref.name", "io.containerd.image.name")
_REAL = ("linux/amd64", "linux/arm64")


class Member(NamedTuple):
    """One file of an archive; `link` is where a link leads."""

    name: str
    size: int
    link: str | None
    chunks: Iterator[bytes]


class Scanned(NamedTuple):
    """A layer that was read, and the digest that was computed: of the file, or of its plain tar."""

    layer: Layer
    digest: str


class Contents(NamedTuple):
    """What an archive holds: its JSON documents, its links, and the layers that were read."""

    documents: dict[str, bytes]
    links: dict[str, str]
    layers: dict[str, Scanned]


class Image(NamedTuple):
    """One image of an archive: its layers by the names of their files, the lowest first, with their digests."""

    identity: str
    digest: str | None
    config: Mapping[str, Any]
    layers: tuple[tuple[str, str], ...]


def members(tar: Tar) -> Iterator[Member]:
    """The members of an archive that is a tar."""
    for entry in tar:
        name = plain_path(entry.name)
        if name and entry.kind != FOLDER:
            yield Member(name, entry.size, entry.link if entry.kind != FILE else None, tar.parts())


def read_contents(
    found: Iterable[Member], archive: str, room: Room, *, tell: Callable[[str], None], layers: bool,
    only: Sequence[str] = (),
) -> Contents:  # fmt: skip
    """Read an archive's documents and, where wanted, its layers (all, or `only` these). Raises ImageError."""
    contents = Contents({}, {}, {})
    try:
        for member in found:
            if member.link is not None:
                room.take(member.name, member.link)
                contents.links[member.name] = member.link
                continue
            head = _head(member)
            if head[:1] in (b"{", b"[") and member.size <= _DOCUMENT:
                data = head + b"".join(member.chunks)
                room.take(member.name, data)
                contents.documents[member.name] = data
            elif layers and (not only or member.name in only) and _is_layer(head):
                tell(f"reading the layer {one_line(member.name)}")
                contents.layers[member.name] = _scan(member, head, room)
    except DamagedError as error:
        raise ImageError(f"`{archive}` cannot be read: {error}", _ANEW) from None
    return contents


def _head(member: Member) -> bytes:
    """The first bytes of a member, enough to tell what it is."""
    head = b""
    while len(head) < _TELLING and (piece := next(member.chunks, b"")):
        head += piece
    return head


def _is_layer(head: bytes) -> bool:
    empty = len(head) >= _TELLING and not any(head[:_TELLING])
    return empty or head.startswith((GZIP, ZSTD)) or head[257:262] == b"ustar"


def _scan(member: Member, head: bytes, room: Room) -> Scanned:
    """Read a layer and hash it: the file itself where its name is a digest, else the plain tar in it.

    The hash is computed beside the reading, one piece at a time: hashlib lets go of Python's lock.
    """
    from concurrent.futures import ThreadPoolExecutor

    hashed = hashlib.sha256()

    def raw() -> Iterator[bytes]:
        yield head
        yield from member.chunks

    with ThreadPoolExecutor(1) as beside:

        def passing(chunks: Iterable[bytes]) -> Iterator[bytes]:
            last = beside.submit(hashed.update, b"")
            for chunk in chunks:
                last.result()
                last = beside.submit(hashed.update, chunk)
                yield chunk

        own = _BLOB.fullmatch(member.name) is not None
        layer = read_layer(passing(raw() if own else expanded(raw())), member.name, room)
    return Scanned(layer, f"sha256:{hashed.hexdigest()}")


def find_image(contents: Contents, wanted: str | None, archive: str) -> Image:
    """The image of an archive: the one that bears the name `wanted`, or the only one. Raises ImageError."""
    for name, data in contents.documents.items():
        blob = _BLOB.fullmatch(name)
        if blob is not None and hashlib.sha256(data).hexdigest() != blob[1]:
            _refuse(archive, f"`{name}` is not what its digest says")
    if "manifest.json" in contents.documents:
        return _docker_image(contents, wanted, archive)
    if "index.json" in contents.documents:
        return _oci_image(contents, wanted, archive)
    return _refuse(archive, "it has neither `manifest.json` nor `index.json`: it is no saved image, or a cut one")


def _docker_image(contents: Contents, wanted: str | None, archive: str) -> Image:
    listed = _parsed(contents.documents["manifest.json"], archive)
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    tags = [entry.get("RepoTags") for entry in entries]
    named = [
        (entry, tuple(map(str, of)) if isinstance(of, list) else ()) for entry, of in zip(entries, tags, strict=True)
    ]
    entry = _chosen(named, wanted, archive)
    config_name, layers = str(entry.get("Config")), entry.get("Layers")
    data = contents.documents.get(config_name)
    if data is None or not isinstance(layers, list):
        return _refuse(archive, f"it lacks the image's configuration `{config_name}`")
    config = _object(data, archive)
    names = [_followed(contents.links, str(layer)) for layer in layers]
    digests = _diff_ids(config, len(names), archive)
    pairs = tuple((name, _expected(name, digest)) for name, digest in zip(names, digests, strict=True))
    return Image(f"sha256:{hashlib.sha256(data).hexdigest()}", None, config, pairs)


def _oci_image(contents: Contents, wanted: str | None, archive: str) -> Image:
    entries = _object(contents.documents["index.json"], archive).get("manifests")
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    notes = [(entry, entry.get("annotations")) for entry in found]
    named = [
        (entry, tuple(str(note[key]) for key in _NAMES if key in note) if isinstance(note, dict) else ())
        for entry, note in notes
    ]
    digest = str(_chosen(named, wanted, archive).get("digest"))
    manifest = _blob(contents, digest, archive)
    for _ in range(_HOPS):
        if "manifests" not in manifest:
            break
        digest = str(_platform(manifest["manifests"], archive).get("digest"))
        manifest = _blob(contents, digest, archive)
    described, layers = manifest.get("config"), manifest.get("layers")
    if not isinstance(described, dict) or not isinstance(layers, list):
        return _refuse(archive, f"{digest} is no image's manifest")
    identity = str(described.get("digest"))
    digests = [str(layer.get("digest")) for layer in layers if isinstance(layer, dict)]
    pairs = tuple((_path(one), one) for one in digests)
    return Image(identity, digest, _blob(contents, identity, archive), pairs)


def _chosen(
    named: Sequence[tuple[dict[str, Any], tuple[str, ...]]], wanted: str | None, archive: str
) -> dict[str, Any]:
    """The entry that is meant: by its name where one is asked for, else the only one."""
    if wanted is not None:
        tag = wanted.rpartition(":")[2]
        hits = [entry for entry, names in named if any(_same(name, wanted) for name in names)]
        hits = hits or [entry for entry, names in named if tag in names]  # as OCI layouts name images
        if hits:
            return hits[0]
    if len(named) == 1 and (wanted is None or not named[0][1]):
        return named[0][0]
    there = one_line(", ".join(sorted({name for _, names in named for name in names})[:8])) or "no names"
    if not named:
        _refuse(archive, "it lists no image")
    if wanted is not None:
        raise ImageError(f"`{archive}` holds no image `{wanted}`; it holds {there}", "name one of these")
    raise ImageError(
        f"`{archive}` holds {len(named)} images: {there}", f"`rocenv audit IMAGE --from {archive}` with one of these"
    )


def _same(name: str, wanted: str) -> bool:
    """Whether a name in an archive is the one that is meant; podman puts `localhost/` before names of its own."""
    try:
        one, other = Reference.parse(name), Reference.parse(wanted)
    except ValueError:
        return False
    return one.full == other.full or (one.registry == "localhost" and name.partition("/")[2] == other.familiar)


def _platform(listed: object, archive: str) -> dict[str, Any]:
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    for wanted in _REAL:
        for entry in entries:
            told = entry.get("platform")
            if isinstance(told, dict) and f"{told.get('os')}/{told.get('architecture')}" == wanted:
                return entry
    if len(entries) == 1:
        return entries[0]
    return _refuse(archive, "it has no image for linux/amd64")


def assembled(image: Image, contents: Contents, archive: str) -> list[Layer]:
    """The image's layers in their order. Raises ImageError for one that is missing, or not what its digest says."""
    found = []
    for name, digest in image.layers:
        scanned = contents.layers.get(name)
        if scanned is None:
            _refuse(archive, f"it lacks the layer `{name}`, or that is no layer")
        if scanned.digest != digest:
            _refuse(archive, f"the layer `{name}` is not what its digest says ({digest[:19]}… is expected)")
        found.append(scanned.layer)
    return found


def _followed(links: Mapping[str, str], name: str) -> str:
    """A layer's file, through the links that stand for layers that are there twice."""
    for _ in range(_HOPS):
        if name not in links:
            return name
        parts = name.split("/")[:-1]
        for word in links[name].split("/"):
            parts = parts[:-1] if word == ".." else [*parts, word] if word not in ("", ".") else parts
        name = "/".join(parts)
    return name


def _expected(name: str, diff_id: str) -> str:
    blob = _BLOB.fullmatch(name)
    return f"sha256:{blob[1]}" if blob else diff_id


def _diff_ids(config: Mapping[str, Any], count: int, archive: str) -> list[str]:
    told = config.get("rootfs")
    digests = told.get("diff_ids") if isinstance(told, dict) else None
    if not isinstance(digests, list) or len(digests) != count:
        return _refuse(archive, f"its configuration does not describe the {count} layers that it lists")
    return list(map(str, digests))


def _path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/', 1)}"


def _blob(contents: Contents, digest: str, archive: str) -> dict[str, Any]:
    data = contents.documents.get(_path(digest))
    if data is None:
        return _refuse(archive, f"it lacks `{_path(digest)}`")
    return _object(data, archive)


def _object(data: bytes, archive: str) -> dict[str, Any]:
    found = _parsed(data, archive)
    return found if isinstance(found, dict) else _refuse(archive, "one of its documents is no JSON object")


def _parsed(data: bytes, archive: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _refuse(archive, "one of its documents is no JSON")


def _refuse(archive: str, why: str) -> NoReturn:
    raise ImageError(f"`{archive}` cannot be read as an image: {one_line(why)}", _ANEW)
