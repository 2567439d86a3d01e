"""Which ROCm goes onto a bare system: what GPUs and driver allow, by AMD's own tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts import builder

from rocenv.errors import ImageError, UsageError
from rocenv.host import read_host
from rocenv.model.plan import EngineFacts, Plan
from rocenv.plan import Request, make_plan
from rocenv.profile import load_profile


def planned(host: str, tmp_path: Path, *, strict: bool = False, cpu: bool = False, **build: object) -> Plan:
    wish: dict[str, object] = {
        "build.template": "distribution",
        "build.os": "ubuntu-24.04",
        "image.rocm": None,
        "strict": strict,
    }
    wish |= {key.replace("__", "."): value for key, value in build.items()}
    profile = load_profile("hip", project=tmp_path, overrides=wish)
    seen = read_host(str(builder.build(builder.describe(host), tmp_path / host)))
    return make_plan(profile, seen, EngineFacts("docker", assumed=True), Request("p", "/home/u/p", cpu=cpu))


def why(plan: Plan) -> str:
    return next(one.why for one in plan.reasons if one.choice == "image")


def test_the_newest_that_the_driver_is_listed_for(tmp_path: Path) -> None:
    """Driver 6.3 goes with ROCm up to 7.1 (release notes of 7.1.0), and 7.1.1 is the last of these."""
    made = planned("mi300x-spx", tmp_path)
    assert (made.image.reference, made.image.rocm) == ("ubuntu:24.04", "7.1.1")
    assert "7.1.1 is installed on it" in why(made)
    assert "10.1.0 is newer, but driver 6.3" in why(made)
    assert not [one for one in made.warnings if "ROCm" in one]


def test_what_is_asked_for_is_installed_with_a_warning(tmp_path: Path) -> None:
    made = planned("mi300x-spx", tmp_path, image__rocm="10.0")
    assert made.image.rocm == "10.0.0"
    assert any("though driver 6.3" in one for one in made.warnings)
    with pytest.raises(ImageError, match="does not fit: driver 6"):
        planned("mi300x-spx", tmp_path / "strict", image__rocm="10.0", strict=True)


def test_without_a_gpu_the_newest_there_is(tmp_path: Path) -> None:
    assert planned("no-gpu", tmp_path, cpu=True).image.rocm == "10.1.0"


def test_a_target_that_a_release_does_not_list_passes_it_over(tmp_path: Path) -> None:
    """gfx1151 is on the lists from 7.13 (a preview) on: nothing older is taken for it."""
    made = planned("strix-halo", tmp_path)
    assert made.image.rocm in ("7.14.1", "10.0.0", "10.1.0")


def test_a_cache_of_kernels_is_the_releases_own(tmp_path: Path) -> None:
    one, other = (
        planned("mi300x-spx", tmp_path / rocm, image__rocm=rocm, caches=["home", "comgr"]) for rocm in ("7.0", "7.1")
    )
    volumes = [{mount.target: mount.source for mount in made.mounts if mount.kind == "volume"} for made in (one, other)]
    assert volumes[0]["/var/cache/rocenv/comgr"] != volumes[1]["/var/cache/rocenv/comgr"]
    assert volumes[0]["/home/rocenv"] == volumes[1]["/home/rocenv"]


def test_a_system_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no system"):
        planned("mi300x-spx", tmp_path, build__os="beos-5")
