"""The choice of an image for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocenv.errors import ImageError
from rocenv.model.choice import OVERRIDE, Alternative, Candidate, Explained
from rocenv.model.plan import Refusal
from rocenv.report.plan import gpu_json
from rocenv.report.text import table

_SHOWN = 8  # candidates that are shown one by one


def explain_json(told: Explained) -> dict[str, Any]:
    """The choice as plain data, version 1. Where nothing fits `status` is `error`, with what `up` would say."""
    fault = told.error
    answer: dict[str, Any] = {
        "version": 1,
        "status": "ok" if fault is None else "error",
        "profile": told.profile,
        "gpus": [gpu_json(gpu) for gpu in told.gpus],
        "driver": told.driver,
        "chosen": told.chosen
        and {
            "reference": told.chosen.reference,
            "why": list(told.chosen.why),
            "env": dict(told.chosen.env),
            "opt_in": list(told.chosen.opt_in),
        },
        "candidates": [_candidate_json(one) for one in told.candidates],
        "refused": [{"reference": one.reference, "why": one.why} for one in told.refused],
        "alternatives": [_alternative_json(one, told.profile) for one in told.alternatives],
        "warnings": list(told.warnings),
    }
    if fault is not None:
        error = ImageError(fault.message, fault.hint)
        answer["error"] = {"kind": error.kind, "code": error.code, "message": error.message, "hint": error.hint}
    return answer


def explain_text(told: Explained, *, everything: bool = False) -> str:
    """The choice for people; with `everything` each image by itself, else the first and what the others share."""
    parts = [_heading(told), _chosen(told)]
    if told.candidates[1:]:
        parts.append(_others(told.candidates[1:], None if everything else _SHOWN))
    if told.refused:
        parts.append(_refused_each(told.refused) if everything else _refused_by_reason(told.refused))
    left = [one for one in told.alternatives if one.kind != OVERRIDE or not (told.chosen and told.chosen.opt_in)]
    if left:
        parts.append(_alternatives(left, told.profile))
    if told.warnings:
        parts.append("\n".join(f"warning: {one}" for one in told.warnings))
    return "\n\n".join(parts)


def command(profile: str, flags: str) -> str:
    """The command that takes an alternative."""
    return f"rocenv up {profile} {flags}"


def _candidate_json(one: Candidate) -> dict[str, Any]:
    return {
        "reference": one.reference,
        "score": one.score,
        "for": list(one.speaks_for),
        "against": list(one.against),
    }


def _alternative_json(one: Alternative, profile: str) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "gpus": one.gpus,
        "reference": one.reference,
        "why": one.why,
        "env": dict(one.env),
        "command": command(profile, one.flags),
    }


def _heading(told: Explained) -> str:
    kinds: dict[tuple[str, str | None], int] = {}
    for gpu in told.gpus:
        kinds[gpu.name, gpu.gfx] = kinds.get((gpu.name, gpu.gfx), 0) + 1
    gpus = ", ".join(f"{count} × {name} ({gfx or 'target unknown'})" for (name, gfx), count in kinds.items())
    return f"{told.profile} on {gpus or ('what Windows passes on' if told.driver else 'no GPU')}" + (
        f", {told.driver}" if told.driver else ""
    )


def _chosen(told: Explained) -> str:
    chosen = told.chosen
    if chosen is None:
        return "nothing fits"
    when = "chosen once you ask for it" if chosen.opt_in else "chosen"
    lines = [f"{when}: {chosen.reference}", *(f"  {why}" for why in chosen.why)]
    if chosen.opt_in:
        flags = " ".join(f"-e {name}={chosen.env[name]}" for name in chosen.opt_in)
        lines.append(f"  at your own risk: `{command(told.profile, flags)}`")
    return "\n".join(lines)


def _others(candidates: Sequence[Candidate], most: int | None) -> str:
    shown = candidates if most is None else candidates[:most]
    rows = [[str(one.score), one.reference, one.against[-1] if one.against else ""] for one in shown]
    text = table(["points", "fits too", "comes after, because"], rows)
    rest = len(candidates) - len(shown)
    return text + (f"\nand {rest} more (`--all` shows each)" if rest else "")


def _refused_each(refused: Sequence[Refusal]) -> str:
    return "\n".join(["refused:", *(f"  {one.reference}: {one.why}" for one in refused)])


def _refused_by_reason(refused: Sequence[Refusal]) -> str:
    """Each reason once, with how many images it refuses and the first of them."""
    reasons: dict[str, list[str]] = {}
    for one in refused:
        reasons.setdefault(one.why.partition(", not with ")[0], []).append(one.reference)
    lines = ["refused:"]
    for why, references in reasons.items():
        more = f" and {len(references) - 1} more" if len(references) > 1 else ""
        lines.append(f"  {references[0]}{more}: {why}")
    return "\n".join(lines)


def _alternatives(found: Sequence[Alternative], profile: str) -> str:
    lines = ["what is left, where you ask for it:"]
    for one in found:
        lines += [f"  {one.reference}: {one.why}", f"    {command(profile, one.flags)}"]
    return "\n".join(lines)
