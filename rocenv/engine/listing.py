"""An engine's lists of containers and images, read into rocenv's nouns. Pure functions on their texts.

Docker's own JSON of `docker ps` joins the labels by commas, which no reader can take apart again; so each label is
asked for by name in a template of JSON strings. Podman knows no such template, and writes labels as a mapping.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from rocenv.model.proof import Environment

LABELS = (
    "rocenv.version",
    "rocenv.project",
    "rocenv.name",
    "rocenv.profile",
    "rocenv.plan",
    "rocenv.gpus",
    "rocenv.owner",
    "rocenv.once",
    "rocenv.digest",
    "rocenv.decided",
    "rocenv.nodes",
    "rocenv.stand-in",  # of the image, which hands its labels down
)
_COLUMNS = (".ID", ".Names", ".State", ".Image", ".CreatedAt", *(f'(.Label "{label}")' for label in LABELS))
DOCKER_FORMAT = "[" + ",".join(f"{{{{json {column}}}}}" for column in _COLUMNS) + "]"


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


def docker_environments(text: str) -> list[Environment]:
    """The containers in the answer to `docker ps --format DOCKER_FORMAT`, one a line."""
    found = []
    for line in text.splitlines():
        identity, name, state, image, created, *labels = json.loads(line)
        found.append(
            _environment(
                identity=identity,
                name=name,
                state=state,
                image=image,
                created=_iso(created),
                labels={label: str(value) for label, value in zip(LABELS, labels, strict=True) if value},
            )
        )
    return found


def podman_environments(text: str) -> list[Environment]:
    """The containers in the answer to `podman ps --format json`."""
    return [
        _environment(
            identity=str(row.get("Id")),
            name=str((row.get("Names") or [""])[0]),
            state=str(row.get("State")),
            image=str(row.get("Image")),
            created=datetime.fromtimestamp(row["Created"], timezone.utc).isoformat(),
            labels={str(key): str(value) for key, value in (row.get("Labels") or {}).items()},
        )
        for row in json.loads(text or "[]")
    ]


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
    )


def _iso(created: str) -> str:
    """Docker's `2026-12-01 10:28:59 +0000 UTC` in the form of ISO 8601."""
    day, clock, zone, *_ = [*created.split(), "", "", ""]
    return f"{day}T{clock[:8]}{zone[:3]}:{zone[3:]}" if zone else created


def _environment(
    *, identity: str, name: str, state: str, image: str, created: str, labels: dict[str, str]
) -> Environment:
    return Environment(
        container=name.removeprefix("/"),
        id=identity,
        name=labels.get("rocenv.name", ""),
        project=labels.get("rocenv.project", ""),
        profile=labels.get("rocenv.profile", ""),
        state=state.lower(),
        reference=image,
        digest=labels.get("rocenv.digest"),
        plan=labels.get("rocenv.plan", ""),
        gpus=labels.get("rocenv.gpus", ""),
        owner=labels.get("rocenv.owner"),
        created=created,
        labels=labels,
    )


def _digest(reference: str, digests: Any) -> str | None:
    """The registry's digest of `reference`: that of its own repository, or the only one there is."""
    repository = reference.partition("@")[0]
    head, _, tail = repository.rpartition(":")
    if head and "/" not in tail:
        repository = head
    pairs = [str(entry).partition("@")[::2] for entry in digests]
    own = [digest for name, digest in pairs if name == repository or name.endswith("/" + repository)]
    return own[0] if own else pairs[0][1] if pairs else None
