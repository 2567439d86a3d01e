"""HSA_OVERRIDE_GFX_VERSION: never set here, understood where the user has set it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rocenv.catalog import gpus as catalog
from rocenv.errors import UsageError
from rocenv.model.host import Gpu, Host

NAME = "HSA_OVERRIDE_GFX_VERSION"
_VALUE = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{1,2})")
_HEX = re.compile(r"([0-9]{1,2})\.([0-9a-f])\.([0-9a-f])", re.IGNORECASE)


def targets(gpus: Sequence[Gpu], host: Host, env: Mapping[str, str]) -> tuple[dict[int, str | None], tuple[str, ...]]:
    """What each GPU (by index) counts as when an image is chosen, and what is to be said of overrides that are set.

    `NAME_n` counts nodes as they are inside: the CPU nodes, then the GPUs that are passed. Raises UsageError for a
    value that ROCm would not take: it wants three decimal numbers, and fails on any other.
    """
    found = {gpu.index: gpu.gfx for gpu in gpus}
    warnings: list[str] = []
    first = host.numa_nodes or 1
    for variable, value in env.items():
        if variable == NAME:
            meant = [gpu for gpu in gpus if f"{NAME}_{first + gpus.index(gpu)}" not in env]
        elif variable.startswith(f"{NAME}_"):
            number = variable.removeprefix(f"{NAME}_")
            meant = [gpu for place, gpu in enumerate(gpus) if number == str(first + place)]
        else:
            continue
        gfx = _gfx(variable, value)
        for gpu in meant:
            warnings += _said(gpu, gfx, variable)
            found[gpu.index] = gfx
        if not meant:
            warnings.append(f"{variable} means none of the chosen GPUs: inside they are nodes {first} and up")
    return found, tuple(warnings)


def names(gfx: str, gpus: Sequence[Gpu], host: Host) -> tuple[str, ...]:
    """The variables that override the GPUs of one target among these: NAME where all are of it, else one for each."""
    if all(gpu.gfx == gfx for gpu in gpus):
        return (NAME,)
    first = host.numa_nodes or 1
    return tuple(f"{NAME}_{first + place}" for place, gpu in enumerate(gpus) if gpu.gfx == gfx) or (NAME,)


class Way(NamedTuple):
    """An override that people use: its value, the target that it passes for, how far that works, and why."""

    value: str
    gfx: str
    works: str
    why: str


def known(gfx: str) -> Way | None:
    """The override for a target that is known to work at least in part, or None."""
    target = catalog.target(gfx)
    if target is None or target.override is None or target.override.works in ("no", "unknown"):
        return None
    found = target.override
    works = {"full": "fully", "mostly": "mostly", "partly": "partly", "likely": "likely"}.get(found.works, found.works)
    return Way(found.value, _gfx(NAME, found.value), works, found.why)


def _gfx(variable: str, value: str) -> str:
    found = meant(value)
    if found is None:
        raise UsageError(
            f"`{variable}={value}` is nothing that ROCm takes: {fault(value)}", f"`-e {variable}={mended(value)}`"
        )
    return found


def meant(value: str) -> str | None:
    """The gfx target that a value stands for, or None for one that ROCm would not take."""
    match = _VALUE.fullmatch(value)
    if match is None:
        return None
    major, minor, step = (int(part) for part in match.groups())
    return f"gfx{major}{minor:x}{step:x}"


def fault(value: str) -> str | None:
    """What is wrong with a value, or None. The thunk reads three decimal numbers by sscanf, and fails on all else."""
    if _VALUE.fullmatch(value):
        return None
    if value.strip("\"'") != value:
        return "the quotes are part of the value, and three decimal numbers are wanted"
    if _HEX.fullmatch(value):
        return "its last numbers are hexadecimal, and three decimal numbers are wanted"
    return "three decimal numbers are wanted"


def mended(value: str, gfx: str | None = None) -> str:
    """The value that was probably meant: what is known to work for `gfx`, else the same in the right form."""
    bare = value.strip("\"' ")
    if _VALUE.fullmatch(bare):
        return bare
    way = known(gfx) if gfx else None
    if way is not None:
        return way.value
    as_hex = _HEX.fullmatch(bare)
    if as_hex:
        return ".".join(str(int(part, 16)) for part in as_hex.groups())
    return catalog.hip_version(bare.lower()) or "10.3.0"


def _said(gpu: Gpu, gfx: str, variable: str) -> list[str]:
    name = gpu.gfx or "unknown target"
    if gfx == gpu.gfx:
        return [f"{variable} makes GPU {gpu.index} what it is already ({gfx}): it is better left away"]
    said = [f"{variable} makes GPU {gpu.index} ({name}) pass for {gfx}; AMD does not support that"]
    if gpu.gfx and catalog.generic_target(gpu.gfx) != catalog.generic_target(gfx):
        said.append(f"{gfx} is no relative of {name}: its code may hang or compute wrongly")
    return said
