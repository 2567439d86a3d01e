"""Images inside a bundle: the OCI layout's index and Docker's manifest.json, written, and held against each other."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rocenv.errors import UsageError

OCI_LAYOUT = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
INDEX = "application/vnd.oci.image.index.v1+json"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Blob(NamedTuple):
    """Something by its digest, with its size in bytes and its media type."""

    digest: str
    size: int
    media_type: str

    @property
    def path(self) -> str:
        """Where it lies in the layout."""
        return f"blobs/sha256/{self.digest.partition(':')[2]}"

    def descriptor(self) -> dict[str, Any]:
        """As the OCI specification describes it."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


class Image(NamedTuple):
    """One image of a layout: its manifest, config and layers, and the name that it gets (None: its digest alone)."""

    manifest: Blob
    config: Blob
    layers: tuple[Blob, ...]
    name: str | None = None


def digest_of(data: bytes) -> str:
    """The sha256 digest of some bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def manifest_bytes(config: Blob, layers: Sequence[Blob]) -> bytes:
    """The manifest of an image that has none of its registry's."""
    found = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.descriptor(),
        "layers": [layer.descriptor() for layer in layers],
    }
    return json.dumps(found, separators=(",", ":")).encode()


def indexes(images: Sequence[Image]) -> dict[str, bytes]:
    """The files of a layout beside its blobs, by name."""
    return {"oci-layout": OCI_LAYOUT, "index.json": index_bytes(images), "manifest.json": docker_bytes(images)}


def index_bytes(images: Sequence[Image]) -> bytes:
    """The layout's index.json."""
    entries = [
        {
            **one.manifest.descriptor(),
            "platform": {"architecture": "amd64", "os": "linux"},
            **({"annotations": {"io.containerd.image.name": one.name}} if one.name else {}),
        }
        for one in images
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()


def docker_bytes(images: Sequence[Image]) -> bytes:
    """Docker's manifest.json for the same images."""
    return json.dumps(
        [
            {
                "Config": one.config.path,
                "RepoTags": [one.name] if one.name else None,
                "Layers": [layer.path for layer in one.layers],
            }
            for one in images
        ]
    ).encode()


def read_images(
    read: Mapping[str, bytes], sizes: Mapping[str, int], manifests: Mapping[str, bytes]
) -> tuple[Image, ...]:
    """The images of a layout, every blob of them there with its size, and manifest.json saying the same.

    `read`: the two index files; `sizes`: of all blobs by path; `manifests`: the blobs that are small enough to be one.
    Raises UsageError for whatever does not fit together.
    """
    try:
        if json.loads(read["oci-layout"])["imageLayoutVersion"] != "1.0.0":
            raise UsageError("its `oci-layout` is of another version", None)
        entries = json.loads(read["index.json"])["manifests"]
        images = tuple(_image(entry, manifests) for entry in entries)
        docker = json.loads(read["manifest.json"])
        told = [(one["Config"], one["RepoTags"] or None, one["Layers"]) for one in docker]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"its index cannot be read ({type(error).__name__}: {error})", None) from error
    for one in images:
        for blob in (one.manifest, one.config, *one.layers):
            if sizes.get(blob.path) != blob.size:
                what = (
                    "is missing" if blob.path not in sizes else f"has {sizes[blob.path]} bytes instead of {blob.size}"
                )
                raise UsageError(f"`{blob.path}` {what}", None)
    own = [(one.config.path, [one.name] if one.name else None, [blob.path for blob in one.layers]) for one in images]
    if told != own:
        raise UsageError("`manifest.json` tells of other images than `index.json`", None)
    return images


def _image(entry: Mapping[str, Any], manifests: Mapping[str, bytes]) -> Image:
    manifest = _blob(entry)
    raw = manifests.get(manifest.path)
    if raw is None:
        raise UsageError(f"the manifest `{manifest.path}` is missing", None)
    found = json.loads(raw)
    name = (entry.get("annotations") or {}).get("io.containerd.image.name")
    if name is not None and not isinstance(name, str):
        raise TypeError(name)
    return Image(manifest, _blob(found["config"]), tuple(_blob(one) for one in found["layers"]), name)


def _blob(entry: Mapping[str, Any]) -> Blob:
    digest, size = entry["digest"], entry["size"]
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest) or type(size) is not int:
        raise ValueError(digest)
    return Blob(digest, size, str(entry.get("mediaType")))
