"""AMD's Python wheels, whose device code comes by target: where those of a release lie, and how they are called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from rocenv.catalog import gpus
from rocenv.catalog.table import load, verified
from rocenv.catalog.versions import Constraint, Version
from rocenv.errors import UsageError

TEMPLATE = "wheels"  # the template that installs them
ROCM, TORCH = "rocm", "torch"
_BESIDE_TORCH = {"torchvision": True, "torchaudio": False}  # whether there is device code of its own in it


class Wheels(NamedTuple):
    """Wheels of one release: what pip is asked for, and where."""

    rocm: Version
    address: str  # of pip's index
    names: tuple[str, ...]
    verified: bool  # all of it stands in a source that was read


@cache
def available() -> tuple[Version, ...]:
    """The releases of which there are wheels, oldest first."""
    return tuple(sorted(Version.parse(row["rocm"]) for row in load("distributions")["wheels"]["releases"]))


def wheels(rocm: Version, wanted: Sequence[str], gfx: Sequence[str]) -> Wheels:
    """The wheels of a release for targets. `wanted`: ROCM, TORCH or both.

    Raises UsageError for a release or a target that there are none for.
    """
    table = load("distributions")["wheels"]
    row = next((one for one in table["releases"] if Version.parse(one["rocm"]) == rocm), None)
    place = next((one for one in table["indexes"] if Constraint.parse(one["rocm"]).allows(rocm)), None)
    if row is None or place is None:
        there = ", ".join(map(str, available()))
        raise UsageError(f"AMD publishes no wheels of ROCm `{rocm}` by target", f"`image: {{rocm: …}}` with: {there}")
    missing = [one for one in gfx if (target := gpus.target(one)) is None or target.therock == "none"]
    if missing:
        raise UsageError(
            f"AMD publishes no wheels for {', '.join(missing)}", "name a target that has some: `--gfx gfx942`"
        )
    return Wheels(
        rocm, place["at"], _names(row, wanted, gfx), verified("distributions", f"{place['source']}, {row['source']}")
    )


def _names(row: dict[str, Any], wanted: Sequence[str], gfx: Sequence[str]) -> tuple[str, ...]:
    device = ",".join(f"device-{one}" for one in gfx)
    found = [f"rocm[libraries,{device}]=={row['rocm']}"] if ROCM in wanted else []
    if TORCH in wanted:
        found.append(f"torch[{device}]=={row['torch']}+rocm{row['rocm']}")
        for name, own in _BESIDE_TORCH.items():
            extras, version = f"[{device}]" if own else "", row.get(name)
            found.append(f"{name}{extras}" + (f"=={version}+rocm{row['rocm']}" if version else ""))
    return tuple(found)
