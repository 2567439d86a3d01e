"""What the doctor found, as JSON and as text: failures first, each with its cause and the one thing that mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from rocenv.model.check import LAYERS, Check, Finding
from rocenv.report.text import one_line

_ORDER = ("fail", "warn", "info", "ok", "skip")
_NEEDS = {
    "login": "then log out and in again",
    "reboot": "then reboot",
    "container": "then make the container anew",
    "restart": "then restart the engine",
}
_FOLDED = ("ok", "skip")
Answer = dict[str, object]


def doctor_json(findings: Sequence[Finding], verdict: str) -> Answer:
    """The contract of `rocenv doctor --json`: findings in the order in which they were made, causes first."""
    return {"version": 1, "status": "ok", "verdict": verdict, "findings": [_finding(one) for one in findings]}


def _finding(one: Finding) -> Answer:
    return {
        "check": one.check,
        "layer": one.layer,
        "verdict": one.verdict,
        "evidence": one.evidence,
        "cause": one.cause,
        "fix": one.fix,
        "after": one.needs,
        "verify": one.verify,
        "source": one.source,
    }


def doctor_text(findings: Sequence[Finding], verdict: str, *, every: bool = False, asked: Collection[str] = ()) -> str:
    """The same for people: `every` shows the checks too that have nothing to say, `asked` those of them by name."""
    parts = [
        _block(one)
        for word in _ORDER
        for one in findings
        if one.verdict == word and (every or word not in _FOLDED or one.check in asked)
    ]
    return "\n\n".join([*parts, _closing(findings, verdict, every=every)])


def _block(one: Finding) -> str:
    """One finding: its verdict and id, the cause, what was seen, and what is to be done.

    Each stays on its own line: what was read may hold newlines, and must not pass for another finding.
    """
    one = one._replace(**{key: one_line(value) for key, value in _words(one).items()})
    head = f"{one.verdict.ljust(4)}  {one.check}"
    lines = [f"{head}: {one.cause}" if one.cause else f"{head}: {one.evidence}"]
    if one.cause:
        lines.append(f"      seen: {one.evidence}")
    if one.fix:
        lines.append(f"      fix: {one.fix}")
    if one.needs and _said(one) is not None:
        lines.append(f"      {_said(one)}")
    if one.verify and one.verdict in ("fail", "warn"):
        lines.append(f"      verify: {one.verify}")
    return "\n".join(lines)


def _words(one: Finding) -> dict[str, str]:
    told = {"evidence": one.evidence, "cause": one.cause, "fix": one.fix, "verify": one.verify}
    return {key: value for key, value in told.items() if value is not None}


def _said(one: Finding) -> str | None:
    """What is needed after the fix, unless the fix itself says so."""
    word = {"login": "log out", "reboot": "reboot", "restart": "restart", "container": "container"}[one.needs or ""]
    return None if word in (one.fix or "") else _NEEDS[one.needs or ""]


def _closing(findings: Sequence[Finding], verdict: str, *, every: bool) -> str:
    counts = Counter(one.verdict for one in findings)
    told = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word])
    summary = {"ok": "nothing is wrong", "warn": "it works, with warnings", "fail": "it cannot work yet"}[verdict]
    more = "" if every or not (counts["ok"] or counts["skip"]) else "; `--all` shows every check"
    return f"{summary}: {told}{more}"


def list_json(checks: Iterable[Check]) -> Answer:
    """The contract of `rocenv doctor --list --json`."""
    keys = ("id", "layer", "severity", "title", "reads", "why", "source")
    return {
        "version": 1,
        "status": "ok",
        "checks": [{key: getattr(check, key) for key in keys} for check in checks],
    }


def list_text(checks: Sequence[Check]) -> str:
    """The catalogue for people, a layer at a time."""
    width = max(len(check.id) for check in checks)
    parts = []
    for layer in LAYERS:
        rows = [
            f"  {check.id.ljust(width)}  {check.severity.ljust(4)}  {check.title}"
            for check in checks
            if check.layer == layer
        ]
        if rows:
            parts.append("\n".join([layer, *rows]))
    return "\n\n".join([*parts, "`rocenv doctor --about CHECK` tells what a check reads, and why it matters."])


def about_json(check: Check) -> Answer:
    """One check of the catalogue."""
    return {"version": 1, "status": "ok", "check": {**_about(check), "after": list(check.after)}}


def _about(check: Check) -> Answer:
    return {key: getattr(check, key) for key in ("id", "layer", "severity", "title", "reads", "why", "source")}


def about_text(check: Check) -> str:
    """One check for people."""
    lines = [
        f"{check.id}: {check.title}",
        "",
        f"layer     {check.layer}",
        f"worst     {check.severity}",
        f"reads     {check.reads}",
        f"why       {check.why}",
        f"source    {check.source}",
    ]
    return "\n".join(
        [*lines, *([f"silent    where one of these failed: {', '.join(check.after)}"] if check.after else [])]
    )


def list_markdown(checks: Sequence[Check]) -> str:
    """docs/checks.md: every check with what it reads and why it matters."""
    lines = [
        "# The checks of `rocenv doctor`",
        "",
        "Made from the catalogue by `python -m rocenv.checks.document`; a test holds the two together.",
        "A verdict is ok, info, warn, fail or skip; *worst* is the worst that a check can give. A check is skipped,",
        "with the reason, where what it reads is not to be had, and where the failure of another explains its own.",
    ]
    for layer in LAYERS:
        ours = [check for check in checks if check.layer == layer]
        if ours:
            lines += ["", f"## {layer.capitalize()}"]
        for check in ours:
            lines += [
                "",
                f"### `{check.id}`",
                "",
                f"{check.title.capitalize() if check.title[0] != '/' else check.title}. Worst: {check.severity}.",
                "",
            ]
            lines += [f"- reads: {check.reads}", f"- why: {check.why}", f"- source: {check.source}"]
            lines += [f"- silent after: {', '.join(f'`{name}`' for name in check.after)}"] if check.after else []
    return "\n".join(lines) + "\n"
