"""Images put into a bundle: from a registry, compressed and by the lock's own digests; else from the engine's store."""

from __future__ import annotations

import hashlib
import json
import posixpath
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING

from rocenv.catalog.references import Reference
from rocenv.errors import ImageError
from rocenv.lifecycle.carry import layout
from rocenv.lifecycle.carry.layout import Blob, Image
from rocenv.lifecycle.sources import PLATFORM, Sources

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.engine.pull import PullEvent
    from rocenv.engine.registry import Found
    from rocenv.lifecycle.carry.tar import Writer
    from rocenv.model.lock import LockedImage

_PIECE = 1 << 20
_SMALL = 1 << 20  # bytes up to which a file of `save` may be no layer, and is kept until it is known what it is
_BAD_SAVE = (tarfile.TarError, ValueError, KeyError, TypeError, IndexError)
Progress = Callable[["PullEvent"], None]


def from_registry(
    sources: Sources, image: LockedImage, places: tuple[str, ...], writer: Writer, progress: Progress
) -> tuple[Image | None, list[str]]:
    """The image as the first place that has it gives it, None where none does; and what the others said."""
    from rocenv.engine.registry import RegistryError, find

    told: list[str] = []
    for place in places:
        try:
            found = find(Reference.parse(f"{place}@{image.digest}"), sources.config, platform=PLATFORM)
        except RegistryError as error:
            told.append(f"{place}: {error.said}")
            continue
        try:
            return _fetched(found, writer, progress), told
        except RegistryError as error:
            told.append(f"{place}: {error.said}")
        finally:
            found.session.close()
    return None, told


def _fetched(found: Found, writer: Writer, progress: Progress) -> Image:
    """Every blob of an image into the bundle; what is in there already is not fetched again. Raises RegistryError."""
    from rocenv.engine.pull import PullEvent
    from rocenv.engine.registry import blob

    manifest = found.manifest
    for one in manifest.layers:
        progress(PullEvent(_short(one.digest), "Waiting"))
    for one in (manifest.config, *manifest.layers):
        path = Blob(one.digest, one.size, one.media_type).path
        layer = _short(one.digest)
        if path not in writer.names:
            writer.stream(one.size, _shown(blob(found, one), layer, one.size, progress), lambda path=path: path)  # type: ignore[misc]
        progress(PullEvent(layer, "Pull complete", one.size, one.size))
    own = Blob(manifest.digest, len(manifest.raw), manifest.media_type)
    writer.add(own.path, manifest.raw)
    config = Blob(manifest.config.digest, manifest.config.size, manifest.config.media_type)
    return Image(own, config, tuple(Blob(one.digest, one.size, one.media_type) for one in manifest.layers))


def _short(digest: str) -> str:
    return digest.partition(":")[2][:12]


def _shown(pieces: Iterator[bytes], layer: str, size: int, progress: Progress) -> Iterator[bytes]:
    from rocenv.engine.pull import PullEvent

    come = 0
    for piece in pieces:
        come += len(piece)
        progress(PullEvent(layer, "Downloading", come, size))
        yield piece


def from_engine(engine: Engine, identity: str, writer: Writer) -> Image:
    """The image as the engine has it: the same id, its layers unpacked, so that they have other digests.

    Raises ImageError for what the engine's `save` should not write.
    """
    with engine.saved(identity) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_PIECE) as members:
                small, blobs, links = _sorted(members, writer)
            [told] = json.loads(small["manifest.json"])
            config = _kept(small[told["Config"]], layout.CONFIG, writer)
            layers = tuple(_layer(_resolved(name, links), small, blobs, writer) for name in told["Layers"])
        except _BAD_SAVE as error:
            raise ImageError(
                f"`{engine.program} save {identity}` wrote what cannot be read ({type(error).__name__}: {error})",
                f"`{engine.program} save {identity} | tar t` shows it",
            ) from error
    manifest = _kept(layout.manifest_bytes(config, layers), layout.MANIFEST, writer)
    return Image(manifest, config, layers)


def _sorted(members: tarfile.TarFile, writer: Writer) -> tuple[dict[str, bytes], dict[str, Blob], dict[str, str]]:
    """What `save` wrote: small files by name, large ones as blobs of the bundle, and links."""
    small: dict[str, bytes] = {}
    blobs: dict[str, Blob] = {}
    links: dict[str, str] = {}
    for member in members:
        if member.issym():
            links[member.name] = posixpath.normpath(posixpath.join(posixpath.dirname(member.name), member.linkname))
        stream = members.extractfile(member) if member.isreg() else None
        if stream is not None and member.size <= _SMALL:
            small[member.name] = stream.read()
        elif stream is not None:
            blobs[member.name] = _streamed(stream, member.size, writer)
    return small, blobs, links


def _streamed(stream: IO[bytes], size: int, writer: Writer) -> Blob:
    hashed = hashlib.sha256()

    def pieces() -> Iterator[bytes]:
        while piece := stream.read(_PIECE):
            hashed.update(piece)
            yield piece

    writer.stream(size, pieces(), lambda: Blob(f"sha256:{hashed.hexdigest()}", size, layout.LAYER).path)
    return Blob(f"sha256:{hashed.hexdigest()}", size, layout.LAYER)


def _kept(data: bytes, media_type: str, writer: Writer) -> Blob:
    blob = Blob(layout.digest_of(data), len(data), media_type)
    if blob.path not in writer.names:
        writer.add(blob.path, data)
    return blob


def _resolved(name: str, links: dict[str, str]) -> str:
    """A layer's own file: engines link layers that are the same to one."""
    for _ in range(len(links)):
        name = links.get(name, name)
    return name


def _layer(name: str, small: dict[str, bytes], blobs: dict[str, Blob], writer: Writer) -> Blob:
    found = blobs[name] if name in blobs else _kept(small[name], layout.LAYER, writer)
    gzipped = name in small and small[name][:2] == b"\x1f\x8b"
    return found._replace(media_type=f"{layout.LAYER}+gzip") if gzipped else found


def must_be_locked(image: Image, locked: LockedImage) -> None:
    """Raise ImageError where an image is not the locked one, or the lock does not tell by what it would be known."""
    if {image.config.digest, image.manifest.digest} & set(locked.ids):
        return
    if any(one.image for one in locked.platforms.values()):
        raise ImageError(
            f"the engine's copy of `{locked.reference}` is {image.config.digest}, and not the locked image",
            f"`docker pull {locked.pinned}`",
        )
    raise ImageError(
        f"the lock of `{locked.reference}` does not tell the id of its image, by which a copy could be known",
        "`rocenv lock --update` where its registry answers",
    )
