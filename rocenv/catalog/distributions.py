"""Bare systems, and where ROCm's packages for each come from: repository, key and names, by release and layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from rocenv.catalog import releases
from rocenv.catalog.references import Reference
from rocenv.catalog.table import load, verified
from rocenv.catalog.versions import PREVIEW, Constraint, Version
from rocenv.errors import UsageError

# The templates that start from a bare system, each with the layouts that it knows (a layout names its template).
FROM_SYSTEM = ("distribution", "debian")
NOTHING_NAMED = ("runtime",)  # the components where a profile names none


class System(NamedTuple):
    """A bare system: what installs packages there (apt, dnf, zypper), and the image that it starts from."""

    key: str
    name: str
    manager: str
    image: str
    python: str


class Packages(NamedTuple):
    """Where ROCm comes from for a system and a release, and the packages of the components that are wanted."""

    system: System
    layout: str
    rocm: Version
    addresses: tuple[str, ...]
    suite: str | None
    key: str | None
    origin: str | None
    folder: str
    names: tuple[str, ...]
    verified: bool  # all of it stands in a source that was read


@cache
def systems() -> tuple[System, ...]:
    """Every system of the table, in its order."""
    return tuple(
        System(key, row["name"], row["manager"], row["image"], row["python"])
        for key, row in load("distributions")["systems"].items()
    )


def system(key: str) -> System:
    """A system by its key. Raises UsageError for one that there is not."""
    found = next((one for one in systems() if one.key == key), None)
    if found is None:
        known = ", ".join(one.key for one in systems())
        raise UsageError(f"`build.os`: there is no system {key[:60]!a}", f"there are: {known}")
    return found


def system_of(reference: str) -> System | None:
    """The bare system that an image is by its name; None for another image."""
    try:
        name = Reference.parse(reference).familiar.partition("@")[0]
    except ValueError:
        return None
    for one in systems():
        for start in (one.image, *load("distributions")["systems"][one.key]["also"]):
            if name == start or (name.startswith(start) and name[len(start)] in ":.-"):
                return one
    return None


def available(of: System, template: str) -> tuple[Version, ...]:
    """The ROCm releases that there are packages of, for a system and a template, oldest first."""
    places = [_places(layout)[of.key] for layout in _layouts(template) if of.key in _places(layout)]
    allowed = [Constraint.parse(place["rocm"]) for place in places]
    known = [one.version for one in releases.releases() if one.version.stream != PREVIEW]
    if template == "debian":
        known = [Version.parse("5.7")]
    return tuple(sorted(version for version in known if any(one.allows(version) for one in allowed)))


def packages(of: System, template: str, wanted: str | None, components: Sequence[str], gfx: Sequence[str]) -> Packages:
    """The newest release that `wanted` (a constraint) allows, with the packages of the components.

    Raises UsageError, with the combinations that there are, where there is none.
    """
    there = available(of, template)
    try:
        allowed = Constraint.parse(wanted) if wanted else None
    except ValueError as error:
        raise UsageError(
            f"`image.rocm`: {str(wanted)[:60]!a} names no releases", "write it like `7.2` or `>=7.0,<10`"
        ) from error
    fitting = [version for version in there if allowed is None or allowed.allows(version)]
    if not fitting:
        raise _impossible(of, template, wanted, there)
    rocm = fitting[-1]
    layout = next(
        name
        for name in _layouts(template)
        if of.key in _places(name) and Constraint.parse(_places(name)[of.key]["rocm"]).allows(rocm)
    )
    table, place = load("distributions")["layouts"][layout], _places(layout)[of.key]
    parts = load("distributions")["components"][table["components"]]
    sources = ", ".join(one["source"].partition(":")[0] for one in (table, place, parts))
    return Packages(
        system=of,
        layout=layout,
        rocm=rocm,
        addresses=tuple(address.replace("{rocm}", _written(rocm)) for address in place["addresses"]),
        suite=place.get("suite"),
        key=table.get("key"),
        origin=table.get("origin"),
        folder=table["folder"].replace("{minor}", "{}.{}".format(*rocm.minor)),
        names=_names(parts, of.manager, components or NOTHING_NAMED, rocm, gfx),
        verified=verified("distributions", sources),
    )


def _names(
    parts: Mapping[str, Any], manager: str, components: Sequence[str], rocm: Version, gfx: Sequence[str]
) -> tuple[str, ...]:
    there = [key for key in parts if key != "source"]
    missing = next((one for one in components if one not in there), None)
    if missing is not None:
        raise UsageError(
            f"`build.components`: there is no package of {missing[:60]!a} there", f"there are: {', '.join(there)}"
        )
    listed = releases.release(rocm)
    unlisted = [target for target in gfx if listed and listed.gfx and target not in listed.gfx]
    by_target = any("{gfx}" in name for component in components for name in parts[component])
    if unlisted and by_target and listed:
        raise UsageError(
            f"ROCm {rocm} has no packages for {unlisted[0]}", f"it has some for: {', '.join(listed.gfx)} (`build.gfx`)"
        )
    filled = {"{minor}": "{}.{}".format(*rocm.minor), "{dev}": "dev" if manager == "apt" else "devel"}
    found = []
    for name in (name for component in components for name in parts[component]):
        for sign, value in filled.items():
            name = name.replace(sign, value)  # noqa: PLW2901
        targets = [f"-{target}" for target in gfx] or [""]
        found += [name.replace("{gfx}", target) for target in targets]
    return tuple(dict.fromkeys(found))


def _written(rocm: Version) -> str:
    """The release as AMD's legacy repositories write it: 7.2 for 7.2.0, 7.2.4 as it is."""
    numbers = (*rocm.numbers, 0, 0)[:3]
    return ".".join(map(str, numbers if numbers[2] else numbers[:2]))


def _impossible(of: System, template: str, wanted: str | None, there: Sequence[Version]) -> UsageError:
    if not there:
        others = [one.key for one in systems() if available(one, template)]
        return UsageError(
            f"the template `{template}` has no packages for {of.name}", f"there are some for: {', '.join(others)}"
        )
    others = [one.key for one in systems() if _allows(one, template, wanted)]
    on_others = f"; `{wanted}` is there for: {', '.join(others)}" if others else ""
    spans = ", ".join(str(version) for version in there)
    return UsageError(f"there are no packages of ROCm `{wanted}` for {of.name}", f"there are: {spans}{on_others}")


def _allows(one: System, template: str, wanted: str | None) -> bool:
    allowed = Constraint.parse(wanted or ">0")
    return any(allowed.allows(version) for version in available(one, template))


def _layouts(template: str) -> list[str]:
    return [name for name, table in load("distributions")["layouts"].items() if table["template"] == template]


def _places(layout: str) -> Mapping[str, Any]:
    places: Mapping[str, Any] = load("distributions")["layouts"][layout]["places"]
    return places
