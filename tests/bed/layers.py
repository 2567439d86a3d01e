"""Cut one tar of a whole file system into image layers, and describe them as an image.

Layers are plain tars: a registry on this machine gains nothing from gzip, which would cost a minute.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar"


@dataclass(frozen=True)
class Blob:
    """A file by its digest."""

    digest: str
    size: int
    path: Path


class _HashedFile:
    """A file being written, and the digest of what went in."""

    def __init__(self, path: Path) -> None:
        self.path, self.size, self._hash, self._file = path, 0, hashlib.sha256(), path.open("wb")

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def close(self) -> Blob:
        self._file.close()
        return Blob(f"sha256:{self._hash.hexdigest()}", self.size, self.path)


def cut(stream: IO[bytes], layer_of: Callable[[str], int], names: Sequence[str], folder: Path) -> list[Blob]:
    """Write the members of the tar in `stream` to one tar per layer; `layer_of` a path says to which.

    A layer brings along the folders above its files, with their owners and modes; a hard link goes where its target is.
    """
    files = [_HashedFile(folder / f"{name}.tar") for name in names]
    layers = [tarfile.open(fileobj=cast("IO[bytes]", file), mode="w|") for file in files]  # noqa: SIM115
    folders: dict[str, tarfile.TarInfo] = {}
    written: list[set[str]] = [set() for _ in layers]
    place: dict[str, int] = {}
    with tarfile.open(fileobj=stream, mode="r|") as whole:
        for member in whole:
            name = member.name.removeprefix("./").strip("/") or "."
            if member.isdir():
                folders[name] = member
            number = place[name] = place[_plain(member.linkname)] if member.islnk() else layer_of(name)
            for above in _above(name):
                if above in folders and above not in written[number]:
                    layers[number].addfile(folders[above])
                    written[number].add(above)
            if name not in written[number]:
                layers[number].addfile(member, whole.extractfile(member) if member.isreg() else None)
                written[number].add(name)
    for layer in layers:
        layer.close()
    return [file.close() for file in files]


def _plain(name: str) -> str:
    return name.removeprefix("./").strip("/")


def _above(name: str) -> list[str]:
    """The folders above `name`, the topmost first."""
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def describe(layers: Sequence[Blob], config: Mapping[str, Any], created: str, folder: Path) -> tuple[Blob, Blob]:
    """Write the configuration and the manifest of an image of these layers into `folder`."""
    diffs = [layer.digest for layer in layers]
    body = {
        "architecture": "amd64", "os": "linux", "created": created, "config": config,
        "rootfs": {"type": "layers", "diff_ids": diffs}, "history": [{"created": created}] * len(diffs),
    }  # fmt: skip
    described = _write(body, folder / "config.json")
    manifest = {
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "size": described.size, "digest": described.digest},
        "layers": [{"mediaType": LAYER, "size": layer.size, "digest": layer.digest} for layer in layers],
    }  # fmt: skip
    return described, _write(manifest, folder / "manifest.json")


def _write(body: Mapping[str, Any], path: Path) -> Blob:
    data = json.dumps(body).encode()
    path.write_bytes(data)
    return Blob(f"sha256:{hashlib.sha256(data).hexdigest()}", len(data), path)
