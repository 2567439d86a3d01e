"""What is known of AMD GPUs: names by PCI id, gfx targets of old devices, and what code runs on which target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from rocenv.catalog.table import load


class Override(NamedTuple):
    """A HSA_OVERRIDE_GFX_VERSION that people use with a target: never set unasked, only told of.

    `works` is full, mostly, partly, likely, unknown or no.
    """

    value: str
    works: str
    why: str
    source: str


class Target(NamedTuple):
    """One gfx target. `hip` is its version in the decimal form of HSA_OVERRIDE_GFX_VERSION (gfx90a: 9.0.10)."""

    gfx: str
    hip: str
    arch: str
    wave: int
    generic: str | None  # the generic target whose code runs on it too
    official_since: str | None  # the first ROCm release whose lists hold it; None: never listed
    official_until: str | None  # the last one; None: still listed, or never
    therock: str  # none | built | released
    override: Override | None
    note: str | None


def gfx_name(version: int) -> str | None:
    """The target that KFD's gfx_target_version stands for (90010 → gfx90a); None for 0 and what is no version."""
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    if not 0 < major < 100 or minor > 15 or step > 15:  # noqa: PLR2004
        return None
    return f"gfx{major}{minor:x}{step:x}"


def hip_version(gfx: str) -> str | None:
    """`gfx90a` as `9.0.10`, the form that HSA_OVERRIDE_GFX_VERSION takes; None for what is no single target."""
    match = re.fullmatch(r"gfx(\d+)([0-9a-f])([0-9a-f])", gfx)
    if match is None:
        return None
    major, minor, step = match.groups()
    return f"{int(major)}.{int(minor, 16)}.{int(step, 16)}"


def target(gfx: str) -> Target | None:
    """What is known of a target, or None where the catalog does not hold it."""
    facts = load("gpus")["targets"].get(gfx)
    if facts is None:
        return None
    official = facts["official"] or {}
    override = facts["override"]
    return Target(
        gfx=gfx,
        hip=hip_version(gfx) or "",
        arch=facts["arch"],
        wave=facts["wave"],
        generic=generic_target(gfx),
        official_since=official.get("since"),
        official_until=official.get("until"),
        therock=facts["therock"],
        override=Override(**override) if override else None,
        note=facts.get("note"),
    )


def targets() -> tuple[str, ...]:
    """Every target that the catalog holds, in the order of their versions."""
    return tuple(load("gpus")["targets"])


def generic_target(gfx: str) -> str | None:
    """The LLVM generic target that a target is a member of."""
    families: dict[str, Any] = load("gpus")["generic"]
    return next((name for name, family in families.items() if gfx in family["members"]), None)


def covered(gfx: str, targets: Iterable[str]) -> bool:
    """True where code for one of `targets` runs on `gfx`: its own, or its generic target's."""
    return gfx in (held := tuple(targets)) or generic_target(gfx) in held


def generic_members(generic: str) -> tuple[str, ...]:
    """The targets on which code for a generic target runs; empty for an unknown one."""
    return tuple(load("gpus")["generic"].get(generic, {}).get("members", ()))


def marketing_name(pci_id: str, revision: int | None) -> str | None:
    """The product that (`1002:744c`, 0xc8) is, by libdrm's table; None where that does not say."""
    names: dict[str, str] = _device(pci_id).get("names", {})
    return None if revision is None else names.get(f"{revision:02x}")


def pci_name(pci_id: str) -> str | None:
    """What pci.ids calls a device: a chip with its products, for people alone."""
    name: str | None = _device(pci_id).get("pci_ids")
    return name


def gfx_of(pci_id: str) -> str | None:
    """The target of a device by its id, for kernels that do not tell; None for an id that is not in the table."""
    gfx: str | None = _device(pci_id).get("gfx")
    return gfx


def is_apu(gfx: str | None, pci_id: str) -> bool:
    """True for a GPU that shares its memory with the CPU."""
    rule = load("gpus")["apu"]
    vendor, _, device = pci_id.partition(":")
    if vendor == load("gpus")["vendor"] and device in rule["devices"]:
        return True
    return gfx is not None and (gfx in rule["targets"] or gfx.startswith(tuple(rule["series"])))


def _device(pci_id: str) -> dict[str, Any]:
    """The catalog's entry of a device, empty where there is none."""
    table = load("gpus")
    vendor, _, device = pci_id.partition(":")
    entry: dict[str, Any] = table["devices"].get(device, {}) if vendor == table["vendor"] else {}
    return entry
