"""Where an image's layers come from: the engine's store, its registry, or a saved file; each read as it streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rocenv import process
from rocenv.errors import EngineError, ImageError, RocenvError, UsageError
from rocenv.image import archive
from rocenv.image.layer import Layer, Room, read_layer
from rocenv.image.stream import DamagedError, Stream, expanded
from rocenv.image.tar import Tar
from rocenv.report.text import size

if TYPE_CHECKING:
    import subprocess

    from rocenv.catalog.references import Reference
    from rocenv.engine.engine import Engine

_PIECE = 1 << 20
_ENDING = 60.0  # seconds that the engine's client may take to end when all is read
Tell = Callable[[str], None]


class Read(NamedTuple):
    """An image that was read whole: its configuration, and its layers from the lowest."""

    identity: str
    digest: str | None
    config: Mapping[str, Any]
    layers: list[Layer]


class Source(NamedTuple):
    """An image that can be read; `identity` and `digest` where they are known before."""

    reference: str
    where: str  # engine | registry | file
    identity: str | None
    digest: str | None
    read: Callable[[Tell], Read]


# The engine's store


def from_engine(engine: Engine, reference: str, labels: Mapping[str, str]) -> Source | None:
    """The engine's own copy, or None where there is none; `labels` are those of what is made to read it."""
    facts = engine.image(reference)
    if facts is None:
        return None
    identity = facts.id if ":" in facts.id else f"sha256:{facts.id}"

    def read(tell: Tell) -> Read:
        config = engine.configuration(reference)
        tell(f"reading {reference} from the store of {engine.kind}")
        return Read(identity, facts.digest, config, [_exported(engine, reference, labels)])

    return Source(reference, "engine", identity, facts.digest, read)


def _exported(engine: Engine, reference: str, labels: Mapping[str, str]) -> Layer:
    """All of the image's files as one layer: what `docker export` streams of a container that is never started.

    `docker save` would give the layers, but the daemon first writes all of them into its data folder.
    """
    container = engine.hold(reference, labels)
    try:
        child = process.start([engine.program, "export", container])
        try:
            layer = _read(child, reference, engine)
            said = process.finish(child, _ENDING)
        except process.GivenUpError as error:
            raise EngineError(str(error), f"`{engine.program} info` shows whether its daemon still answers") from None
        finally:
            process.end(child)
        if said.status != 0:
            raise _words(engine, said.stderr, reference)
        return layer
    finally:
        engine.remove(container)


def _read(child: subprocess.Popen[bytes], reference: str, engine: Engine) -> Layer:
    """The layer that comes through the pipe; where it breaks off, the engine's own words count."""
    try:
        return read_layer(_piped(child), reference, Room())
    except ImageError:
        if child.stdout is not None and child.stdout.read(1):
            raise  # there is more: it did not break off, and is not to be read into memory
        said = process.finish(child, _ENDING)
        if said.status != 0:
            raise _words(engine, said.stderr, reference) from None
        raise


def _words(engine: Engine, said: str, reference: str) -> RocenvError:
    from rocenv.engine.words import explain

    return explain(said, engine=engine.kind, image=reference)


def _piped(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    pipe = child.stdout
    while pipe is not None and (piece := pipe.read(_PIECE)):
        yield piece


# A registry


def from_registry(engine: Engine | None, reference: Reference, *, platform: str = "linux/amd64") -> Source:
    """The image in its registry, asked as the engine would. Raises ImageError where there is none."""
    from rocenv.engine import registry

    config = registry.settings(engine) if engine is not None else {}
    found = registry.find(reference, config, platform=platform)

    def read(tell: Tell) -> Read:
        with closing(found):
            room, layers = Room(), []
            for number, one in enumerate(found.manifest.layers, 1):
                tell(f"reading layer {number} of {len(found.manifest.layers)} ({size(one.size)})")
                layers.append(read_layer(registry.blob(found, one), one.digest, room))
            return Read(found.manifest.config.digest, found.manifest.digest, registry.read_config(found), layers)

    manifest = found.manifest
    return Source(reference.familiar, "registry", manifest.config.digest, manifest.digest, read)


# A saved file


def from_file(path: str, wanted: str | None) -> Source:
    """A saved image: a tar (gzip or zstd may be around it) of docker's or podman's, or an OCI layout, also a folder.

    `wanted` is the image's name where the file holds several. Raises UsageError where there is no such file.
    """
    place = Path(path)
    try:
        if not (place.is_dir() or place.is_file()):
            raise UsageError(f"`{path}` is no file that an image could be saved in", "`docker save -o FILE IMAGE`")
        packed = place.is_file() and _packed(place)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}", f"`ls -l {path}`") from None
    if packed:  # nothing in it can be known before all before it was read
        return Source(path, "file", None, None, lambda tell: _streamed(_chunks(place), wanted, path, tell))
    documents = archive.read_contents(_members(place), path, Room(), tell=lambda _: None, layers=False)
    image = archive.find_image(documents, wanted, path)

    def read(tell: Tell) -> Read:
        names = [name for name, _ in image.layers]
        contents = archive.read_contents(_members(place), path, Room(), tell=tell, layers=True, only=names)
        return Read(image.identity, image.digest, image.config, archive.assembled(image, contents, path))

    return Source(path, "file", image.identity, image.digest, read)


def _streamed(chunks: Iterator[bytes], wanted: str | None, name: str, tell: Tell) -> Read:
    """Read an archive in one go, whatever the order of what is in it."""
    try:
        found = archive.members(Tar(Stream(expanded(chunks))))
    except DamagedError as error:
        raise ImageError(f"`{name}` cannot be read: {error}", "save it anew: `docker save -o FILE IMAGE`") from None
    contents = archive.read_contents(found, name, Room(), tell=tell, layers=True)
    image = archive.find_image(contents, wanted, name)
    return Read(image.identity, image.digest, image.config, archive.assembled(image, contents, name))


def _packed(place: Path) -> bool:
    """Whether a file is compressed: its parts can then be had only one after the other."""
    from rocenv.image.stream import GZIP, ZSTD

    with place.open("rb") as file:
        return file.read(4).startswith((GZIP, ZSTD))


def _chunks(place: Path) -> Iterator[bytes]:
    try:
        with place.open("rb", buffering=0) as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        raise ImageError(f"`{place}` cannot be read: {error.strerror}", f"`ls -l {place}`") from None


def _members(place: Path) -> Iterator[archive.Member]:
    """The members of a plain tar or of a folder; what is not read of them is not read from the disk."""
    if place.is_dir():
        for blob in sorted(_files(place)):
            yield archive.Member(str(blob.relative_to(place)), blob.stat().st_size, None, _chunks(blob))
        return
    with place.open("rb", buffering=0) as file:
        yield from archive.members(Tar(_SeekingStream(file)))


def _files(place: Path) -> Iterator[Path]:
    """The files of an OCI layout: its index, and its blobs. Links are not followed: blobs are files."""
    for folder in (place, place / "blobs" / "sha256"):
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        yield from (Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False))


class _SeekingStream(Stream):
    """A file on disk: what is passed over is not read."""

    def __init__(self, file: Any) -> None:
        super().__init__(())
        self._file = file
        self._end = os.fstat(file.fileno()).st_size

    def read(self, size: int) -> bytes:
        return b"".join(self.parts(size))

    def parts(self, size: int) -> Iterator[bytes]:
        while size > 0 and (piece := self._file.read(min(size, _PIECE))):
            size -= len(piece)
            self.position += len(piece)
            yield piece

    def skip(self, size: int) -> int:
        passed = max(0, min(size, self._end - self.position))
        self._file.seek(passed, os.SEEK_CUR)
        self.position += passed
        return passed
