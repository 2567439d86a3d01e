"""ROCm releases, HIP's own numbers, and what drivers are listed for. Expected values: AMD's tables, by hand."""

from __future__ import annotations

import pytest

from rocenv.catalog import gpus, releases
from rocenv.catalog.releases import LISTED, OUTSIDE, UNKNOWN
from rocenv.catalog.versions import Version

V = Version.parse


@pytest.mark.parametrize(
    ("rocm", "hip"),
    [("6.4.3", "6.4"), ("7.2.4", "7.2"), ("7.14.1", "7.14"), ("10.0", "7.15"), ("10.0.0", "7.15"), ("10.1.0", "7.16")],
)
def test_hip_has_numbers_of_its_own_from_ten_on(rocm: str, hip: str) -> None:
    assert releases.hip_of(V(rocm)) == V(hip)


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


@pytest.mark.parametrize(
    ("release", "module"), [(None, None), (None, "6.18.3"), (None, "5.0.71"), ("99.1.0", None), (None, "junk")]
)
def test_a_driver_that_no_table_holds(release: str | None, module: str | None) -> None:
    assert releases.driver_series(release, module) is None


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
