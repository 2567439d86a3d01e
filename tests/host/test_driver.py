"""The driver's origin and AMD's release of it, by the versions that packages, DKMS and the module print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocenv.catalog import drivers
from rocenv.host import read_host

Build = Callable[..., Path]
STATUS = "Package: {}\nStatus: install ok installed\nArchitecture: all\nVersion: {}\nDescription: x\n"


@pytest.mark.parametrize(
    ("version", "release"),
    [  # versions as AMD's repositories have them
        ("6.16.13.30300400-2341068.24.04", "30.30.4"),
        ("6.14.14.30100200-2226257.22.04", "30.10.2"),
        ("6.19.14.31400000-2364437.24.04", "31.40.0"),
        ("6.8.5.60200-2009582.22.04", "6.2.0"),
        ("6.10.5.60300-2084815.24.04", "6.3.0"),
        ("6.16.13-2341068.24.04", "30.30.4"),  # as DKMS keeps it: by the build
        ("6.8.5-2009582.22.04", "6.2.0"),
        ("6.16.13-9999999", None),
        ("6.16.13", None),
        ("nonsense", None),
        ("", None),
    ],
)
def test_release_of_a_package(version: str, release: str | None) -> None:
    assert drivers.release_of(version) == release


@pytest.mark.parametrize(
    ("module", "series"), [("6.16.13", "30.30"), ("6.14.14", "30.10"), ("6.12.12", "6.4"), ("6.18.3", None), ("", None)]
)
def test_series_of_a_module(module: str, series: str | None) -> None:
    assert drivers.series_of(module) == series


def release(folder: Path) -> str | None:
    return read_host(str(folder)).driver.release


def status(*entries: str) -> dict[str, str]:
    return {"/var/lib/dpkg/status": "\n".join(entries)}


def test_dpkg_tells_the_release(built: Build) -> None:
    other = STATUS.format("amdgpu-dkms-firmware", "1:9.9.9.99999999-1")
    ours = STATUS.format("amdgpu-dkms", "1:6.16.13.30300100-2303411.24.04")
    assert release(built("rx7900xtx", driver="6.16.13", files=status(other, ours))) == "30.30.1"
    assert release(built("rx7900xtx", driver="6.16.13", files=status(ours, other))) == "30.30.1"
    assert release(built("rx7900xtx", driver="6.16.13", files=status(other))) == "30.30"


def test_a_package_that_does_not_run_yet_says_nothing(built: Build) -> None:
    ours = STATUS.format("amdgpu-dkms", "1:6.19.14.31400000-2364437.24.04")
    assert release(built("rx7900xtx", driver="6.16.13", files=status(ours))) == "30.30"


def test_dkms_tells_the_release(built: Build) -> None:
    folders = ["/var/lib/dkms/amdgpu/6.14.14-2226257.24.04", "/var/lib/dkms/amdgpu/6.16.13-2327507.24.04"]
    assert release(built("rx7900xtx", driver="6.16.13", folders=folders)) == "30.30.3"
    assert release(built("rx7900xtx", driver="6.14.14", folders=folders)) == "30.10.2"


def test_the_kernels_own_driver_has_no_release(built: Build) -> None:
    driver = read_host(str(built("rx7900xtx"))).driver
    assert (driver.loaded, driver.origin, driver.version, driver.release) == (True, "in-tree", None, None)


def test_an_empty_version_is_none(built: Build) -> None:
    driver = read_host(str(built("rx7900xtx", driver="   "))).driver
    assert (driver.origin, driver.version) == ("in-tree", None)
