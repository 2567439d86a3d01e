"""An engine's lists of containers, read into rocenv's nouns. Pure functions on their texts.

Docker's own JSON of `docker ps` joins the labels by commas, which no reader can take apart again; so each label is
asked for by name in a template of JSON strings. Podman knows no such template, and writes labels as a mapping.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocenv.model.proof import Environment

LABELS = (
    "rocenv.version",
    "rocenv.project",
    "rocenv.folder",
    "rocenv.name",
    "rocenv.profile",
    "rocenv.plan",
    "rocenv.gpus",
    "rocenv.owner",
    "rocenv.once",
    "rocenv.lease",
    "rocenv.decided",
    "rocenv.nodes",
    "rocenv.stand-in",  # of the image, which hands its labels down
)
_COLUMNS = (".ID", ".Names", ".State", ".Image", ".CreatedAt", *(f'(.Label "{label}")' for label in LABELS))
DOCKER_FORMAT = "[" + ",".join(f"{{{{json {column}}}}}" for column in _COLUMNS) + "]"


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
            created=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(row["Created"])),
            labels={str(key): str(value) for key, value in (row.get("Labels") or {}).items()},
        )
        for row in json.loads(text or "[]")
    ]


def _named(image: str, labels: dict[str, str]) -> str:
    """What an image is called: where a container was made of an id or a bundle's name, as its plan called it."""
    if re.fullmatch(r"(?:sha256:|(?:docker\.io/)?rocenv/locked:)?[0-9a-f]{12,64}", image):
        try:
            planned = json.loads(labels.get("rocenv.decided", "")).get("image")
        except (ValueError, AttributeError, RecursionError):
            return image
        return planned if isinstance(planned, str) else image
    return image


def _iso(created: str) -> str:
    """Docker's `2026-12-01 10:28:59 +0000 UTC` in the form of ISO 8601."""
    day, clock, zone, *_ = [*created.split(), "", "", ""]
    return f"{day}T{clock[:8]}{zone[:3]}:{zone[3:]}" if zone else created


def _environment(
    *, identity: str, name: str, state: str, image: str, created: str, labels: dict[str, str]
) -> Environment:
    from rocenv.model.proof import Environment  # imported once the engine has been asked, while it answers

    return Environment(
        container=name.removeprefix("/"),
        id=identity,
        name=labels.get("rocenv.name", ""),
        project=labels.get("rocenv.project", ""),
        profile=labels.get("rocenv.profile", ""),
        state=state.lower(),
        reference=_named(image, labels),
        digest=None,
        plan=labels.get("rocenv.plan", ""),
        gpus=labels.get("rocenv.gpus", ""),
        owner=labels.get("rocenv.owner"),
        created=created,
        labels=labels,
    )
