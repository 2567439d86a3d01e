"""Manifests and indexes, read from bytes that nobody vouches for but their digest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from rocenv.engine.registry.records import Descriptor, Manifest, RegistryError

LISTS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
_CONFIGS = ("application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json")
_SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_LAYERS = 1000  # Docker itself takes 127


def digest_of(data: bytes, like: str = "sha256:") -> str:
    """The digest of `data`, by the algorithm of the digest `like`."""
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def is_digest(text: object) -> bool:
    """Whether this is a digest by an algorithm that can be verified."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def parsed(raw: bytes) -> dict[str, Any]:
    """A JSON object. Raises RegistryError for all else, such as a page of a proxy's."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        what = "a web page" if raw.lstrip()[:1] == b"<" else "what is no JSON"
        raise _bad(f"{what}, {len(raw)} bytes") from None
    if not isinstance(found, dict):
        raise _bad("JSON that is no object")
    return found


def is_index(found: Mapping[str, Any]) -> bool:
    """Whether a manifest is a list of others. Raises RegistryError for one that is both, or in the oldest form."""
    if found.get("schemaVersion") == 1 or str(found.get("mediaType")).startswith(_SCHEMA_1) or "fsLayers" in found:
        raise RegistryError(
            "bad",
            "it is an image of the oldest form (schema 1), which engines no longer take",
            "name a newer tag of it",
        )
    if "manifests" in found and ("layers" in found or "config" in found):
        raise _bad("a manifest that is an index and an image at once")
    return "manifests" in found


def entries(found: Mapping[str, Any]) -> tuple[Descriptor, ...]:
    """What an index lists, in its order."""
    return tuple(_descriptor(entry, LISTS + MANIFESTS) for entry in _list(found, "manifests"))


def manifest(raw: bytes, found: Mapping[str, Any], digest: str) -> Manifest:
    """An image's manifest."""
    config = _descriptor(found.get("config"), _CONFIGS)
    if config.media_type not in _CONFIGS:
        raise RegistryError(
            "bad",
            f"it is no container image but `{str(found.get('artifactType') or config.media_type)[:100]}`",
            "name the repository of an image",
        )
    layers = tuple(
        _descriptor(layer, ("application/vnd.oci.image.layer.v1.tar+gzip",)) for layer in _list(found, "layers")
    )
    return Manifest(digest, str(found.get("mediaType") or MANIFESTS[0]), raw, config, layers)


def pick(listed: tuple[Descriptor, ...], platform: str) -> Descriptor | None:
    """The first of an index for a platform: the very same, then one whose variant either leaves open.

    The only one of an index that names no platform counts for all.

    An image for `linux/arm64/v8` is one for `linux/arm64`, and one for `linux/amd64` is one for `linux/amd64/v3`.
    """
    if len(listed) == 1 and listed[0].platform is None:
        return listed[0]
    exact = next((one for one in listed if one.platform == platform), None)
    plain = "/".join(platform.split("/")[:2])
    if exact is not None:
        return exact
    general = next((one for one in listed if one.platform == plain), None)
    if general is not None or platform != plain:
        return general
    return next((one for one in listed if one.platform in _DEFAULTS.get(plain, ())), None)


# The variant that a processor has when nothing is said (OCI image index; containerd's platforms).
_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "linux/amd64": ("linux/amd64/v1",),
    "linux/arm64": ("linux/arm64/v8",),
    "linux/arm": ("linux/arm/v7", "linux/arm/v6", "linux/arm/v5"),
}


def _list(found: Mapping[str, Any], key: str) -> list[Any]:
    value = found.get(key)
    if not isinstance(value, list) or len(value) > _LAYERS:
        raise _bad(f"a manifest without a sound list of `{key}`")
    return value


def _descriptor(entry: object, kinds: tuple[str, ...]) -> Descriptor:
    """A descriptor; one that names no media type has the first of `kinds`."""
    if not isinstance(entry, dict):
        raise _bad("a manifest with an entry that is no descriptor")
    digest, size = entry.get("digest"), entry.get("size")
    if not is_digest(digest):
        raise _bad("a manifest with an entry without a sound digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _bad("a manifest with an entry without a sound size")
    annotations = entry.get("annotations")
    return Descriptor(
        str(entry.get("mediaType") or kinds[0]),
        str(digest),
        size,
        _platform(entry.get("platform")),
        {str(key): str(value) for key, value in annotations.items()} if isinstance(annotations, dict) else {},
    )


def _platform(told: object) -> str | None:
    if not isinstance(told, dict):
        return None
    words = [told.get(key) for key in ("os", "architecture", "variant")]
    return "/".join(word for word in words if isinstance(word, str) and word) or None


def _bad(what: str) -> RegistryError:
    return RegistryError("bad", f"it answers {what}")
