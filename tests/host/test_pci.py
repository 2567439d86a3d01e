"""The bus: which functions count, their driver, and the DRM nodes that stand beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocenv.host import read_host
from rocenv.host.pci import lowest

Build = Callable[..., Path]


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ({"id": "8086:4680", "class": "0x030000"}, True),
        ({"id": "10de:2330", "class": "0x030200"}, True),
        ({"id": "8086:0bd5", "class": "0x038000"}, True),
        ({"id": "1d22:3684", "class": "0x120000"}, False),  # another vendor's accelerator is no display
        ({"id": "15b3:101b", "class": "0x020700"}, False),
        ({"id": "8086:4680", "class": "junk"}, False),
    ],
)
def test_other_vendors(built: Build, told: dict[str, str], seen: bool) -> None:
    host = read_host(str(built("no-gpu", displays=[{"at": "0000:07:00.0", **told}])))
    assert [device.bdf for device in host.other_displays] == (["0000:07:00.0"] if seen else [])
    assert host.unusable == ()


@pytest.mark.parametrize("kind", ["0x030000", "0x038000", "0x120000"])
def test_amds_accelerators_count(built: Build, kind: str) -> None:
    told = {"at": "0001:07:00.0", "id": "1002:74a1", "class": kind}
    host = read_host(str(built("no-gpu", displays=[told])))
    assert [(device.bdf, device.reason) for device in host.unusable] == [("0001:07:00.0", "no-driver")]


def test_devices_stand_in_the_order_of_the_bus(built: Build) -> None:
    places = ["0000:c3:00.0", "0000:07:00.0", "0001:01:00.0", "0000:07:00.1"]
    displays = [{"at": place, "id": "8086:1"} for place in places]
    host = read_host(str(built("no-gpu", displays=displays)))
    assert [device.bdf for device in host.other_displays] == sorted(places)


def test_the_lowest_render_node_of_a_device(built: Build) -> None:
    drm = "/sys/devices/pci0000:00/0000:03:00.0/drm"
    folder = built("no-kfd", folders=[f"{drm}/renderD99", f"{drm}/renderD1000", f"{drm}/renderDx"])
    assert read_host(str(folder)).unusable[0].render_node == "/dev/dri/renderD99"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["card10", "card9", "card1-DP-1", "renderD128"], "card9"),
        (["card", "card-1", "cardx", "card1-DP-1", "card٣"], None),
        ([], None),
    ],
)
def test_lowest(names: list[str], found: str | None) -> None:
    assert lowest(names, "card") == found


def test_a_driver_link_that_leads_nowhere_is_no_driver(built: Build) -> None:
    place = "/sys/devices/pci0000:00/0000:07:00.0"
    display = {"at": "0000:07:00.0", "id": "8086:1"}
    folder = built("no-gpu", displays=[display], links={f"{place}/driver": "../nowhere"})
    assert read_host(str(folder)).other_displays[0].driver is None
