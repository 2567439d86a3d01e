"""Whether what is in an image runs on a gfx target: natively, by a generic target, by an override, or not."""

from __future__ import annotations

from collections.abc import Iterable

from rocenv.catalog import gpus
from rocenv.model.audit import Audit, Library, Verdict
from rocenv.rules import override

SPIRV = "amdgcnspirv"  # code for any target, compiled for it when it is loaded


def verdicts(audit: Audit, gfx: str) -> tuple[Verdict, ...]:
    """What each library of an image has for a target."""
    return tuple(judged(library, gfx) for library in audit.libraries)


def judged(library: Library, gfx: str) -> Verdict:
    """What one library has for a target."""
    exact = [target for target in library.targets if _name(target) == gfx or _matches(target, gfx)]
    if exact:
        free = [target for target in exact if ":" not in target]
        # Without a word of the code's, HIP takes objects that leave a feature open, or demand what the GPU is set to.
        only = None if free or {"xnack-", "xnack+"} <= _features(exact) else "; ".join(sorted(exact))
        note = f"for {only} alone: XNACK must be set so (HSA_XNACK)" if only and "xnack" in only else None
        return Verdict(library, "native", exact[0] if _name(exact[0]) != gfx else None, note)
    held = {_name(target) for target in library.targets}
    generic = gpus.generic_target(gfx)
    if generic in held or SPIRV in held:
        return Verdict(library, "generic", generic if generic in held else SPIRV)
    way = override.known(gfx)
    if way is not None and (way.gfx in held or any(_matches(target, way.gfx) for target in held)):
        return Verdict(library, "override", f"{override.NAME}={way.value}", f"works {way.works}: {way.why}")
    return Verdict(library, "none")


def _name(target: str) -> str:
    return target.partition(":")[0]


def _features(targets: Iterable[str]) -> set[str]:
    return {feature for target in targets for feature in target.split(":")[1:]}


def _matches(target: str, gfx: str) -> bool:
    """AOTriton names families: gfx11xx is gfx1100 to gfx1199."""
    stem = target.rstrip("x")
    return target.endswith("x") and gfx.startswith(stem) and len(gfx) == len(target)


def carried(audit: Audit) -> tuple[str, ...]:
    """The targets that an image is for, features left out: its torch's, else rocBLAS's data, else all code's.

    What a framework was not built for does not run in it, however much ROCm's own libraries carry.
    """
    choices = (
        [one for one in audit.libraries if one.name.startswith("torch/") or (one.name, one.kind) == ("torch", "kpack")],
        [one for one in audit.libraries if (one.name, one.kind) == ("rocblas", "tensile")],
        [one for one in audit.libraries if one.kind != "database"],
    )
    chosen = next((libraries for libraries in choices if libraries), [])
    return tuple(dict.fromkeys(_name(target) for library in chosen for target in library.targets))
