"""The GPU table: public facts by hand, rules that hold for every row, and rocm-bootstrap as a second opinion."""

from __future__ import annotations

import re

import pytest
from rocm_bootstrap import targets as bootstrap

from rocenv.catalog import gpus
from rocenv.catalog.table import load

DEVICES = load("gpus")["devices"]
TARGETS = load("gpus")["targets"]


@pytest.mark.parametrize(
    ("version", "gfx"),
    [
        (80003, "gfx803"),
        (90000, "gfx900"),
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (90402, "gfx942"),
        (100306, "gfx1036"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120500, "gfx1250"),
        (0, None),
        (7, None),
        (-90010, None),
        (2**64, None),
        (99916, None),
    ],
)
def test_gfx_target_version(version: int, gfx: str | None) -> None:
    assert gpus.gfx_name(version) == gfx


@pytest.mark.parametrize(
    ("gfx", "hip"),
    [("gfx90a", "9.0.10"), ("gfx90c", "9.0.12"), ("gfx1100", "11.0.0"), ("gfx803", "8.0.3"), ("gfx11-generic", None)],
)
def test_the_decimal_form_of_a_target(gfx: str, hip: str | None) -> None:
    assert gpus.hip_version(gfx) == hip


@pytest.mark.parametrize(
    ("pci_id", "revision", "name"),
    [  # lines of libdrm's amdgpu.ids
        ("1002:744c", 0xC8, "AMD Radeon RX 7900 XTX"),
        ("1002:744c", 0xCC, "AMD Radeon RX 7900 XT"),
        ("1002:74a1", 0x00, "AMD Instinct MI300X"),
        ("1002:15d8", 0x91, "AMD Radeon Vega 3 Graphics"),  # the first of its two lines
        ("1002:744c", 0x01, None),
        ("1002:744c", None, None),
        ("1002:ffff", 0x00, None),
        ("10de:744c", 0xC8, None),
    ],
)
def test_marketing_name(pci_id: str, revision: int | None, name: str | None) -> None:
    assert gpus.marketing_name(pci_id, revision) == name


@pytest.mark.parametrize(
    ("pci_id", "gfx"), [("1002:6860", "gfx900"), ("1002:67df", "gfx803"), ("1002:0000", None), ("8086:67df", None)]
)
def test_gfx_by_device_id(pci_id: str, gfx: str | None) -> None:
    assert gpus.gfx_of(pci_id) == gfx


@pytest.mark.parametrize(
    ("gfx", "pci_id", "apu"),
    [
        ("gfx1036", "1002:164e", True),
        ("gfx1155", "1002:0001", True),  # of a series of APUs, though in no table
        ("gfx942", "1002:74a0", True),  # MI300A
        ("gfx942", "1002:74a1", False),
        ("gfx1100", "1002:744c", False),
        (None, "1002:744c", False),
    ],
)
def test_apu(gfx: str | None, pci_id: str, apu: bool) -> None:
    assert gpus.is_apu(gfx, pci_id) is apu


def test_what_is_known_of_a_target() -> None:
    known = gpus.target("gfx1031")
    assert known is not None
    assert (known.hip, known.generic, known.wave, known.official_since) == ("10.3.1", "gfx10-3-generic", 32, None)
    assert known.override is not None
    assert (known.override.value, known.override.works) == ("10.3.0", "full")
    assert gpus.target("gfx9999") is None


def test_generic_members_and_their_way_back() -> None:
    assert gpus.generic_members("gfx12-generic") == ("gfx1200", "gfx1201")
    assert gpus.generic_members("gfx99-generic") == ()
    assert gpus.generic_target("gfx90a") is None


@pytest.mark.parametrize("gfx", TARGETS)
def test_every_target_is_whole(gfx: str) -> None:
    known = gpus.target(gfx)
    assert known is not None
    assert known.hip
    assert known.wave == (64 if int(known.hip.split(".")[0]) < 10 else 32)
    assert known.therock in ("none", "built", "released")
    if known.override is not None:
        assert re.fullmatch(r"\d+\.\d+\.\d+", known.override.value)
        assert known.override.works in ("full", "mostly", "partly", "likely", "unknown", "no")
        assert known.override.value != known.hip


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_is_whole(device: str) -> None:
    entry = DEVICES[device]
    assert re.fullmatch(r"[0-9a-f]{4}", device)
    assert entry["gfx"] in TARGETS
    assert set(entry["source"]) <= set(load("gpus")["sources"])
    names = entry.get("names", {})
    assert all(re.fullmatch(r"[0-9a-f]{2}", revision) for revision in names)
    assert set(entry.get("vram_gib", {})) <= set(names)


@pytest.mark.parametrize("line", ["APU", "Instinct APU"])
def test_devices_sold_as_apus_count_as_apus(line: str) -> None:
    of_line = [device for device, entry in DEVICES.items() if entry["line"] == line]
    assert of_line
    assert all(gpus.is_apu(DEVICES[device]["gfx"], f"1002:{device}") for device in of_line)


BOOTSTRAP = [value for value in vars(bootstrap).values() if isinstance(value, bootstrap.GfxTarget)]
FAMILIES = [value for value in vars(bootstrap).values() if isinstance(value, bootstrap.TargetBundle)]


@pytest.mark.parametrize("known", BOOTSTRAP, ids=lambda known: known.name)
def test_rocm_bootstrap_agrees_on_names(known: bootstrap.GfxTarget) -> None:
    """AMD's own table of targets, made from LLVM's; `-strict` is a way of packing and no target."""
    assert gpus.gfx_name(known.gfx_target_version) == known.name.removesuffix("-strict")
    assert gpus.hip_version(known.name.removesuffix("-strict")) == f"{known.major}.{known.minor}.{known.stepping}"


@pytest.mark.parametrize("gfx", TARGETS)
def test_rocm_bootstrap_agrees_on_generic_targets(gfx: str) -> None:
    theirs = {bundle.llvm_generic for bundle in FAMILIES if gfx in {member.name for member in bundle.members}} - {None}
    if gfx in ("gfx908", "gfx90a"):
        theirs = set()  # rocm-bootstrap packs them with gfx9-generic, but LLVM does not build that for them
    if gfx == "gfx950":
        theirs = {"gfx9-4-generic"}  # by LLVM's manual; rocm-bootstrap 0.3.0 does not have it there
    if gfx in {known.name for known in BOOTSTRAP}:
        ours = gpus.generic_target(gfx)
        assert ours in (theirs or {None})
