"""Proof: small programs run inside a container that show, layer by layer, that its GPUs work.

A level holds those before it: access < runtime < kernel < compile < libraries < framework. Where access, runtime or
kernel fails, the proof ends, for what stands on it can only fail too, with a cause that misleads; the three above do
not stand on one another. Of each level a few probes are quick: those that `up` runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rocenv.errors import UsageError
from rocenv.model.plan import GpuRef
from rocenv.model.proof import GROUND, LEVELS, Probe, ProbeResult
from rocenv.smoke.header import list_probes, nearest
from rocenv.smoke.judge import judge
from rocenv.smoke.planned import planned_gpus, stand_in_agreed
from rocenv.smoke.runner import run_probe

if TYPE_CHECKING:
    from rocenv.smoke.judge import Said
    from rocenv.smoke.runner import Executor

__all__ = ["choose", "list_probes", "planned_gpus", "run_probes", "stand_in_agreed"]


def run_probes(
    engine: Executor,
    container: str,
    plan_gpus: Sequence[GpuRef],
    *,
    level: str,
    probes: Sequence[str] = (),
    quick: bool = False,
    stand_in: bool,
    tell: Callable[[ProbeResult], None],
) -> list[ProbeResult]:
    """Run the probes up to `level`, or those named, in a running container; `tell` hears each result as it comes.

    `quick`: of the level's probes only the few that `up` runs.

    `stand_in` says that there is no GPU and that this was agreed on: a probe may then run on the CPU, and its result
    is `stand-in` at best. Raises UsageError for a level or a name that is none.
    """

    def run(probe: Probe) -> Said:
        return run_probe(engine, container, probe, plan_gpus, stand_in=stand_in)

    known = list_probes()
    results: list[ProbeResult] = []
    failed: str | None = None
    for probe in choose(known, level, probes, quick=quick):
        if any(result.name == probe.name for result in results):
            continue  # it has stepped in for another
        if not plan_gpus:
            found = [_skipped(probe, "no GPU: none is planned for this environment")]
        elif failed is not None and LEVELS.index(failed) < LEVELS.index(probe.level):
            found = [_skipped(probe, f"stopped: the {failed} level failed")]
        else:
            ran, said = _run(run, probe, known)
            found = judge(ran, said, plan_gpus, stand_in=stand_in)
        if failed is None and probe.level in GROUND and any(result.result in ("failed", "error") for result in found):
            failed = probe.level
        for result in found:
            tell(result)
        results += found
    return results


def choose(known: Sequence[Probe], level: str, names: Sequence[str] = (), *, quick: bool = False) -> list[Probe]:
    """The probes up to a level, or exactly those named; `quick`: the few, without fallbacks, which step in."""
    if level not in LEVELS:
        raise UsageError(f"there is no level `{level}`", nearest(level, LEVELS))
    every = tuple(probe.name for probe in known)
    for name in names:
        if name not in every:
            raise UsageError(f"there is no probe `{name}`", nearest(name, every))
    if names:
        return [probe for probe in known if probe.name in names]
    top = LEVELS.index(level)
    upto = [probe for probe in known if LEVELS.index(probe.level) <= top]
    return [probe for probe in upto if probe.quick and probe.fallback_for is None] if quick else upto


def _run(run: Callable[[Probe], Said], probe: Probe, known: Sequence[Probe]) -> tuple[Probe, Said]:
    """Run a probe, or its fallback where the image lacks what the probe needs; which one it was, and what it left."""
    said = run(probe)
    fallback = next((other for other in known if other.fallback_for == probe.name), None)
    if said.ended == "missing" and fallback is not None:
        return fallback, run(fallback)
    return probe, said


def _skipped(probe: Probe, cause: str) -> ProbeResult:
    return ProbeResult(probe.name, probe.level, None, "skipped", cause, 0.0)
