"""What was probably meant: the nearest tag, and the repository of the same kind, or the like name, that has it."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace

from rocenv.catalog import images as catalog
from rocenv.catalog.references import Reference
from rocenv.engine.registry.records import Place, RegistryError
from rocenv.engine.registry.session import Session
from rocenv.rules.tags import nearest

_BUDGET = 20.0  # seconds for all that is asked here: it only makes a refusal kinder
_MOST = 4  # repositories that are asked


def explained(error: RegistryError, reference: Reference) -> RegistryError:
    """The error with the image in its message and, where that is not there, with the nearest that is."""
    near: tuple[str, ...] = ()
    if error.place is not None and error.state in ("no-tag", "no-repository", "denied"):
        error, near = _looked_around(error, error.place, reference)
    hint = f"did you mean `{near[0]}`?" if near else error.hint
    made = RegistryError(error.state, error.said, hint, nearest=near, platforms=error.platforms)
    made.message = f"`{reference.familiar}`: {error.said}"
    made.place = error.place
    return made


def _looked_around(error: RegistryError, place: Place, reference: Reference) -> tuple[RegistryError, tuple[str, ...]]:
    """The error, told more exactly where the list of tags allows it, and what is near."""
    until = time.monotonic() + _BUDGET
    own: tuple[str, ...] = ()
    if error.state == "no-tag":
        try:
            tags = _tags(place, until)
        except RegistryError as other:
            if other.state in ("no-repository", "no-tag"):
                said = f"{place.host} has no repository `{place.repository}`"
                error = RegistryError("no-repository", said, error.hint)
        else:
            error, own = _among(tags, error, place, reference)
    return error, (*_elsewhere(place, reference, until, alike=error.state != "no-tag"), *own)


def _among(
    tags: tuple[str, ...], error: RegistryError, place: Place, reference: Reference
) -> tuple[RegistryError, tuple[str, ...]]:
    """What the tags of the repository say of a reference that leads to nothing."""
    wanted = reference.tag or "latest"
    near = tuple(replace(reference, tag=tag, digest=None).familiar for tag in nearest(wanted, tags))
    if reference.digest is not None:
        now = (replace(reference, tag=wanted, digest=None).familiar,) if wanted in tags else ()
        leads = f"; its tag `{wanted}` leads to another image" if now else ""
        said = f"{place.host} has no image of that digest in `{place.repository}` (manifest unknown){leads}"
        return RegistryError("no-tag", said, error.hint), (*now, *near)
    if wanted in tags:
        said = f"{place.host} lists that tag and has no manifest for it (manifest unknown): deleted, or never finished"
        return RegistryError("no-tag", said, error.hint), near
    said = f"{place.host} has `{place.repository}`, and not this tag (manifest unknown)"
    return RegistryError("no-tag", said, error.hint), near


def _elsewhere(place: Place, reference: Reference, until: float, *, alike: bool) -> tuple[str, ...]:
    """Images of the catalog's other repositories: those that have this very tag, those of the same kind first.

    `alike`: the repository itself is not there. Then like names count as well, and where none has the tag, the first
    that is there with its nearest.
    """
    names = _names(reference, alike=alike)
    wanted = reference.tag or "latest"
    same = [name for name in names if _holds(place._replace(repository=name), wanted, until)]
    if same or not alike:
        return tuple(replace(reference, repository=name, digest=None).familiar for name in same)
    for name in names:
        try:
            tags = _tags(place._replace(repository=name), until)
        except RegistryError:
            continue
        near = nearest(wanted, tags) or tags[:1]
        return tuple(replace(reference, repository=name, tag=tag, digest=None).familiar for tag in near)
    return ()


def _names(reference: Reference, *, alike: bool) -> list[str]:
    """The catalog's repositories of the same kind (vllm, vllm-dev), and those of which the name is a slip."""
    import difflib

    every = [
        name
        for family in catalog.families()
        for name in family.repositories
        if family.registry == reference.registry and name != reference.repository
    ]
    stem = _stem(reference.repository)
    kin = [name for name in every if stem.startswith(_stem(name)) or _stem(name).startswith(stem)]
    slips = difflib.get_close_matches(reference.repository, every, n=_MOST, cutoff=0.8) if alike else []
    return list(dict.fromkeys([*slips, *kin]))[:_MOST]


def _stem(repository: str) -> str:
    return repository.rpartition("/")[2].partition("-")[0]


def _tags(place: Place, until: float) -> tuple[str, ...]:
    from rocenv.engine.registry.pages import listed

    with closing(Session(place, until=until)) as session:
        return listed(session)


def _holds(place: Place, tag: str, until: float) -> bool:
    from rocenv.engine.registry.find import fetch

    with closing(Session(place, until=until)) as session:
        try:
            fetch(session, tag)
        except RegistryError:
            return False
    return True
