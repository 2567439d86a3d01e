"""`rocenv ps`: the environments that an engine holds, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rocenv.model.proof import Environment
from rocenv.report.text import table

_KEYS = {"index": int, "gfx": str, "bdf": str, "partition": int, "uuid": str, "render_node": str}
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Listed:
    """An environment with what is known besides its labels: its last proof, and where the host has drifted from it."""

    environment: Environment
    proof: Mapping[str, Any] | None = None
    drift: Sequence[str] = field(default=())


def gpus(there: Environment) -> list[dict[str, Any]]:
    """The GPUs in a container's label; a label that is not ours to read holds none, a value of another type is None."""
    try:
        found = json.loads(there.gpus)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, list):
        return []
    return [
        {key: entry[key] if type(entry.get(key)) is kind else None for key, kind in _KEYS.items()}
        for entry in found
        if isinstance(entry, dict)
    ]


def environment_json(there: Environment) -> dict[str, Any]:
    """One environment, as `up --json` and `ps --json` name it."""
    return {
        "name": there.name,
        "project": there.project,
        "profile": there.profile,
        "container": there.container,
        "id": there.id,
        "state": there.state,
        "gpus": gpus(there),
        "reference": there.reference,
        "digest": there.digest,
        "created": there.created,
        "owner": there.owner,
        "once": "rocenv.once" in there.labels,
        "lease": there.labels.get("rocenv.lease"),
    }


def environments_json(listed: Sequence[Listed]) -> dict[str, Any]:
    """The whole answer of `ps --json`."""
    found = [{**environment_json(one.environment), "proof": one.proof, "drift": list(one.drift)} for one in listed]
    return {"version": 1, "status": "ok", "environments": found}


def environments_text(listed: Sequence[Listed], now: datetime) -> str:
    """A row an environment; `now` is for the ages."""
    if not listed:
        return "no environments; `rocenv up PROFILE` makes one"
    rows = [_row(one, now) for one in listed]
    text = table(("NAME", "PROJECT", "STATE", "GPUS", "IMAGE", "AGE", "PROOF", "CONTAINER"), rows)
    odd = [f"{one.environment.container}: {line}" for one in listed for line in one.drift]
    return "\n".join([text, *(["", *odd] if odd else [])])


def _row(one: Listed, now: datetime) -> tuple[str, ...]:
    there = one.environment
    once = " (run)" if "rocenv.once" in there.labels else ""
    return (
        (there.name or "?") + once,
        there.project or "?",
        there.state,
        _gpu_words(gpus(there)),
        there.reference,
        age(there.created, now),
        str((one.proof or {}).get("result") or "-"),
        there.container,
    )


def _gpu_words(chosen: Sequence[Mapping[str, Any]]) -> str:
    """`0,1 gfx942`; `none` for a container without GPUs."""
    if not chosen:
        return "none"
    numbers = ",".join("?" if gpu["index"] is None else str(gpu["index"]) for gpu in chosen)
    return " ".join((numbers, *dict.fromkeys(str(gpu["gfx"] or "?") for gpu in chosen)))


def age(created: str | None, now: datetime) -> str:
    """How long ago, in the largest unit that counts: `40 s`, `5 min`, `3 h`, `12 d`."""
    try:
        seconds = int((now - datetime.fromisoformat(created or "")).total_seconds())
    except (ValueError, TypeError):
        return "-"
    for length, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{max(seconds, 0)} s"
