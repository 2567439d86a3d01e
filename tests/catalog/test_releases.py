"""ROCm releases, HIP's own numbers, and what drivers are listed for. Expected values: AMD's tables, by hand."""

from __future__ import annotations

import pytest

from rocenv.catalog import drivers, gpus, releases
from rocenv.catalog.releases import LISTED, OUTSIDE, UNKNOWN
from rocenv.catalog.table import load
from rocenv.catalog.versions import Version

V = Version.parse


@pytest.mark.parametrize(
    ("rocm", "hip"),
    [("6.4.3", "6.4"), ("7.2.4", "7.2"), ("7.14.1", "7.14"), ("10.0", "7.15"), ("10.0.0", "7.15"), ("10.1.0", "7.16")],
)
def test_hip_has_numbers_of_its_own_from_ten_on(rocm: str, hip: str) -> None:
    assert releases.hip_of(V(rocm)) == V(hip)


# Names of packages on repo.radeon.com: hip-runtime-amd_7.1.25424.70100, hip-devel-6.4.43484.60403, …
@pytest.mark.parametrize(
    ("hip", "rocm"),
    [
        ("7.1.25424", ["7.1.0"]),
        ("7.1.25424-4179531dcd", ["7.1.0"]),
        ("6.4.43484-123eb5128", ["6.4.2", "6.4.3"]),
        ("6.4.43483-a187df25c", ["6.4.1"]),
        ("6.3.42134", ["6.3.2", "6.3.3", "6.3.4"]),
        ("7.0.51831", ["7.0.1", "7.0.2"]),
        ("7.2.26015", ["7.2.0"]),
        ("7.2.53211-97f5574fe2", ["7.2.1", "7.2.2", "7.2.3", "7.2.4"]),
        ("7.15.26333", ["10.0.0"]),
        ("7.16", ["10.1.0"]),
        ("7.16.99999", ["10.1.0"]),
        ("7.14", ["7.14.0", "7.14.1"]),
        ("6.1.99999", ["6.1.0", "6.1.1", "6.1.2", "6.1.5"]),
    ],
)
def test_a_build_of_hip_names_the_release_as_far_as_it_can(hip: str, rocm: list[str]) -> None:
    assert [str(one) for one in releases.rocm_of_hip(V(hip))] == rocm


# The package's whole version, or what DKMS keeps of it; public package names.
@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("6.16.13.30300400-2341068.24.04", "30.30.4"),
        ("6.16.13.30300300-2327507", "30.30.3"),
        ("6.14.14.30100100-2212064", "30.10.1"),
        ("6.19.14.31400000-2364437", "31.40.0"),
        ("6.8.5.60200-2009582", "6.2.0"),
        ("6.10.5.60300-2084815.22.04", "6.3.0"),
        ("6.0.5.50500-1581431", "5.5.0"),
        ("6.16.13-2303411.24.04", "30.30.1"),
        ("6.16.13-9999999", None),
        ("6.18.3", None),
        ("", None),
    ],
)
def test_a_package_s_version_holds_the_driver_s_release(version: str, release: str | None) -> None:
    assert drivers.release_of(version) == release


def test_releases_of_drivers_go_with_their_series() -> None:
    for row in load("drivers")["releases"]:
        series = releases.driver_series(str(V(row["release"])), None) or releases.driver_series(
            row["release"] + ".0", None
        )
        assert series is not None, row
        assert series.verdict(V(row["rocm"])) == LISTED, row


def test_rocm_by_hip_s_number() -> None:
    assert releases.rocm_of_hip(V("7.15.26333")) == (V("10.0.0"),)
    assert V("7.2.4") in releases.rocm_of_hip(V("7.2.53211"))
    assert releases.rocm_of_hip(V("8.0")) == ()


@pytest.mark.parametrize(
    ("release", "module", "series", "by"),
    [
        ("30.30.4", "6.16.13", "30.30", "release 30.30.4"),
        (None, "6.16.13", "30.30", "module 6.16.13"),
        ("30.30", "6.16.13", "30.30", "module 6.16.13"),
        (None, "6.14.14", "30.10", "module 6.14.14"),
        (None, "6.12.12", "6.4", "module 6.12.12"),
        (None, "6.10.5.60300-2084815", "6.3", "module 6.10.5.60300-2084815"),
        ("31.40.0", None, "31.40", "release 31.40.0"),
    ],
)
def test_a_driver_s_series(release: str | None, module: str | None, series: str, by: str) -> None:
    found = releases.driver_series(release, module)
    assert found is not None
    assert (found.name, found.by) == (series, by)


@pytest.mark.parametrize(("release", "module"), [(None, None), (None, "7.3.1"), ("99.1.0", None), (None, "junk")])
def test_a_driver_that_no_table_holds(release: str | None, module: str | None) -> None:
    assert releases.driver_series(release, module) is None


# Module 6.1.5 came after that of driver 5.5 (6.0.5) and before that of 5.7 (6.2.4), which AMD lists for ROCm 5.3 to 5.7
# and 5.5 to 6.1; 5.18.13 came before 5.5, and no older driver is listed for anything newer.
@pytest.mark.parametrize(
    ("module", "name", "rocm", "verdict"),
    [
        ("6.1.5", "between 5.5 and 5.7", "6.1", UNKNOWN),
        ("6.1.5", "between 5.5 and 5.7", "5.6", UNKNOWN),
        ("6.1.5", "between 5.5 and 5.7", "6.2", OUTSIDE),
        ("6.1.5", "between 5.5 and 5.7", "10.1.0", OUTSIDE),
        ("5.18.13", "before 5.5", "5.7", UNKNOWN),
        ("5.18.13", "before 5.5", "6.0", OUTSIDE),
        ("5.0.71", "before 5.5", "4.0", UNKNOWN),
        ("6.18.3", "between 30.30 and 31.30", "10.1.0", UNKNOWN),
        ("6.18.3", "between 30.30 and 31.30", "6.2", UNKNOWN),
    ],
)
def test_a_driver_between_those_that_tables_hold(module: str, name: str, rocm: str, verdict: str) -> None:
    found = releases.driver_series(None, module)
    assert found is not None
    assert (found.name, found.verdict(V(rocm)), found.exact) == (name, verdict, False)


@pytest.mark.parametrize(
    ("driver", "rocm", "verdict"),
    [
        ("30.30.4", "7.2.4", LISTED),
        ("30.30.4", "6.3.3", LISTED),
        ("30.30.4", "10.1.0", LISTED),
        ("30.30.4", "6.2.4", OUTSIDE),
        ("30.30.4", "10.2", UNKNOWN),
        ("30.30.4", "7.13.0", UNKNOWN),
        ("6.1", "7.2", OUTSIDE),
        ("6.1", "6.3.3", LISTED),
        ("6.4", "7.1.1", LISTED),
        ("6.4", "7.2", OUTSIDE),
        ("6.2.0", "7.1", LISTED),
        ("31.40.0", "7.14.1", LISTED),
        ("31.40.0", "7.2.4", UNKNOWN),
        ("31.50.0", "10.0", LISTED),
        ("31.30.0", "7.13.0", LISTED),
    ],
)
def test_verdicts(driver: str, rocm: str, verdict: str) -> None:
    series = releases.driver_series(driver, None)
    assert series is not None
    assert series.verdict(V(rocm)) == verdict


def test_the_newest_is_production() -> None:
    assert releases.newest().version == V("10.1.0")


def test_a_release_is_found_however_it_is_written() -> None:
    found = releases.release(V("10.0"))
    assert found is not None
    assert found.date == "2026-08-26"
    assert releases.release(V("8.0")) is None


def test_targets_of_releases_are_targets() -> None:
    known = set(gpus.targets())
    for one in releases.releases():
        assert set(one.gfx) <= known
        assert bool(one.gfx) == bool(one.gfx_source)


def test_lists_agree_with_what_is_known_of_each_target() -> None:
    """A release's list holds no target that came later by the table of targets."""
    for one in releases.releases():
        for gfx in one.gfx:
            target = gpus.target(gfx)
            assert target is not None
            assert target.official_since is not None, gfx


def test_every_driver_that_came_with_a_release_is_listed_for_it() -> None:
    for one in releases.releases():
        series = releases.driver_series(one.driver, None) if one.driver else None
        if series is not None:
            assert series.verdict(one.version) == LISTED, one.version
