"""What rocenv made and nobody uses any more: one-off containers, cache volumes, built images, kept secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from rocenv.engine import Engine
from rocenv.engine.images import ImageFacts
from rocenv.errors import UsageError
from rocenv.lifecycle import hidden
from rocenv.lifecycle.genuine import own
from rocenv.model.proof import Environment

_AGE = re.compile(r"([0-9]{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_VOLUME = re.compile(r"rocenv-cache-[a-z]+-[0-9a-f]{12}(\.new)?")
_IMAGE = re.compile(r"rocenv/[a-z0-9][a-z0-9_.-]{0,62}:[0-9a-f]{8,64}")
_HASH = re.compile(r"[0-9a-f]{8,64}")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?\s?(Z|[+-]\d\d:?\d\d)?")


class Leftovers(NamedTuple):
    """What may go: containers, volumes by name with their bytes (None: not known), and built images."""

    containers: tuple[Environment, ...]
    volumes: Mapping[str, int | None]
    images: tuple[ImageFacts, ...]


def age_of(text: str) -> timedelta:
    """`7d`, `12h`, `30m`, `2w` as a span. Raises UsageError."""
    match = _AGE.fullmatch(text)
    if match is None:
        raise UsageError(f"`--older-than {text}` is no age", "write it like `7d`, `12h`, `30m` or `2w`")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def leftovers(engine: Engine, *, older: timedelta, volumes: bool) -> Leftovers:
    """All that nobody uses and that is older than that. What runs, and what an environment is made of, is in use."""
    before = datetime.now(timezone.utc) - older
    found = engine.find()
    ended = [one for one in found if own(one) and _ended(one) and _older(one.created, before)]
    ids = {one.id for one in ended}
    used = set(engine.made_of([one.id for one in found if one.id not in ids]).values())
    built = [one for one in engine.built() if _own_image(one) and one.id not in used and _older(one.created, before)]
    return Leftovers(tuple(ended), _volumes(engine, before) if volumes else {}, tuple(built))


def remove(engine: Engine, found: Leftovers, tell: Callable[[str], None]) -> Leftovers:
    """Remove it; what has come into use meanwhile stays, and is not in the answer."""
    for one in found.containers:
        engine.remove(one.id)
        hidden.forget(one.container)
        tell(f"removed {one.container}")
    volumes = {name: size for name, size in found.volumes.items() if engine.remove_volume(name)}
    images = tuple(one for one in found.images if engine.untag(one.reference))
    for name in (*volumes, *(one.reference for one in images)):
        tell(f"removed {name}")
    hidden.sweep(engine)
    return Leftovers(found.containers, volumes, images)


def _ended(one: Environment) -> bool:
    """Whether a one-off container has come to its end, or has lost the `rocenv run` that it was made for."""
    if one.labels.get("rocenv.once") != "1":
        return False
    return one.state in ("exited", "dead") or hidden.abandoned(one.container)


def _own_image(image: ImageFacts) -> bool:
    plan = image.labels.get("rocenv.image.plan", "")
    return bool(_HASH.fullmatch(plan) and _IMAGE.fullmatch(image.reference.removeprefix("localhost/")))


def _volumes(engine: Engine, before: datetime) -> dict[str, int | None]:
    """The caller's cache volumes that no container has mounted."""
    names = {name for name in engine.volumes(f"rocenv.owner={os.getuid()}") if _VOLUME.fullmatch(name)}
    idle = engine.dangling() & names
    made = engine.volumes_made(sorted(idle))
    return {name: size for name, (size, since) in sorted(made.items()) if _older(since, before)}


def _older(created: str | None, before: datetime) -> bool:
    """Whether an engine's time lies before another one; one that cannot be read does not."""
    match = _TIME.match(created or "")
    if match is None:
        return False
    zone = (match[3] or "Z").replace("Z", "+00:00")
    zone = zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    return datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}") <= before
