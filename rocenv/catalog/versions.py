"""Versions of ROCm, HIP, drivers and DKMS modules: numbers with a stream, never compared as text.

ROCm's numbers are no single line. The legacy stream ended with 7.2.4 while previews of the new build ran as 7.9 to
7.13; 7.14 made that build the product (the Core SDK), and the next release after 7.14 was 10.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, total_ordering
from typing import NamedTuple

LEGACY, PREVIEW, CORE_SDK = "legacy", "preview", "core-sdk"
# A number, then perhaps what leads up to it (7.15.0a20260720, 7.14.0rc2, 7.2.0.dev0) or mends it (0.5.13.post1). What
# follows a `+` or a `-` names a build.
_VERSION = re.compile(
    r"v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,4})(?:[.-]?(a|b|rc|dev|post)([0-9]{0,12}))?(?:[+-][0-9A-Za-z.+-]*)?"
)
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|>|<|)\s*([^\s<>=!,]+)\s*")
_STAGES = ("dev", "a", "b", "rc", "")  # from the earliest to the release itself
_FIRST_PREVIEW, _FIRST_CORE_SDK = (7, 9), (7, 14)


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A version by its numbers; 7.2 equals 7.2.0, and a pre-release comes before what it leads up to."""

    numbers: tuple[int, ...]  # without zeros at the end
    pre: tuple[str, int] | None = None
    text: str = field(default="", compare=False)
    post: int = 0  # of one that mends what was released: 0.5.13.post1 is newer than 0.5.13

    @staticmethod
    @cache
    def parse(text: str) -> Version:
        """The version that `text` is. Raises ValueError where it is none."""
        match = _VERSION.fullmatch(text.strip())
        if match is None:
            msg = f"`{text}` is no version"
            raise ValueError(msg)
        digits, kind, count = match.groups()
        numbers = [int(part) for part in digits.split(".")]
        while len(numbers) > 1 and numbers[-1] == 0:
            numbers.pop()
        if kind == "post":
            return Version(tuple(numbers), None, text.strip(), int(count or 0) + 1)
        return Version(tuple(numbers), (kind, int(count or 0)) if kind else None, text.strip())

    def __lt__(self, other: Version) -> bool:
        return self._key < other._key

    def __str__(self) -> str:
        return self.text or ".".join(map(str, self.numbers))

    @property
    def _key(self) -> tuple[tuple[int, ...], tuple[int, int], int]:
        stage, count = self.pre or ("", 0)
        return self.numbers, (_STAGES.index(stage), count), self.post

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor number, which is what support tables name."""
        return self.numbers[0], self.numbers[1] if len(self.numbers) > 1 else 0

    @property
    def stream(self) -> str:
        """The stream that this is as a version of ROCm: legacy, preview or core-sdk."""
        if self.pre is not None or _FIRST_PREVIEW <= self.minor < _FIRST_CORE_SDK:
            return PREVIEW
        return LEGACY if self.minor < _FIRST_PREVIEW else CORE_SDK

    @property
    def rank(self) -> tuple[bool, Version]:
        """What to sort ROCm releases by when the best is wanted: previews never outrank production."""
        return self.stream != PREVIEW, self

    def within(self, other: Version) -> bool:
        """True where `other` as it is written covers this one: 7.2 covers 7.2.4, 7.2.0 covers 7.2.0 alone."""
        written = _VERSION.fullmatch(other.text)
        count = written.group(1).count(".") + 1 if written else len(other.numbers)
        return self.pre == other.pre and _padded(self, count) == _padded(other, count)


def _padded(version: Version, count: int) -> tuple[int, ...]:
    return (version.numbers + (0,) * count)[:count]


class Constraint(NamedTuple):
    """What a profile demands of a version: `>=7.0,<10`, `==7.2.4`, `!=7.1`, or `7.2`, which means any 7.2.x."""

    text: str
    clauses: tuple[tuple[str, Version], ...]

    @staticmethod
    @cache
    def parse(text: str) -> Constraint:
        """The constraint that `text` is. Raises ValueError where it is none."""
        clauses: list[tuple[str, Version]] = []
        for part in text.split(","):
            match = _CLAUSE.fullmatch(part)
            if match is None:
                msg = f"`{text}` is no constraint on a version"
                raise ValueError(msg)
            clauses.append((match.group(1), Version.parse(match.group(2))))
        return Constraint(text, tuple(clauses))

    def allows(self, version: Version) -> bool:
        """True where every clause holds."""
        return all(_holds(operator, version, bound) for operator, bound in self.clauses)

    def names(self, version: Version) -> bool:
        """True where a clause asks for this very version (`7.13`, `==7.13.0`): only so is a preview taken."""
        return any(operator in ("", "==") and _holds(operator, version, bound) for operator, bound in self.clauses)


def _holds(operator: str, version: Version, bound: Version) -> bool:
    match operator:
        case "":
            return version.within(bound)
        case "==":
            return version == bound
        case "!=":
            return not version.within(bound)
        case ">=":
            return version >= bound
        case "<=":
            return version <= bound
        case ">":
            return version > bound
    return version < bound
