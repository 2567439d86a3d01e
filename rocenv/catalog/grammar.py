"""What a tag says by its family's grammar, and which of the family's facts hold for it. Pure; the tables are given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from rocenv.catalog.versions import Constraint, Version

# Groups of a grammar that are no framework.
PLAIN = frozenset({"rocm", "ubuntu", "os", "python", "flavor", "target", "release", "build"})
# Facts that are words and no versions: compared as they stand. `none` means that the tag does not say it.
WORDS = frozenset({"flavor", "target"})
_TEXTS = frozenset({"os", "build"})


def parsed(grammars: Sequence[str], tag: str) -> dict[str, str] | None:
    """The facts in a tag, or None where no grammar fits the whole of it."""
    for grammar in grammars:
        match = re.fullmatch(grammar, tag, re.ASCII)
        if match is not None:
            said = _decoded({key: value for key, value in match.groupdict().items() if value is not None})
            return said if sound(said) else None
    return None


def sound(said: Mapping[str, str]) -> bool:
    """True where everything that should be a version is one."""
    for key, value in said.items():
        if key not in WORDS and key not in _TEXTS:
            try:
                Version.parse(value)
            except ValueError:
                return False
    return True


def _decoded(facts: dict[str, str]) -> dict[str, str]:
    """Short forms written out: rocm724 is 7.2.4, ubu24 is Ubuntu 24.04, py310 is 3.10, centos7 is CentOS 7."""
    if "rocm_digits" in facts:
        facts["rocm"] = ".".join(facts.pop("rocm_digits"))
    if "ubuntu_major" in facts:
        facts["ubuntu"] = facts.pop("ubuntu_major") + ".04"
    if "python_digits" in facts:
        digits = facts.pop("python_digits")
        facts["python"] = f"{digits[0]}.{digits[1:]}"
    if "centos" in facts:
        facts["os"] = f"CentOS {facts.pop('centos')}"
    return facts


def holding(rules: Sequence[Mapping[str, Any]], said: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The rules of a family whose `when` holds for what a tag says, in the table's order."""
    return (rule for rule in rules if "when" not in rule or holds(rule["when"], said))


def holds(when: Mapping[str, str], said: Mapping[str, str]) -> bool:
    """True where every fact that `when` names is known and as it says: a constraint, or a word."""
    for key, wanted in when.items():
        if key in WORDS:
            if said.get(key, "none") != wanted:
                return False
        elif key not in said or not _within(said[key], wanted):
            return False
    return True


@cache
def _within(value: str, wanted: str) -> bool:
    """Whether a version is as a constraint says; asked for every tag of a family anew, and mostly of the same ones."""
    return Constraint.parse(wanted).allows(Version.parse(value))
