"""What was probably meant: the tag that is nearest, and the repository of the same kind that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocenv.catalog import images as catalog
from rocenv.catalog.references import Reference
from rocenv.engine.registry.records import Place, RegistryError
from rocenv.rules.tags import nearest

_KIN = 4  # repositories of the same kind that are asked


def explained(error: RegistryError, reference: Reference) -> RegistryError:
    """The error with the image in its message and, where that is not there, with the nearest that is."""
    near: tuple[str, ...] = ()
    if error.place is not None and error.state in ("no-tag", "no-repository"):
        error, near = _looked_around(error, error.place, reference)
    made = RegistryError(
        error.state,
        error.said,
        f"did you mean `{near[0]}`?" if near else error.hint,
        nearest=near,
        platforms=error.platforms,
    )
    made.message = f"`{reference.familiar}`: {error.said}"
    made.place = error.place
    return made


def _looked_around(error: RegistryError, place: Place, reference: Reference) -> tuple[RegistryError, tuple[str, ...]]:
    """The error, told more exactly where the list of tags allows it, and what is near."""
    own: tuple[str, ...] = ()
    if error.state == "no-tag":
        try:
            tags = _tags(place)
        except RegistryError as other:
            if other.state in ("no-repository", "no-tag"):
                error = RegistryError(
                    "no-repository", f"{place.host} has no repository `{place.repository}`", error.hint
                )
            tags = ()
        error, own = _among(tags, error, place, reference)
    return error, (*siblings(place, reference), *own)


def _among(
    tags: tuple[str, ...], error: RegistryError, place: Place, reference: Reference
) -> tuple[RegistryError, tuple[str, ...]]:
    """What the tags of the repository say of a reference that leads to nothing."""
    wanted = reference.tag or "latest"
    near = tuple(replace(reference, tag=tag, digest=None).familiar for tag in nearest(wanted, tags))
    if wanted not in tags:
        return error, near
    if reference.digest is not None:
        said = f"{place.host} no longer has this digest; its tag `{wanted}` leads to another image now"
        return RegistryError("no-tag", said, error.hint), (replace(reference, tag=wanted, digest=None).familiar, *near)
    said = (
        f"{place.host} lists the tag and has no manifest for it (manifest unknown): it was deleted, or never finished"
    )
    return RegistryError("no-tag", said, error.hint), near


def _tags(place: Place) -> tuple[str, ...]:
    from rocenv.engine.registry.session import Session
    from rocenv.engine.registry.tags import listed

    session = Session(place)
    try:
        return listed(session)
    finally:
        session.close()


def siblings(place: Place, reference: Reference) -> tuple[str, ...]:
    """Repositories of the same kind (vllm, vllm-dev) that have this very tag, as the catalog knows them."""
    return tuple(
        replace(reference, repository=name, digest=None).familiar
        for name in _kin(reference)
        if _holds(place._replace(repository=name), reference.tag or "latest")
    )


def _kin(reference: Reference) -> list[str]:
    stem = _stem(reference.repository)
    names: Iterator[str] = (
        name
        for family in catalog.families()
        for name in family.repositories
        if family.registry == reference.registry and name != reference.repository
    )
    return [name for name in names if _alike(stem, _stem(name))][:_KIN]


def _holds(place: Place, tag: str) -> bool:
    from rocenv.engine.registry.find import fetch
    from rocenv.engine.registry.session import Session

    session = Session(place)
    try:
        fetch(session, tag)
    except RegistryError:
        return False
    finally:
        session.close()
    return True


def _stem(repository: str) -> str:
    return repository.rpartition("/")[2].partition("-")[0]


def _alike(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
