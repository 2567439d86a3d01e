"""From a reference to the image in its registry: every place in turn, every word verified, every refusal told apart."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rocenv.catalog.references import Reference
from rocenv.engine.registry import contents
from rocenv.engine.registry.near import explained
from rocenv.engine.registry.places import places
from rocenv.engine.registry.records import Descriptor, Found, RegistryError
from rocenv.engine.registry.session import BUDGET, Session

MANIFEST_LIMIT = 4 << 20  # bytes, the size up to which registries take manifests
_FOREMOST = ("no-platform", "no-tag", "refused", "denied", "no-repository", "busy", "bad", "unreachable")
_SHOWN = 8  # platforms in a message
_NESTED = 3  # indexes in indexes


def find(reference: Reference, config: Mapping[str, Any], *, platform: str = "linux/amd64") -> Found:
    """The image that `reference` is for `platform`, in the first place that has it.

    `config`: the engine's settings of registries (`settings`). Raises RegistryError, an ImageError, which names the
    nearest image that does exist.
    """
    try:
        return locate(reference, config, platform)
    except RegistryError as error:
        raise explained(error, reference) from None


def locate(reference: Reference, config: Mapping[str, Any], platform: str, budget: float = BUDGET) -> Found:
    """As `find`, but for nothing being asked about what is near; each place has `budget` seconds."""
    told: list[RegistryError] = []
    for place in places(reference, config):
        session = Session(place, until=time.monotonic() + budget)
        try:
            return _found(session, reference, platform)
        except RegistryError as error:
            session.close()
            told.append(error.at(place))
    raise foremost(told)


def foremost(told: Sequence[RegistryError]) -> RegistryError:
    """What counts of what several places answered: who knows the repository before who does not, then the last."""
    return max(enumerate(told), key=lambda pair: (-_FOREMOST.index(pair[1].state), pair[0]))[1]


def _found(session: Session, reference: Reference, platform: str) -> Found:
    raw, digest = fetch(session, reference.digest or reference.tag or "latest")
    found = contents.parsed(raw)
    index: str | None = None
    names: tuple[str, ...] = ()
    for _ in range(_NESTED):
        if not contents.is_index(found):
            return Found(session.place, index, contents.manifest(raw, found, digest), names, session)
        listed = contents.entries(found)
        index = index or digest
        names = names or tuple(dict.fromkeys(str(one.platform) for one in listed if _real(one)))
        picked = contents.pick(listed, platform)
        if picked is None:
            raise RegistryError(
                "no-platform",
                f"it is made for {', '.join(names[:_SHOWN]) or 'no platform'}, and not for {platform}",
                "name an image that is",
                platforms=names,
            )
        raw, digest = fetch(session, picked.digest)
        found = contents.parsed(raw)
    raise RegistryError("bad", "it is an index of indexes without an end")


def fetch(session: Session, version: str) -> tuple[bytes, str]:
    """A manifest by tag or digest: its bytes, and their digest, verified. Raises RegistryError."""
    accept = ", ".join((*contents.LISTS, *contents.MANIFESTS))
    answer = session.ask(f"manifests/{quote(version, ':')}", limit=MANIFEST_LIMIT, accept=accept)
    told = version if contents.is_digest(version) else answer.headers.get("docker-content-digest", "")
    digest = contents.digest_of(answer.body, told if contents.is_digest(told) else "sha256:")
    if contents.is_digest(told) and digest != told:
        raise RegistryError(
            "bad",
            f"{session.place.host} answers a manifest that is not the one of its digest {told[:19]}…",
            "a broken mirror or proxy may stand in between",
        )
    return answer.body, digest


def _real(listed: Descriptor) -> bool:
    """Whether an entry is an image: what vouches for images (attestations) says `unknown/unknown`."""
    return listed.platform is not None and not listed.platform.startswith("unknown")
