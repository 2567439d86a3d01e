"""The catalogue of checks. A decorated function is one check; `ok`, `info`, `warn`, `fail`, `skip` make its answers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from rocenv.model.check import Check, Finding

if TYPE_CHECKING:
    from rocenv.checks.facts import Facts

Answer = Finding | list[Finding]
Question = Callable[["Facts"], Answer]
# One module a layer, in the order in which their findings are told; root causes stand before their consequences.
MODULES: tuple[str, ...] = (
    "rocenv.checks.hardware.bus",
    "rocenv.checks.hardware.driver",
    "rocenv.checks.hardware.kfd",
    "rocenv.checks.hardware.system",
    "rocenv.checks.hardware.wsl",
    "rocenv.checks.access.groups",
    "rocenv.checks.access.opening",
    "rocenv.checks.engine.reach",
    "rocenv.checks.engine.gives",
    "rocenv.checks.engine.room",
    "rocenv.checks.image.there",
    "rocenv.checks.image.fits",
    "rocenv.checks.image.holds",
    "rocenv.checks.environment.variables",
    "rocenv.checks.environment.state",
    "rocenv.checks.environment.container",
)
# Those of texts, which are read only where a text is given.
TEXTS: tuple[str, ...] = (
    "rocenv.checks.files.compose",
    "rocenv.checks.files.argv",
    "rocenv.checks.files.dockerfile",
    "rocenv.checks.files.devices",
    "rocenv.checks.files.groups",
    "rocenv.checks.files.gpu_requests",
    "rocenv.checks.files.variables",
    "rocenv.checks.files.confinement",
    "rocenv.checks.files.dockerfile_run",
    "rocenv.checks.files.dockerfile_packages",
    "rocenv.checks.files.dockerfile_env",
)


class Entry(NamedTuple):
    """A check with the function that answers it."""

    check: Check
    ask: Question


_entries: dict[str, Entry] = {}


def check(
    *,
    id: str,  # noqa: A002 (the word that people read in the catalogue)
    layer: str,
    severity: str,
    title: str,
    reads: str,
    why: str,
    source: str,
    after: tuple[str, ...] = (),
) -> Callable[[Question], Question]:
    """Register a function as the check `id`; see rocenv.model.check.Check for the words."""

    def register(ask: Question) -> Question:
        if id in _entries:
            msg = f"two checks are called `{id}`"
            raise ValueError(msg)
        _entries[id] = Entry(Check(id, layer, severity, title, reads, why, source, after), ask)
        return ask

    return register


def catalogue(*, texts: bool = True) -> dict[str, Entry]:
    """Every check by its id, in the order of MODULES; those of texts are left out where they are not `texts`."""
    modules = (*MODULES, *TEXTS) if texts else MODULES
    for module in modules:
        import_module(module)
    order = {module: number for number, module in enumerate(modules)}  # not that of who imported what first
    found = sorted(_entries.items(), key=lambda item: order.get(item[1].ask.__module__, len(order)))
    return {name: entry for name, entry in found if texts or entry.check.layer != "files"}


def ok(evidence: str) -> Finding:
    """All is well, by this evidence."""
    return Finding("", "", "ok", evidence)


def info(evidence: str, cause: str | None = None) -> Finding:
    """Nothing is wrong, and it is good to know."""
    return Finding("", "", "info", evidence, cause)


def warn(evidence: str, cause: str, fix: str, *, needs: str | None = None, verify: str | None = None) -> Finding:
    """It works, or may work, and something is not as it should be."""
    return Finding("", "", "warn", evidence, cause, fix, needs, verify)


def fail(evidence: str, cause: str, fix: str, *, needs: str | None = None, verify: str | None = None) -> Finding:
    """It cannot work until this is mended."""
    return Finding("", "", "fail", evidence, cause, fix, needs, verify)


def skip(why: str) -> Finding:
    """It could not be told, or it does not matter here."""
    return Finding("", "", "skip", why)
