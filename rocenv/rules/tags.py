"""The tag that was probably meant, among those that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable

_COMPARED = 500  # tags that are compared by letters; some repositories have ten thousand
_NUMBERS = re.compile(r"\d+")
_BEFORE = re.compile(r"(?:^|[^a-z])(?:rc|alpha|beta|a|b|dev|nightly|preview)\d*(?:[^a-z]|$)|\drc\d", re.IGNORECASE)


def nearest(tag: str, tags: Iterable[str], most: int = 3) -> list[str]:
    """The nearest tags, the best first: the highest of the same shape that is no higher, then the likest by letters.

    Pre-releases come last: nobody who asks for a release means one.
    """
    import difflib

    every = [other for other in tags if other != tag]
    lower = [other for other in every if _shape(other) == _shape(tag) and _version(other) <= _version(tag)]
    best = sorted(lower, key=_version, reverse=True)[:1]
    alike = difflib.get_close_matches(tag, _begun_alike(tag, every), n=most, cutoff=0.5)
    prefix = [other for other in every if tag.startswith(f"{other}-") or other.startswith(f"{tag}-")]
    found = list(dict.fromkeys([*best, *alike, *prefix]))
    return sorted(found, key=lambda other: bool(_BEFORE.search(other)))[:most]


def _begun_alike(tag: str, others: list[str]) -> list[str]:
    """Those that have the most of their beginning in common: comparing letters takes a millisecond for each."""
    import heapq

    def common(other: str) -> int:
        pairs = enumerate(zip(tag, other, strict=False))
        return next((number for number, (one, two) in pairs if one != two), min(len(tag), len(other)))

    return others if len(others) <= _COMPARED else heapq.nlargest(_COMPARED, others, key=common)


def _shape(tag: str) -> str:
    """A tag with its numbers taken out: what is of one shape differs in versions alone."""
    return _NUMBERS.sub("#", tag)


def _version(tag: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(tag))
