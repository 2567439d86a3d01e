"""Run checks over facts: missing facts skip a check, a failed cause silences what fails because of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from rocenv.checks.catalogue import Answer, Entry, catalogue, skip
from rocenv.checks.facts import Facts, MissingFactError
from rocenv.errors import UsageError
from rocenv.model.check import LAYER_CODES, LAYERS, Check, Finding

_WORST = ("fail", "warn")


def run(facts: Facts, *, only: Collection[str] = (), first: Sequence[str] = ()) -> list[Finding]:
    """The findings of every check, or of those in `only` and their causes; those of `first` lead.

    Raises UsageError for a check that there is not.
    """
    entries = catalogue(texts=bool(facts.documents or any(_of_text(name) for name in only)))
    wanted = _with_causes(entries, only) if only else entries.keys()
    told = _Told()
    for name in entries:
        if name in wanted:
            _answer(entries, name, facts, told)
    order = {name: place for place, name in enumerate(first)}
    names = sorted((name for name in entries if name in wanted), key=lambda name: order.get(name, len(order)))
    return [finding for name in names for finding in told.findings[name]]


def _of_text(name: str) -> bool:
    return name.startswith(("compose.", "dockerfile.", "argv."))


def verdict(findings: Iterable[Finding]) -> str:
    """The worst of all: fail, warn or ok."""
    given = {finding.verdict for finding in findings}
    return next((word for word in _WORST if word in given), "ok")


def exit_code(findings: Iterable[Finding]) -> int:
    """0, or the code of the first layer that fails."""
    failed = {finding.layer for finding in findings if finding.verdict == "fail"}
    return next((LAYER_CODES[layer] for layer in LAYERS if layer in failed), 0)


def one(name: str) -> Check:
    """The check of that id. Raises UsageError with the nearest one."""
    return _entry(catalogue(), name).check


def _entry(entries: Mapping[str, Entry], name: str) -> Entry:
    if name in entries:
        return entries[name]
    import difflib

    near = difflib.get_close_matches(name, entries, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "`rocenv doctor --list` shows them"
    raise UsageError(f"there is no check `{name}`", hint)


def _with_causes(entries: Mapping[str, Entry], names: Collection[str]) -> set[str]:
    """These checks, and all whose failure would explain theirs."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _entry(entries, name).check.after
    return found


def _answer(entries: Mapping[str, Entry], name: str, facts: Facts, told: _Told) -> None:
    """Ask one check, its causes before it, unless the failure of one of those explains what it would say."""
    if name in told.findings:
        return
    entry = entries[name]
    for cause in entry.check.after:
        _answer(entries, cause, facts, told)
    failed = told.cause(entry.check)
    if failed is not None:
        told.silenced[name] = failed
        answer: Answer = skip(f"because {failed} failed")
    else:
        try:
            answer = entry.ask(facts)
        except MissingFactError as missing:
            answer = skip(str(missing))
    found = answer if isinstance(answer, list) else [answer]
    told.findings[name] = [_signed(finding, entry.check) for finding in found]


class _Told:
    """What has been said so far, and which checks are silent because of which failure."""

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.silenced: dict[str, str] = {}

    def cause(self, check: Check) -> str | None:
        """The failed check that explains this one's failure, also through checks that it silenced."""
        for name in check.after:
            if any(finding.verdict == "fail" for finding in self.findings.get(name, ())):
                return name
            if name in self.silenced:
                return self.silenced[name]
        return None


def _signed(finding: Finding, check: Check) -> Finding:
    """A finding with whose it is, unless it says so itself."""
    return finding._replace(
        check=finding.check or check.id,
        layer=finding.layer or check.layer,
        source=finding.source or check.source,
    )
