"""The tags of a repository, page by page."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from rocenv.catalog.references import Reference
from rocenv.engine.registry.contents import parsed
from rocenv.engine.registry.find import foremost
from rocenv.engine.registry.line import joined, origin
from rocenv.engine.registry.places import places
from rocenv.engine.registry.records import RegistryError
from rocenv.engine.registry.session import Session

_PAGE = 1000  # tags asked for at once; a registry may give fewer
_PAGE_LIMIT = 8 << 20  # bytes of a page: some registries give all tags on one
_PAGES = 500
_BUDGET = 120.0  # seconds for all pages
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_NEXT = re.compile(r"<([^<>]*)>\s*(?:;[^,<>]*)?;\s*rel=\"?next\"?", re.IGNORECASE)


def tags(reference: Reference, config: Mapping[str, Any]) -> tuple[str, ...]:
    """All tags of a reference's repository, in the registry's order, of the first place that knows it.

    Raises RegistryError.
    """
    told: list[RegistryError] = []
    for place in places(reference, config):
        with closing(Session(place, until=time.monotonic() + _BUDGET)) as session:
            try:
                return listed(session)
            except RegistryError as error:
                told.append(error.at(place))
    raise foremost(told)


def listed(session: Session) -> tuple[str, ...]:
    """All tags of a session's repository; what can be no tag is left out."""
    path: str | None = f"tags/list?n={_PAGE}"
    seen: set[str] = set()
    found: dict[str, None] = {}
    while path is not None:
        if path in seen or len(seen) >= _PAGES:
            raise RegistryError("bad", f"{session.place.host} lists tags without an end")
        seen.add(path)
        answer = session.ask(path, limit=_PAGE_LIMIT)
        page = parsed(answer.body).get("tags")
        if isinstance(page, list):
            found.update(dict.fromkeys(tag for tag in page if isinstance(tag, str) and _TAG.fullmatch(tag)))
        path = _next(session, path, answer.headers.get("link", ""))
    return tuple(found)


def _next(session: Session, path: str, link: str) -> str | None:
    """The address of the next page. Raises RegistryError for one that leads to another host."""
    match = _NEXT.search(link)
    if match is None:
        return None
    here = session.address(path)
    there = joined(here, match[1])
    if origin(there) != origin(here):
        raise RegistryError("bad", f"{session.place.host} continues its list of tags at another host")
    return there
