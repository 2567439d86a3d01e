"""Kernels, firmware and drivers that are known to break a gfx target: dated facts, each with its source."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from rocenv.catalog.table import load


class State(NamedTuple):
    """What a host runs, as far as hazards ask; unknown is None."""

    kernel: str | None
    firmware: str | None  # the version of the package linux-firmware
    origin: str | None  # of the driver: dkms | in-tree


class Hazard(NamedTuple):
    """One row of the table that holds for a host; `seen` is what of the host it is about."""

    id: str
    targets: tuple[str, ...]
    seen: str
    what: str
    fix: str
    needs: str | None
    source: str
    date: str


def hitting(targets: Collection[str], state: State) -> list[Hazard]:
    """The hazards that hold for a host with GPUs of these targets."""
    rows = (row for row in load("hazards")["hazards"] if not set(targets).isdisjoint(row["targets"]))
    return [_hazard(row, seen) for row in rows if (seen := _seen(row, state)) is not None]


def count() -> int:
    """How many hazards are known."""
    return len(load("hazards")["hazards"])


def of_firmware(targets: Collection[str]) -> bool:
    """True where a hazard of one of these targets asks for the firmware's version: reading that costs time."""
    return any("firmware" in row and not set(targets).isdisjoint(row["targets"]) for row in load("hazards")["hazards"])


def _hazard(row: dict[str, Any], seen: str) -> Hazard:
    return Hazard(
        id=row["id"],
        targets=tuple(row["targets"]),
        seen=seen,
        what=row["what"],
        fix=row["fix"],
        needs=row.get("needs"),
        source=row["source"],
        date=row["date"],
    )


def _seen(row: dict[str, Any], state: State) -> str | None:
    """What of a host fits every condition of a row; None where one does not, or is unknown."""
    words: list[str] = []
    if "kernel" in row:
        if state.kernel is None or any(word in state.kernel for word in row.get("kernel_not", ())):
            return None
        if not _within(state.kernel, row["kernel"]):
            return None
        words.append(f"kernel {state.kernel}")
    if "firmware" in row:
        if state.firmware is None or not state.firmware.startswith(tuple(row["firmware"])):
            return None
        words.append(f"linux-firmware {state.firmware}")
    if "origin" in row:
        if state.origin != row["origin"]:
            return None
        words.append(f"{state.origin} driver")
    return ", ".join(words)


def _within(kernel: str, constraint: str) -> bool:
    """Whether a kernel's release, by its first numbers, satisfies a constraint."""
    from rocenv.catalog.versions import Constraint, Version

    match = re.match(r"\d+\.\d+(?:\.\d+)?", kernel)
    return match is not None and Constraint.parse(constraint).allows(Version.parse(match.group(0)))
