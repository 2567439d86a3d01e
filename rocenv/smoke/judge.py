"""The verdict: what a probe said, held against the GPUs that were planned. Pure.

A probe answers in lines of JSON, each for one GPU (`gpu` says which it was, as the probe saw it) or for the container:
`{"result", "cause", "gpu": {bdf, uuid, gfx, name, render_node}, "ran_on", "seconds", "figures"}`. A probe is not
believed about success: it passes a GPU only where that is a planned one, of the planned gfx target, and no CPU.
Every cause begins with its kind and a colon; report.proof knows which layer each kind speaks for.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rocenv.model.plan import GpuRef
from rocenv.model.proof import Probe, ProbeResult
from rocenv.smoke.answer import Answer, Answers, one_line, read_answers

SIGNALS = 128  # a shell gives 128 + N for a process that signal N ended
MISSING = {
    "python": "no Python: none is on PATH, in /opt/venv or in /opt/conda",
    "torch": "no torch: no Python of the image has it",
    "hipcc": "no compiler: hipcc is neither on PATH nor in /opt/rocm",
}
NO_SHELL = ("executable file not found", "executable file `sh` not found", '"sh": permission denied')  # runc, crun


@dataclass(frozen=True, slots=True)
class Said:
    """What one run of a probe left. `ended`: end, missing, limit (killed), flood (of output), cut (by the engine)."""

    ended: str
    status: int | None
    stdout: str
    stderr: str
    seconds: float
    missing: str | None = None
    overrides: tuple[str, ...] = ()  # values of HSA_OVERRIDE_GFX_VERSION in effect, as `10.3.0`


def judge(probe: Probe, said: Said, gpus: Sequence[GpuRef], *, stand_in: bool) -> list[ProbeResult]:
    """One result for each planned GPU that was spoken of or kept silent about, and one for what concerns them all."""
    answers = read_answers(said.stdout)
    fault = _fault(probe, said, answers)
    blank = ProbeResult(probe.name, probe.level, None, "error", None, said.seconds)
    pairs = match([answer for answer in answers.lines if answer.gpu is not None], gpus)
    results = [
        _of_gpu(blank, answer, ref, said, stand_in)
        for answer, ref in pairs
        if ref or not (stand_in and _on_cpu(answer))  # the sysfs of a stand-in shows all GPUs, not only the planned
    ]
    own = [_of_container(blank, answer, stand_in) for answer in answers.lines if answer.gpu is None]
    told = {ref.index for _, ref in pairs if ref is not None}
    silent = [ref for ref in gpus if ref.index not in told]
    if fault is not None:
        results += [fault._replace(gpu=ref.index) for ref in silent]
        own += [] if silent else [fault]
    elif not (probe.of_container or any(result.result in ("failed", "error", "skipped", "stand-in") for result in own)):
        results += [blank._replace(gpu=ref.index, result="failed", cause=_unseen(ref)) for ref in silent]
    results += _order(blank, [ref.index for _, ref in pairs if ref is not None], gpus)
    return own + sorted(results, key=lambda result: -1 if result.gpu is None else result.gpu)


def match(answers: Sequence[Answer], gpus: Sequence[GpuRef]) -> list[tuple[Answer, GpuRef | None]]:
    """Pair each GPU that was seen with the planned one it is, each planned one once; None for one too many."""
    free = list(gpus)
    pairs: list[tuple[Answer, GpuRef | None]] = []
    for answer in answers:
        ref = next(iter(_candidates(answer, free)), None)
        if ref is not None:
            free.remove(ref)
        pairs.append((answer, ref))
    return pairs


def _candidates(answer: Answer, free: Iterable[GpuRef]) -> list[GpuRef]:
    """The planned GPUs that this may be, the likeliest first.

    By render node, else by PCI address without its function (partitions share it, and old kernels number them there),
    the same UUID first; by gfx target alone where the probe could not tell more.
    """
    free = list(free)
    if answer.render_node is not None:
        return [ref for ref in free if ref.render_node == answer.render_node]
    if answer.bdf is not None:
        here = [ref for ref in free if _slot(ref.bdf) == _slot(answer.bdf)]
        return sorted(here, key=lambda ref: answer.uuid is None or ref.uuid != answer.uuid)
    if answer.uuid is not None:
        return [ref for ref in free if ref.uuid == answer.uuid]
    return [ref for ref in free if ref.gfx == _base(answer.gfx)]


def _slot(bdf: str) -> str:
    return bdf.lower().rpartition(".")[0]


def _base(gfx: str | None) -> str | None:
    return None if gfx is None else gfx.partition(":")[0]


def _on_cpu(answer: Answer) -> bool:
    return answer.ran_on == "CPU"


def _of_gpu(blank: ProbeResult, answer: Answer, ref: GpuRef | None, said: Said, stand_in: bool) -> ProbeResult:
    """The result of one answer for one GPU."""
    result = _of_container(blank, answer, stand_in)._replace(gpu=None if ref is None else ref.index)
    seen = " ".join(filter(None, (answer.name, answer.gfx, answer.bdf))) or answer.uuid or "a GPU"
    if result.ran_on is None:
        result = result._replace(ran_on=seen)
    if ref is None:
        return result._replace(result="failed", cause=f"extra GPU: {seen} is seen and was not planned")
    if answer.uuid and ref.uuid and answer.uuid != ref.uuid:
        cause = f"other GPU: {ref.uuid} was planned at {ref.identity} and {answer.uuid} is seen"
        return result._replace(result="failed", cause=cause)
    gfx = _base(answer.gfx)
    if gfx is None or ref.gfx is None or gfx == ref.gfx:
        return result
    if gfx in {_gfx_of(version) for version in said.overrides}:
        return result._replace(figures={**result.figures, "override": f"{ref.gfx} is run as {gfx}"})
    return result._replace(result="failed", cause=f"wrong gfx: {ref.gfx} was planned and {gfx} is seen")


def _gfx_of(version: str) -> str | None:
    """`9.0.10` as the gfx target it stands for, gfx90a: the first number is decimal, the others hexadecimal digits."""
    parts = version.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):  # noqa: PLR2004
        return None
    return f"gfx{int(parts[0])}{int(parts[1]):x}{int(parts[2]):x}"


def _of_container(blank: ProbeResult, answer: Answer, stand_in: bool) -> ProbeResult:
    """The result of an answer as it stands; from a CPU it is a stand-in where that was agreed on, else a fault."""
    cause = answer.cause if answer.result != "passed" else None
    if answer.result != "passed" and cause is None:
        cause = "no cause given: the probe did not say why"
    result = blank._replace(
        result=answer.result,
        cause=cause,
        seconds=blank.seconds if answer.seconds is None else answer.seconds,
        figures=answer.figures,
        ran_on=answer.ran_on,
    )
    if not _on_cpu(answer):
        return result
    if stand_in:
        return result._replace(ran_on="CPU (stand-in)", result="stand-in" if cause is None else answer.result)
    return result._replace(result="failed", cause="ran on the CPU: no GPU did the work")


def _unseen(ref: GpuRef) -> str:
    return f"missing GPU: {ref.name} {ref.gfx or ''} at {ref.identity} was planned and is not seen"


def _order(blank: ProbeResult, seen: list[int], gpus: Sequence[GpuRef]) -> list[ProbeResult]:
    """A fault where the container counts the planned GPUs in another order than planned (as asked for, or KFD's)."""
    wished = [ref.index for ref in gpus if ref.index in seen]
    if seen in (wished, sorted(wished)):
        return []
    cause = f"other order: planned as {', '.join(map(str, wished))}, counted as {', '.join(map(str, seen))}"
    return [blank._replace(result="failed", cause=cause)]


def _fault(probe: Probe, said: Said, answers: Answers) -> ProbeResult | None:
    """What is wrong with the run itself, whatever it said; None for nothing."""
    last = one_line((said.stderr.strip().splitlines() or [""])[-1])
    result, cause = "error", ""
    if said.ended == "missing":
        result = "error" if probe.quick else "skipped"
        cause = MISSING.get(said.missing or "", f"not in the image: {said.missing}")
    elif said.ended == "limit":
        result, cause = "failed", f"hung: no end within {probe.seconds:g} s"
    elif said.ended == "flood":
        cause = "too much output: it was cut off"
    elif said.ended == "cut":
        told = one_line(f"{said.stderr} {said.stdout}")  # docker says some of it on stdout
        shell = any(words in told.lower() for words in NO_SHELL)
        cause = f"no shell: the image has no `sh` ({told})" if shell else f"engine gave up: {told or 'without a word'}"
    elif said.status is not None and said.status > SIGNALS:
        result, cause = "failed", f"killed: {_signal(said.status - SIGNALS)} ended the probe"
    elif answers.broken is not None:
        cause = f"malformed answer: `{answers.broken}`"
    elif not answers.lines:
        cause = f"no answer: it ended with status {said.status}" + (f" and `{last}`" if last else "")
    elif said.status and all(answer.result == "passed" for answer in answers.lines):
        cause = f"crashed: it ended with status {said.status} after it had passed" + (f", `{last}`" if last else "")
    if not cause:
        return None
    return ProbeResult(probe.name, probe.level, None, result, cause, said.seconds)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
