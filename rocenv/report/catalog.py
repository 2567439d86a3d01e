"""What the catalog says of a thing, for people and for programs: facts, and where and when each was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocenv.catalog.entries import Entry, abouts
from rocenv.report.text import table

_WIDE = 110
_MARK = 40  # characters of a source that may stand behind its fact


def entries_json(name: str, found: Sequence[Entry], origins: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """All that was found as plain data, version 1. `origins`: by table its date, and the file where it was laid in."""
    return {
        "version": 1,
        "status": "ok",
        "asked": name,
        "catalog": {key: dict(value) for key, value in origins.items()},
        "found": [
            {
                "kind": one.kind,
                "name": one.name,
                "facts": dict(one.facts),
                "sources": dict(one.sources),
                "read_in": abouts(one),
            }
            for one in found
        ],
    }


def entries_text(found: Sequence[Entry], dates: Mapping[str, str]) -> str:
    """All that was found for people; `dates` are those of the tables."""
    return "\n\n".join(_entry(one, dates[one.table]) for one in found)


def _entry(one: Entry, date: str) -> str:
    width = max(map(len, one.facts), default=0)
    lines = [f"{one.name} ({one.kind})"]
    for key, value in one.facts.items():
        source = one.sources.get(key) or one.sources.get(key.partition("_")[0])
        shown = [*_shown(value)]
        shown[-1] += f"  [{source}]" if source and len(source) <= _MARK else ""
        label = key.replace("_", " ")
        lines.append(f"  {label:<{width}}  {shown[0]}")
        lines += [f"  {'':<{width}}  {line}" for line in shown[1:]]
    return "\n".join([*lines, *_sources(one, date)])


def _shown(value: Any) -> list[str]:
    """A fact in lines: short lists in one, long ones in several, mappings key by key."""
    if isinstance(value, dict):
        return [f"{key}: {', '.join(_shown(one))}" for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        words = [", ".join(_shown(one)) for one in value]
        joined = ", ".join(words)
        return [joined] if len(joined) <= _WIDE and not any(", " in word for word in words) else words
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [str(value)]


def _sources(one: Entry, date: str) -> list[str]:
    known = abouts(one)
    lines = [f"  read in (this table is of {date}):"]
    for key, about in known.items():
        when = f", {about['date']}" if "date" in about else ""
        lines.append(f"    {key}: {about.get('what', '')}{when}{', not verified' if about.get('hearsay') else ''}")
    others = [source for source in dict.fromkeys(one.sources.values()) if not any(key in source for key in known)]
    return [*lines, *(f"    {source}" for source in others)] if known or others else []


def status_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which table comes from where."""
    cells = [[row["table"], row["date"] or "-", row["from"], row["used"], row["said"] or ""] for row in rows]
    return table(["table", "date", "from", "used", ""], cells)
