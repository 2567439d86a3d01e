"""Kernels, firmware, drivers and images that are known to break a gfx target: dated facts, each with its source."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from rocenv.catalog.table import load

if TYPE_CHECKING:
    from rocenv.catalog.versions import Version

_OF_IMAGES = frozenset({"rocm", "families"})


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
    refuses: bool = False  # of an image: it is not taken at all, for it cannot work


class ImageHazard(NamedTuple):
    """A hazard of images: of ROCm releases (a constraint) or of families, or of both where both are named."""

    hazard: Hazard
    rocm: str | None
    families: tuple[str, ...]

    def holds(self, rocm: Version | None, family: str) -> bool:
        """True for an image of this release and family; what is unknown of an image is not held against it."""
        from rocenv.catalog.versions import Constraint

        if self.families and family not in self.families:
            return False
        return self.rocm is None or (rocm is not None and Constraint.parse(self.rocm).allows(rocm))


def of_images(targets: Collection[str], state: State) -> tuple[ImageHazard, ...]:
    """The hazards of images that hold for a host with GPUs of these targets."""
    rows = (row for row in load("hazards")["hazards"] if not _OF_IMAGES.isdisjoint(row) and _about(row, targets))
    found = ((row, _seen(row, state)) for row in rows)
    return tuple(
        ImageHazard(_hazard(row, seen), row.get("rocm"), tuple(row.get("families", ())))
        for row, seen in found
        if seen is not None
    )


def hitting(targets: Collection[str], state: State) -> list[Hazard]:
    """The hazards that hold for a host with GPUs of these targets, whatever image runs on it."""
    rows = (row for row in load("hazards")["hazards"] if _OF_IMAGES.isdisjoint(row) and _about(row, targets))
    return [_hazard(row, seen) for row in rows if (seen := _seen(row, state)) is not None]


def count() -> int:
    """How many hazards of hosts are known."""
    return sum(_OF_IMAGES.isdisjoint(row) for row in load("hazards")["hazards"])


def of_firmware(targets: Collection[str]) -> bool:
    """True where a hazard of one of these targets asks for the firmware's version: reading that costs time."""
    return any("firmware" in row and _about(row, targets) for row in load("hazards")["hazards"])


def _about(row: dict[str, Any], targets: Collection[str]) -> bool:
    """True where a row names one of these targets, or none at all, and so means any."""
    return bool(targets) and ("targets" not in row or not set(targets).isdisjoint(row["targets"]))


def _hazard(row: dict[str, Any], seen: str) -> Hazard:
    return Hazard(
        id=row["id"],
        targets=tuple(row.get("targets", ())),
        seen=seen,
        what=row["what"],
        fix=row.get("fix", ""),
        needs=row.get("needs"),
        source=row["source"],
        date=row["date"],
        refuses=row.get("refuses", False),
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
