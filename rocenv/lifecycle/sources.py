"""Where an image's digests are learned: the engine's own copy, and the registries that have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rocenv.catalog.references import Reference
from rocenv.errors import EngineError, ImageError
from rocenv.model.lock import LockedPlatform

if TYPE_CHECKING:
    from rocenv.engine import Engine

PLATFORM = "linux/amd64"  # what AMD's images are for
_MOST_PLATFORMS = 8


class Sources(NamedTuple):
    """What may be asked: `engine` is None where none answers, no registry is asked where `offline`."""

    engine: Engine | None
    config: Mapping[str, Any]
    offline: bool = False


class Digests(NamedTuple):
    """What a reference stands for: its digest, the image on each platform that is known, and who said so."""

    digest: str
    platforms: Mapping[str, LockedPlatform]
    told_by: str


def open_sources(kind: str | None, *, offline: bool, tell: Callable[[str], None]) -> Sources:
    """The engine, where one answers, and its settings of registries."""
    from rocenv.engine import open_engine
    from rocenv.engine.registry import settings

    try:
        engine = open_engine(kind)
        config = settings(engine)
        if not config:
            engine.facts()  # its daemon did not answer: this says why
        return Sources(engine, config, offline)
    except EngineError as error:
        tell(f"{error.message}: the registries alone are asked")
        return Sources(None, {}, offline)


def learn(sources: Sources, reference: Reference, *, anew: bool) -> Digests:
    """The digests that a reference stands for. `anew`: its registry goes before the copy that is here.

    Raises ImageError where nobody tells.
    """
    own = None if anew and not sources.offline else of_engine(sources, reference)
    if own is not None:
        return own if sources.offline else _completed(sources, reference, own)
    if sources.offline:
        raise ImageError(
            f"`{reference.familiar}` is not here with a digest of a registry, and none may be asked (--offline)",
            f"`docker pull {reference.familiar}`, or leave `--offline` away",
        )
    from rocenv.engine.registry import RegistryError

    try:
        return of_registry(sources, reference)
    except RegistryError as error:
        own = of_engine(sources, reference) if error.state in ("unreachable", "busy") else None
        if own is None:
            raise ImageError(
                f"the digest of `{reference.familiar}` cannot be told: {error.said}",
                error.hint or "`--offline` locks the copy that the engine has",
            ) from error
        return own._replace(told_by=f"{own.told_by}; its registry was not reached")


def of_engine(sources: Sources, reference: Reference) -> Digests | None:
    """What the engine's copy says; None where it has none, or one that came from another repository, or from none."""
    engine = sources.engine
    facts = engine.image(reference.familiar) if engine else None
    if engine is None or facts is None or facts.digest is None:
        return None
    if engine.image(replace(reference, tag=None, digest=facts.digest).familiar) is None:
        return None
    platform = f"linux/{facts.machine}" if facts.machine else PLATFORM
    identity = facts.id if ":" in facts.id else f"sha256:{facts.id}"  # as podman tells it
    # Docker's containerd store knows an image by its digest alone, and of its config nothing.
    platforms = {} if identity == facts.digest else {platform: LockedPlatform(image=identity)}
    return Digests(facts.digest, platforms, "the copy that is here")


def of_registry(sources: Sources, reference: Reference) -> Digests:
    """What the registry says, for every platform of its index. Raises RegistryError."""
    from rocenv.engine.registry import RegistryError, find

    first = find(reference, sources.config, platform=PLATFORM)
    first.session.close()
    digest = first.index_digest or first.manifest.digest
    platforms = {PLATFORM: LockedPlatform(first.manifest.config.digest, first.manifest.digest)}
    exact = replace(reference, tag=None, digest=digest)
    for platform in first.platforms[:_MOST_PLATFORMS]:
        if platform.startswith("linux/") and platform not in platforms:
            try:
                other = find(exact, sources.config, platform=platform)
            except RegistryError:
                continue
            other.session.close()
            platforms[platform] = LockedPlatform(other.manifest.config.digest, other.manifest.digest)
    return Digests(digest, platforms, first.place.host)


def _completed(sources: Sources, reference: Reference, own: Digests) -> Digests:
    """The engine's own digest with what the registry knows beyond it, where that can be asked."""
    from rocenv.engine.registry import RegistryError

    try:
        return of_registry(sources, replace(reference, tag=None, digest=own.digest))._replace(told_by=own.told_by)
    except RegistryError:
        return own
