"""The proof, told: as JSON, as a table with a closing line, and whom it blames. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rocenv.model.plan import GpuRef
from rocenv.model.proof import LEVELS, ProbeResult
from rocenv.report.text import table

BAD = ("failed", "error")
# Kind of cause (what stands before its colon) → the layer it speaks for. One value holds for every level; a mapping
# gives one by level. What is not here, or not at that level, blames nobody: the evidence does not tell.
_BUILT = {"kernel": "image", "compile": "image", "libraries": "image", "framework": "framework"}
_ABOVE = {"runtime": "engine", **_BUILT}
BLAME: dict[str, str | dict[str, str]] = {
    "no permission": "engine",
    "device not allowed": "engine",
    "node missing": "engine",
    "denied by the host": "host",
    "driver does not answer": "host",
    "the ROCm runtime does not start": "host",
    "no ROCm runtime": "image",
    "no HIP runtime": "image",
    "no compiler": "image",
    "compiler failed": "image",
    "no Python": "image",
    "no torch": "image",
    "no shell": "image",
    "no GPU seen": _ABOVE,
    "missing GPU": _ABOVE,
    "extra GPU": "engine",
    "other GPU": "engine",
    "other order": "engine",
    "no code for this GPU": _BUILT,
    "ran on the CPU": _BUILT,
    "wrong numbers": {**_BUILT, "kernel": "GPU"},  # above the kernel level: theirs, as the GPU has counted right
    "wrong error": "image",
    "wrong code objects": "image",
    "hipify failed": "image",
    "CMake failed": "image",
    "tool does not start": "image",
    "rocBLAS error": "image",
    "rocFFT error": "image",
    "rocRAND error": "image",
    "RCCL error": "image",
    "wrong Triton": "framework",
    "shared memory too small": "engine",
    "hung": {"access": "host", "runtime": "host", **_BUILT, "kernel": "GPU"},
    "killed": {"framework": "framework"},
    "out of memory": "host",
    "CPU build of torch": "framework",
    "CUDA build of torch": "framework",
    "torch does not import": "framework",
    "torch fails": "framework",
    "engine gave up": "engine",
}
# What a stand-in shows of a level, and a GPU alone can show.
SHOWN = {
    "access": "the nodes open",
    "runtime": "the targets in sysfs are the planned ones",
    "kernel": "the kernels compile, and their logic holds on the CPU",
    "compile": "the compilers' results hold code for the planned targets",
    "libraries": "the libraries load",
    "framework": "the framework's checks hold on the CPU",
}


def proof_json(environment: str, level: str, results: Sequence[ProbeResult]) -> dict[str, object]:
    """The answer of `rocenv test --json`, without its version: the command adds nothing to it."""
    return {
        "version": 1,
        "status": "failed" if any(result.result in BAD for result in results) else "ok",
        "environment": environment,
        "level": level,
        "probes": [result._asdict() | {"figures": dict(result.figures)} for result in results],
        "blame": blame(results),
    }


def proof_text(results: Sequence[ProbeResult], gpus: Sequence[GpuRef]) -> str:
    """A table of the results, the causes below it, and what all of it has shown."""
    rows = [_row(result) for result in results if not _beside(result, results)]
    lines = [table(("PROBE", "LEVEL", "GPU", "RESULT", "SECONDS", "RAN ON"), rows)] if rows else []
    causes = [_cause(result) for result in results if result.cause is not None]
    return "\n\n".join(filter(None, ["\n".join(lines), "\n".join(causes), closing(results, gpus)]))


def blame(results: Sequence[ProbeResult]) -> str | None:
    """Which layer the lowest failure speaks for: host, engine, image, GPU or framework; None where it does not tell."""
    bad = [result for result in results if result.result in BAD]
    if not bad:
        return None
    lowest = min(bad, key=lambda result: LEVELS.index(result.level)).level
    layers = [_layer(result) for result in bad if result.level == lowest]
    return next(filter(None, layers), None)


def closing(results: Sequence[ProbeResult], gpus: Sequence[GpuRef]) -> str:
    """One line: what was shown, and what was not."""
    bad = [result for result in results if result.result in BAD]
    skips = sum(result.result == "skipped" for result in results)
    skipped = f"; skipped: {skips}" if skips else ""
    if bad:
        layer = blame(results)
        lowest = min(bad, key=lambda result: LEVELS.index(result.level)).level
        who = f"the evidence points at the {layer}" if layer else "the evidence does not say which layer is at fault"
        return f"not proven: the {lowest} level failed; {who}{skipped}"
    if any(result.result == "stand-in" for result in results):
        return _stand_in(results) + skipped
    shown = [level for level in LEVELS if _passed(results, level)]
    if not shown:
        return f"nothing proven{skipped}"
    proven = sum(all(gpu.index in _passed(results, level) for level in shown) for gpu in gpus)
    what = "GPU" if len(gpus) == 1 else "GPUs"
    return f"{proven} of {len(gpus)} {what} proven: {', '.join(shown)}{_overrides(results)}{skipped}"


def _stand_in(results: Sequence[ProbeResult]) -> str:
    """The closing line where the CPU stood in: each level by what it did show, and those that need a GPU by name."""
    levels = [level for level in LEVELS if any(result.level == level for result in results)]
    done = [SHOWN[level] for level in levels if any(r.level == level and r.result != "skipped" for r in results)]
    open_ = [level for level in levels if not _passed(results, level)]
    return f"stand-in: no AMD GPU ran anything; shown: {'; '.join(done)}; not shown on a GPU: {', '.join(open_)}"


def _passed(results: Sequence[ProbeResult], level: str) -> set[int]:
    """The GPUs that passed at a level."""
    return {r.gpu for r in results if r.level == level and r.result == "passed" and r.gpu is not None}


def _overrides(results: Sequence[ProbeResult]) -> str:
    """What HSA_OVERRIDE_GFX_VERSION made of the planned targets, where it is in effect."""
    found = sorted({str(result.figures["override"]) for result in results if "override" in result.figures})
    return f" (HSA_OVERRIDE_GFX_VERSION is in effect: {', '.join(found)})" if found else ""


def _beside(result: ProbeResult, results: Sequence[ProbeResult]) -> bool:
    """Whether a row says nothing that the rows of the same probe's GPUs do not say."""
    spoken = any(other.name == result.name and other.gpu is not None for other in results)
    return result.gpu is None and result.result == "passed" and spoken


def _row(result: ProbeResult) -> tuple[str, ...]:
    gpu = "-" if result.gpu is None else str(result.gpu)
    return (result.name, result.level, gpu, result.result, f"{result.seconds:.1f}", result.ran_on or "-")


def _cause(result: ProbeResult) -> str:
    where = "" if result.gpu is None else f", GPU {result.gpu}"
    return f"{result.name}{where}: {result.cause}"


def _layer(result: ProbeResult) -> str | None:
    found = BLAME.get((result.cause or "").partition(":")[0])
    return found.get(result.level) if isinstance(found, dict) else found
