"""What an engine says of a local image, read from `image inspect`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """A local image; `digest` is its registry's, None where it came from no registry. Sizes are bytes."""

    id: str
    reference: str
    digest: str | None
    labels: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    env: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    size: int | None = None
    machine: str | None = None
    created: str | None = None
    command: tuple[str, ...] = ()


def image_facts(reference: str, text: str) -> ImageFacts | None:
    """The image in the answer to `image inspect REFERENCE`, or None where the list is empty."""
    found: list[dict[str, Any]] = json.loads(text or "[]")
    if not found:
        return None
    image = found[0]
    config = image.get("Config") or {}
    size = image.get("Size")
    return ImageFacts(
        id=str(image.get("Id")),
        reference=reference,
        digest=_digest(reference, image.get("RepoDigests") or ()),
        labels={str(key): str(value) for key, value in (config.get("Labels") or {}).items()},
        user=config.get("User") or None,
        env=tuple(map(str, config.get("Env") or ())),
        entrypoint=tuple(map(str, config.get("Entrypoint") or ())),
        size=size if isinstance(size, int) else None,
        machine=image.get("Architecture"),
        created=image.get("Created"),
        command=tuple(map(str, config.get("Cmd") or ())),
    )


def built_images(text: str) -> list[ImageFacts]:
    """The images in the answer to `image inspect ID…`, once under each of their names."""
    return [
        found
        for image in json.loads(text or "[]")
        for reference in image.get("RepoTags") or ()
        if (found := image_facts(str(reference), json.dumps([image]))) is not None
    ]


def image_digests(made: Mapping[str, tuple[str, str]], text: str) -> dict[str, str]:
    """For each container, made from (image id, reference), the digest in the answer to `image inspect ID…`."""
    known = {str(image.get("Id")): image.get("RepoDigests") or () for image in json.loads(text or "[]")}
    found = {there: _digest(reference, known.get(image, ())) for there, (image, reference) in made.items()}
    return {there: digest for there, digest in found.items() if digest}


def _digest(reference: str, digests: Any) -> str | None:
    """The registry's digest of `reference`: that of its own repository, or the only one there is."""
    repository = reference.partition("@")[0]
    head, _, tail = repository.rpartition(":")
    if head and "/" not in tail:
        repository = head
    pairs = [str(entry).partition("@")[::2] for entry in digests]
    own = [digest for name, digest in pairs if name == repository or name.endswith("/" + repository)]
    return own[0] if own else pairs[0][1] if pairs else None
