"""What the doctor asks and finds: a Check is a question with a stable id, a Finding one answer with its evidence."""

from typing import NamedTuple

LAYERS = ("hardware", "access", "engine", "image", "environment", "files")
VERDICTS = ("ok", "info", "warn", "fail", "skip")
# The exit code of a failing layer; the first of these that failed is the doctor's.
LAYER_CODES = {"hardware": 3, "access": 3, "engine": 4, "image": 5, "environment": 2, "files": 2}


class Check(NamedTuple):
    """A question that the doctor can ask. `severity` is the worst verdict it can give.

    `after` names the checks whose failure explains a failure of this one: where one of them failed, this is silent.
    """

    id: str
    layer: str
    severity: str  # fail | warn | info
    title: str
    reads: str
    why: str
    source: str
    after: tuple[str, ...] = ()


class Finding(NamedTuple):
    """One answer: what was seen (`evidence`: which file or answer, its value), why, and the one thing that mends it.

    `needs` says what is needed once the fix is applied: `login`, `reboot`, `container` (a new one), `restart` (of the
    engine), or None. `verify` is a command that shows that it is mended.
    """

    check: str
    layer: str
    verdict: str
    evidence: str
    cause: str | None = None
    fix: str | None = None
    needs: str | None = None
    verify: str | None = None
    source: str | None = None
