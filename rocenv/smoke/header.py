"""Probes and their headers: one file in smoke/probes/ is one smoke test, and says at its top what it is.

    # /// probe
    # summary: opens every device node read-write
    # level: access
    # needs: python
    # timeout: 10
    # ///

Each line carries the comment mark of the file's language: `#` in .py and .sh, `//` in .hip. `needs` (a list with
commas, may be left out) names what the image must hold. `fallback-for` names the probe that this one takes the place
of where that one's needs are missing; `source` a file beside it whose text it is given. `quick: yes` marks the few that
`up` runs, which an image must hold all needs of; the others are skipped where it does not. `subject: container` marks
one that names no GPU.
"""

from __future__ import annotations

import math
from pathlib import Path

from rocenv.errors import UsageError
from rocenv.model.proof import LEVELS, Probe

FOLDER = Path(__file__).resolve().parent / "probes"
MARKS = {".sh": "#", ".py": "#", ".hip": "//"}
NEEDS = ("python", "torch", "hipcc")  # what smoke/supervise.sh can find in an image; a POSIX shell is taken for granted
KEYS = ("summary", "level", "needs", "timeout", "fallback-for", "source", "quick", "subject")
VALUES = {"quick": ("yes",), "subject": ("container",)}  # where only these make sense
SHARED = frozenset({"prelude.py", "torch_prelude.py"})  # no probes: what the Python probes have in common
LONGEST = 3600.0


def list_probes(folder: Path = FOLDER) -> tuple[Probe, ...]:
    """All probes of `folder`: by level, quick ones first, fallbacks last. Raises UsageError for a wrong header."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix in MARKS and path.name not in SHARED]
    probes = [read_probe(path) for path in files]
    names = {probe.name for probe in probes}
    for probe in probes:
        if probe.fallback_for is not None and probe.fallback_for not in names:
            hint = nearest(probe.fallback_for, tuple(names))
            raise _fault(probe.name, f"is a fallback for `{probe.fallback_for}`, which is no probe", hint)
    return tuple(sorted(probes, key=_place))


def _place(probe: Probe) -> tuple[int, bool, bool, str]:
    return LEVELS.index(probe.level), not probe.quick, probe.fallback_for is not None, probe.name


def read_probe(path: Path) -> Probe:
    """The probe in one file, named after it."""
    return parse(path.read_text(encoding="utf-8", errors="replace"), path)


def parse(text: str, path: Path) -> Probe:
    """The probe that `text`, the contents of `path`, says it is."""
    fields = _fields(text, MARKS[path.suffix], path.name)
    missing = [key for key in ("summary", "level", "timeout") if not fields.get(key)]
    if missing:
        raise _fault(path.name, f"has no `{missing[0]}` in its header", f"add `{missing[0]}: …` to the header")
    level = fields["level"]
    if level not in LEVELS:
        raise _fault(path.name, f"names the level `{level}`", nearest(level, LEVELS))
    needs = tuple(need.strip() for need in fields.get("needs", "").split(",") if need.strip())
    for need in needs:
        if need not in NEEDS:
            raise _fault(path.name, f"needs `{need}`, which cannot be looked for", nearest(need, NEEDS))
    for key, values in VALUES.items():
        if fields.get(key, values[0]) not in values:
            raise _fault(path.name, f"has `{key}: {fields[key]}`", f"give `{key}: {values[0]}`, or leave it out")
    return Probe(
        name=path.stem,
        summary=fields["summary"],
        level=level,
        needs=needs,
        seconds=_seconds(fields["timeout"], path.name),
        path=str(path),
        fallback_for=fields.get("fallback-for"),
        source=fields.get("source"),
        quick="quick" in fields,
        of_container="subject" in fields,
    )


def _fields(text: str, mark: str, name: str) -> dict[str, str]:
    """The keys between the two marks."""
    lines = [line.rstrip() for line in text.splitlines()]
    start, end = f"{mark} /// probe", f"{mark} ///"
    if start not in lines or end not in lines[lines.index(start) :]:
        raise _fault(name, f"has no header between `{start}` and `{end}`", "copy the header of another probe")
    first = lines.index(start) + 1
    fields: dict[str, str] = {}
    for line in lines[first : lines.index(end, first)]:
        key, colon, value = line.removeprefix(mark).partition(":")
        key = key.strip()
        if not line.startswith(mark) or not colon or key not in KEYS:
            raise _fault(name, f"has a header line that is no key with a value: `{line}`", nearest(key, KEYS))
        if key in fields:
            raise _fault(name, f"has `{key}` twice in its header", f"remove one `{key}`")
        fields[key] = value.strip()
    return fields


def _seconds(text: str, name: str) -> float:
    """The time limit: a number of seconds above 0, an hour at most."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= LONGEST:
        raise _fault(name, f"has the time limit `{text}`", f"give a number of seconds, at most {LONGEST:g}")
    return seconds


def _fault(name: str, what: str, hint: str) -> UsageError:
    return UsageError(f"the probe `{name}` {what}", hint)


def nearest(word: str, known: tuple[str, ...]) -> str:
    """A hint with the nearest of the known words, or with all of them."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"known are: {', '.join(known)}"
