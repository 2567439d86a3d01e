"""What a profile wishes of its image, in words that a lock keeps; and how wishes and locks differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rocenv.catalog.references import Reference
from rocenv.errors import UsageError
from rocenv.lock.text import tree
from rocenv.model.lock import Difference, Fact, Lock, Locked
from rocenv.model.wish import Profile
from rocenv.rules.secrets import is_secret

HIDDEN = "set"  # what stands for the value of a build argument whose name says that it is secret


def wish_of(profile: Profile) -> dict[str, Fact]:
    """What decides which image a profile runs on, by dotted key; nothing of where and how the container runs."""
    image, build = profile.image, profile.build
    whole: dict[str, Fact | None] = {
        "image.family": None if image.reference else image.family,
        "image.reference": image.reference,
        "image.rocm": image.rocm,
        "image.python": image.python,
        "image.ubuntu": image.ubuntu,
        **{f"image.framework.{name}": version for name, version in image.framework.items()},
        "build.template": build.template,
        **{f"build.packages.{tool}": tuple(names) for tool, names in build.packages.items()},
        **{f"build.args.{name}": HIDDEN if is_secret(name) else value for name, value in build.args.items()},
        "build.secrets": tuple(one.partition("=")[0] for one in build.secrets),
        "build.os": build.os,
        "build.components": build.components,
        "build.gfx": build.gfx,
        "build.context": build.context,
        "build.health": build.health,
    }
    return {key: value for key, value in whole.items() if value}


def changed(locked: Locked, profile: Profile) -> list[str]:
    """What the profile wishes otherwise than when it was locked, one line each: `image.rocm: >=7.0 → >=7.2`."""
    old, new = locked.wish, wish_of(profile)
    keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    return [f"{key}: {_words(old.get(key))} → {_words(new.get(key))}" for key in keys]


def differences(old: Lock, new: Lock) -> tuple[Difference, ...]:
    """Every fact that two locks tell otherwise, profile by profile."""
    found: list[Difference] = []
    for name in sorted({*old.profiles, *new.profiles}):
        before, after = facts(old.profiles.get(name)), facts(new.profiles.get(name))
        told = [fact for fact in dict.fromkeys((*before, *after)) if before.get(fact) != after.get(fact)]
        found += [Difference(name, fact, before.get(fact), after.get(fact)) for fact in told]
    return tuple(found)


def facts(locked: Locked | None) -> dict[str, str]:
    """A locked profile as texts by dotted key; of one that there is not, nothing."""
    return {} if locked is None else dict(_flat(tree(locked), ""))


def _flat(node: Mapping[str, Any], front: str) -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{front}{key}.")
        else:
            yield f"{front}{key}", _words(value)


def _words(value: Fact | list[str] | None) -> str:
    if value is None:
        return "not set"
    return value if isinstance(value, str) else ", ".join(value)


def mirrored(reference: str, mirrors: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The repositories where the settings' `mirrors` hold an image. Raises UsageError for a mirror that is none."""
    own = Reference.parse(reference)
    found = []
    for mirror in mirrors.get(own.registry, ()):
        place = f"{mirror.rstrip('/')}/{own.repository}"
        try:
            sound = Reference.parse(place).name == place
        except ValueError:
            sound = False
        if not sound:
            raise UsageError(f"`mirrors`: `{mirror}` is no registry", "write it like `mirror.example:5000`")
        found.append(place)
    return tuple(found)
