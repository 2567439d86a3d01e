"""Checks of an image: each verdict by facts that give it."""

from __future__ import annotations

from typing import Any

import pytest
from checks.seen import CONTAINER, DOCKER, ENGINE, HEALTH, IN_TREE, WELL, WSL, asked, facts, found, image
from plan.made import gpu, host

from rocenv.checks.facts import Facts
from rocenv.model.health import Smoke
from rocenv.model.host import Caller, Driver, RocmInstall

NAVI = host([gpu(0, "gfx1103", kind="apu")])
NEWER = host([gpu(0, "gfx1030")], rocm_installed=(RocmInstall("/opt/rocm", "9.5", "9.5"),))
OLDER = host([gpu(0, "gfx1030")], rocm_installed=(RocmInstall("/opt/rocm", "6.1", "6.1"),))
RDNA3 = ("gfx1030", "gfx1100", "gfx1101", "gfx1102")
OLD = Driver(loaded=True, version=None, origin="dkms", release="6.1")

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("image.resolve", {}, "ok", "in its registry"),
    ("image.resolve", {"image": image(state="local")}, "ok", "is here"),
    ("image.resolve", {"image": image(state="no-tag", nearest=("a:1", "a:2"))}, "fail", "did you mean `a:1`?"),
    ("image.resolve", {"image": image(state="no-repository")}, "fail", "access denied"),
    ("image.resolve", {"image": image(state="refused")}, "fail", "docker login"),
    ("image.resolve", {"image": image(state="busy")}, "warn", "too many requests"),
    ("image.resolve", {"image": image(state="unreachable", said="no route")}, "fail", "docker load"),
    ("image.resolve", {"image": image(state="unknown")}, "skip", "not asked"),
    ("image.arch", {}, "ok", "x86_64"),
    ("image.arch", {"host": WELL._replace(machine="aarch64"), "image": None}, "fail", "for amd64"),
    ("image.arch", {"host": WELL._replace(machine="aarch64"), "image": image(machines=("arm64",))}, "ok", "arm64"),
    ("image.arch", {"host": WELL._replace(machine=None)}, "skip", "unknown"),
    ("gpu.gfx-supported", {}, "ok", "gfx942"),
    ("gpu.gfx-supported", {"image": image(gfx=("gfx9-4-generic",))}, "ok", "gfx9-4-generic"),
    ("gpu.gfx-supported", {"image": image(gfx=("gfx1100",))}, "fail", "every kernel fails"),
    ("gpu.gfx-supported", {"host": NAVI, "image": image(gfx=RDNA3)}, "warn", "HSA_OVERRIDE_GFX_VERSION=11.0.2"),
    ("gpu.gfx-supported", {"image": image(gfx=("gfx1100",), compiler=True)}, "info", "hipcc"),
    ("gpu.gfx-supported", {"asked": asked(targets=("gfx803",)), "image": image(gfx=RDNA3)}, "fail", "gfx803"),
    ("gpu.gfx-supported", {"image": image(gfx=None)}, "info", "`rocenv audit "),
    ("gpu.gfx-supported", {"image": image(reference="ollama/ollama:0.30.0", gfx=None)}, "warn", "hold CUDA and Vulkan"),
    ("gpu.gfx-supported", {"image": image(reference="rocm/pytorch:own", gfx=None)}, "info", "`rocenv audit "),
    ("gpu.gfx-supported", {"host": host([gpu(0, None)])}, "skip", "no gfx target"),
    ("driver.userspace", {}, "ok", "listed with ROCm"),
    ("driver.userspace", {"host": WELL._replace(driver=OLD)}, "warn", "further apart than AMD tests"),
    ("driver.userspace", {"host": WELL._replace(driver=IN_TREE)}, "info", "no table of AMD's"),
    ("driver.userspace", {"host": WELL._replace(driver=Driver(loaded=True, version="6.19.14", origin="dkms",
                                                              release="31.40.0")), "image": image(rocm="6.4")},
     "info", "says nothing of ROCm 6.4"),
    ("driver.userspace", {"log": "HSA Error:  Incompatible kernel and userspace, Vega 20 disabled."}, "fail",
     "older ROCm"),
    ("driver.userspace", {"image": image(rocm=None)}, "skip", "unknown"),
    ("driver.userspace", {"host": WSL}, "skip", "Windows"),
    ("image.rocm-version", {}, "info", "image ROCm 7.2, driver 30.30.4 (module 6.16.13)"),
    ("image.rocm-version", {"image": image(rocm="5.7")}, "warn", "came before AMD's lists held gfx942"),
    ("image.rocm-version", {"host": NEWER,
                            "image": image(moving=True)}, "warn", "the tag moves"),
    ("image.rocm-version", {"host": NEWER},
     "info", "does not matter"),
    ("image.rocm-version", {"host": OLDER,
                            "image": image(moving=True)}, "info", "own ROCm 6.1 does not matter"),
    ("image.rocm-version", {"image": image(rocm=None)}, "skip", "unknown"),
    ("image.torch-hip", {}, "skip", "not looked up"),
    ("image.torch-hip", {"image": image(torch="2.9.0+rocm7.2", hip="7.2")}, "ok", "hip 7.2"),
    ("image.torch-hip", {"image": image(torch="2.12.0+cu130")}, "fail", "a build for CUDA (cu130)"),
    ("image.torch-hip", {"image": image(torch="2.12.0+cpu")}, "fail", "without HIP (cpu)"),
    ("image.python", {}, "skip", "not looked at"),
    ("image.python", {"image": image(pythons={"/opt/venv/bin/python": "7.2"})}, "ok", "/opt/venv"),
    ("image.python", {"image": image(pythons={"/usr/bin/python3": None, "/opt/conda/envs/a/bin/python": "6.3"})},
     "warn", "run `/opt/conda/envs/a/bin/python`"),
    ("image.python", {"image": image(pythons={"/usr/bin/python3": None})}, "info", "none has torch"),
    ("image.group-gid", {}, "skip", "not read"),
    ("image.group-gid", {"image": image(groups={"render": 109}, user="dev")}, "ok", "render is 109"),
    ("image.group-gid", {"image": image(groups={"render": 110}, user="dev")}, "warn", "--group-add=109"),
    ("image.group-gid", {"image": image(groups={"video": 44}, user="dev")}, "warn", "video is 44"),
    ("image.group-gid", {"image": image(groups={"video": 44}, user="root")}, "info", "no group render"),
    ("image.group-gid", {"image": image(groups={}, user="1000"), "host": CONTAINER}, "ok", "by number"),
    ("image.group-gid", {"image": image(groups={}, user="1000")}, "warn", "neither render nor video"),
    ("image.group-gid", {"image": image(groups={}, user="1000"), "host": CONTAINER._replace(
        caller=Caller(1000, 1000, ()))}, "warn", "neither render nor video"),
    ("image.group-gid", {"image": image(groups={}), "host": WELL._replace(devices=())}, "skip", "no nodes"),
    ("image.numactl", {}, "skip", "not asked for"),
    ("image.numactl", {"asked": asked(loosen=("numa",)), "image": image(programs=("python3",))}, "warn", "numactl"),
    ("image.numactl", {"asked": asked(profile="hpc"), "image": image(programs=("numactl",))}, "ok", "is there"),
    ("image.numactl", {"asked": asked(profile="hpc")}, "skip", "not looked up"),
    ("smoke.count", {}, "skip", "not asked"),
    ("smoke.count", {"smoke": Smoke(count=1)}, "ok", "1 of 1"),
    ("smoke.count", {"smoke": Smoke(count=0)}, "fail", "user space"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "given", "verdict", "words"), CASES)
def test_a_check_of_an_image(check: str, given: dict[str, Any], verdict: str, words: str) -> None:
    finding = found(check, facts(**given))
    assert finding.verdict == verdict, finding
    assert words in " ".join(filter(None, (finding.evidence, finding.cause, finding.fix))), finding


def test_no_override_is_offered_where_none_is_known_to_work() -> None:
    given = facts(host=host([gpu(0, "gfx803")]), image=image(gfx=RDNA3))
    assert "HSA_OVERRIDE" not in (found("gpu.gfx-supported", given).fix or "")


def test_an_image_that_does_not_exist_is_not_judged() -> None:
    given = facts(image=image(state="no-tag", gfx=("gfx1100",)))
    assert found("gpu.gfx-supported", given).evidence == "because image.resolve failed"


def test_a_driver_outside_of_its_window_is_told_an_image_that_it_is_listed_for() -> None:
    tag = "rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.9.1"
    finding = found("driver.userspace", facts(host=WELL._replace(driver=OLD), image=image(reference=tag)))
    assert "`--image rocm/pytorch:rocm6." in (finding.fix or "")


def test_facts_that_were_not_read_are_skipped_and_never_ok() -> None:
    from rocenv.checks.run import run

    assert {one.verdict for one in run(Facts())} == {"skip"}
    partly = Facts(host=WELL, health=HEALTH, engine=DOCKER, engine_health=ENGINE)
    images = [one for one in run(partly) if one.layer == "image" and one.check != "image.arch"]
    assert {one.verdict for one in images} == {"skip"}
