"""A lock made, renewed or checked, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocenv.model.lock import FILE, Checked, Difference, Lock
from rocenv.report.text import table

BAD = "fail"


def lock_json(lock: Lock, differences: Sequence[Difference], *, written: bool) -> dict[str, Any]:
    """What `rocenv lock` answers: every locked image, and what is told otherwise than before."""
    profiles = [
        {
            "profile": name,
            "reference": one.image.reference,
            "digest": one.image.digest,
            "platforms": {key: value._asdict() for key, value in one.image.platforms.items()},
            "places": list(one.image.places),
            "catalog": one.catalog,
            "built": one.build.reference if one.build else None,
            "proof": _proof(one.proof._asdict()) if one.proof else None,
        }
        for name, one in sorted(lock.profiles.items())
    ]
    changes = [one._asdict() for one in differences]
    return {"version": 1, "status": "ok", "file": FILE, "written": written, "profiles": profiles, "changes": changes}


def _proof(proof: Mapping[str, Any]) -> dict[str, Any]:
    return {**proof, "gpus": dict(proof["gpus"])}


def lock_text(differences: Sequence[Difference], *, written: bool) -> str:
    """The difference, profile by profile: `- old` and `+ new` of each fact."""
    if not differences:
        return f"{FILE} is as it was" if not written else f"wrote {FILE}"
    lines: list[str] = []
    for name in dict.fromkeys(one.profile for one in differences):
        lines.append(name)
        for one in (one for one in differences if one.profile == name):
            if one.old is None or one.new is None:
                lines.append(f"  {'+' if one.old is None else '-'} {one.fact}: {one.new or one.old}")
            else:
                lines.append(f"  {one.fact}: {one.old} → {one.new}")
    return "\n".join(lines)


def check_json(checked: Sequence[Checked]) -> dict[str, Any]:
    """What `rocenv lock --check` answers; `status` is `drifted` where anything has failed."""
    failed = any(one.verdict == BAD for one in checked)
    rows = [one._asdict() for one in checked]
    return {"version": 1, "status": "drifted" if failed else "ok", "file": FILE, "checks": rows}


def check_text(checked: Sequence[Checked]) -> str:
    """A row for each thing that was looked at, then what mends those that are not well."""
    if not checked:
        return f"{FILE} locks nothing"
    rows = [[one.profile, one.what, one.verdict, one.why] for one in checked]
    mends = dict.fromkeys(f"{one.profile}: {one.hint}" for one in checked if one.hint and one.verdict in (BAD, "warn"))
    return "\n".join([table(["profile", "what", "verdict", "why"], rows), *(["", *mends] if mends else [])])
