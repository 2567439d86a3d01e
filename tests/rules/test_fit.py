"""Whether an image fits, by facts: its targets, its release, the driver, hazards; unknown is told from refused."""

from __future__ import annotations

from typing import Any

import pytest
from plan.made import gpu, host

from rocenv.catalog import images
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.references import Reference
from rocenv.catalog.versions import Version
from rocenv.model.host import Driver, Host
from rocenv.model.wish import ImageWish
from rocenv.rules.fit import Verdict, demand, judge, least
from rocenv.rules.rank import best, rank, score

IN_TREE = Driver(loaded=True, version=None, origin="in-tree")


def dkms(module: str) -> Driver:
    return Driver(loaded=True, version=module, origin="dkms")


def described(text: str) -> CatalogImage:
    found = images.describe(Reference.parse(text))
    assert found is not None
    return found


def verdict(text: str, gfx: str, driver: Driver = IN_TREE, **facts: Any) -> Verdict:
    where: Host = host([gpu(0, gfx)], driver=driver, **facts)
    return judge(described(text), demand(ImageWish(), [gfx], where, gpus=True))


# Images of which no list of targets is known: AMD's lists for their release are what is left.


@pytest.mark.parametrize("gfx", ["gfx942", "gfx1201", "gfx1030", "gfx1151"])
def test_a_target_that_amd_lists_for_the_release_is_unknown_and_no_refusal(gfx: str) -> None:
    found = verdict("rocm/tensorflow:rocm7.14.1-ubuntu24.04-py3.12-tf2.21", gfx)
    assert found.refusal is None
    assert f"whether it holds code for {gfx} is unknown (AMD lists it for ROCm 7.14.1)" in found.unknown
    assert not found.sure


@pytest.mark.parametrize(
    ("reference", "gfx", "why"),
    [
        ("rocm/tensorflow:rocm7.14.1-ubuntu24.04-py3.12-tf2.21", "gfx1031", "does not list gfx1031"),
        ("rocm/tensorflow:rocm7.14.1-ubuntu24.04-py3.12-tf2.21", "gfx906", "does not list gfx906"),
        ("rocm/tensorflow:rocm7.0-py3.12-tf2.19-dev", "gfx1036", "never held gfx1036"),
        ("rocm/tensorflow:rocm7.0-py3.12-tf2.19-dev", "gfx906", "up to ROCm 6.x"),
        ("rocm/tensorflow:rocm6.3.3-py3.12-tf2.17-dev", "gfx950", "from ROCm 7.0.0 on"),
        ("rocm/tensorflow:rocm6.2.1-py3.9-tf2.16.1-dev", "gfx1201", "from ROCm 6.4.1 on"),
        ("rocm/megatron-lm:v25.10", "gfx1100", "for Instinct alone"),
        ("rocm/megatron-lm:v25.10", "gfx803", "for Instinct alone"),
        ("vllm/vllm-openai-rocm:v0.23.0", "gfx1030", "no code for gfx1030"),
    ],
)
def test_a_target_that_no_list_holds_is_refused(reference: str, gfx: str, why: str) -> None:
    found = verdict(reference, gfx)
    assert (found.kind, why in (found.refusal or "")) == ("target", True), found


def test_gfx906_is_possible_as_long_as_amd_s_lists_held_it() -> None:
    assert verdict("rocm/tensorflow:rocm6.3.3-py3.12-tf2.17-dev", "gfx906").refusal is None


def test_a_pairing_for_instinct_alone_is_less_sure_elsewhere() -> None:
    # ROCm 7.14.0 with PyTorch 2.10.0 is listed for Instinct alone (AMD's page on PyTorch).
    name = "rocm/pytorch:rocm7.14_ubuntu24.04_py3.12_pytorch_release_2.10.0"
    assert any("Instinct alone" in word for word in verdict(name, "gfx1100").unknown)
    assert not any("Instinct" in word for word in verdict(name, "gfx942").unknown)


def test_a_compiler_builds_for_no_target_that_came_later() -> None:
    refused = verdict("rocm/rocm-terminal:6.4", "gfx950")
    assert refused.refusal == "gfx950 came with ROCm 7.0.0, and this is 6.4"
    assert verdict("rocm/rocm-terminal:6.4", "gfx1036").refusal is None


# What an image holds at least, where its tag does not tell.


@pytest.mark.parametrize(
    ("reference", "oldest"),
    [
        ("rocm/comfyui:latest", "7.2.0"),  # the newest that is known of that repository
        ("vllm/vllm-openai-rocm:v0.23.0", "7.0.0"),  # code for gfx950, which came with 7.0
        ("ghcr.io/ggml-org/llama.cpp:server-rocm-b11312", "6.0.0"),  # code for gfx942
        ("rocm/primus:v26.5.1", "7.15.0a20260720"),  # no older than v26.5
        ("rocm/megatron-lm:v25.10", None),
    ],
)
def test_the_oldest_rocm_that_an_image_can_hold(reference: str, oldest: str | None) -> None:
    assert least(described(reference)) == (Version.parse(oldest) if oldest else None)


def test_what_an_image_holds_at_least_is_held_against_an_older_driver() -> None:
    refused = verdict("rocm/comfyui:latest", "gfx942", dkms("6.12.12"))  # driver 6.4 ends at ROCm 7.1
    assert (refused.kind, "it holds 7.2.0 or newer" in (refused.refusal or "")) == ("driver", True)
    assert verdict("rocm/comfyui:latest", "gfx942", dkms("6.16.13")).refusal is None
    assert verdict("rocm/comfyui:latest", "gfx942", IN_TREE).refusal is None


def test_a_driver_that_the_software_itself_wants() -> None:
    refused = verdict("ollama/ollama:rocm", "gfx942", dkms("6.12.12"))
    assert "wants AMD's driver >=30.10" in (refused.refusal or "")
    assert verdict("ollama/ollama:rocm", "gfx942", dkms("6.14.14")).refusal is None


def test_previews_are_for_drivers_that_reach_them() -> None:
    name = "rocm/vllm:rocm7.13.0_gfx94X-dcgpu_ubuntu24.04_py3.13_pytorch_2.10.0_vllm_0.19.1"
    wish = ImageWish(rocm="7.13")
    for driver, kind in ((dkms("6.12.12"), "driver"), (dkms("6.16.13"), None), (dkms("6.19.4"), None)):
        where = host([gpu(0, "gfx942")], driver=driver)
        assert judge(described(name), demand(wish, ["gfx942"], where, gpus=True)).kind == kind
    assert verdict(name, "gfx942").kind == "wish"


@pytest.mark.parametrize(
    ("gfx", "module", "expected"),
    [
        ("gfx90a", "6.8.5", "7.1.1"),
        ("gfx1100", "6.8.5", "7.0.2"),  # AMD's notes of 7.1 name driver 6.2 for MI100 to MI300X alone
        ("gfx1100", "6.10.5", "7.0.2"),
        ("gfx1100", "6.12.12", "7.1.1"),  # 6.4 and 7.1 are less than a year apart, AMD's rule from 6.4 on
    ],
)
def test_what_amd_names_for_instinct_alone_is_less_sure_on_radeon(gfx: str, module: str, expected: str) -> None:
    found = best("rocm/pytorch", [gfx], host([gpu(0, gfx)], driver=dkms(module)))
    assert found is not None
    assert str(found.image.rocm) == expected


# Hazards of images.


def test_a_hazard_speaks_against_the_releases_that_it_names() -> None:
    # rocBLAS of packages after ROCm 6.3 has no kernels for gfx906 (github.com/mixa3607/ML-gfx906).
    assert any("rocBLAS" in word for word in verdict("rocm/dev-ubuntu-24.04:7.2.4-complete", "gfx906").hazards)
    assert verdict("rocm/dev-ubuntu-22.04:6.3.1-complete", "gfx906").hazards == ()
    assert verdict("rocm/dev-ubuntu-24.04:7.2.4-complete", "gfx90a").hazards == ()
    assert verdict("mixa3607/rocm-gfx906:7.2.4-complete", "gfx906").hazards == ()
    found = best("rocm/dev-ubuntu", ["gfx906"], host([gpu(0, "gfx906")], driver=IN_TREE))
    assert found is not None
    assert found.image.reference.familiar == "rocm/dev-ubuntu-22.04:6.3.1-complete"


def test_a_hazard_of_kernel_and_release_holds_for_any_gpu() -> None:
    name = "rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0"
    assert verdict(name, "gfx1100", kernel="7.0.0-12-generic").hazards
    assert not verdict(name, "gfx1100", kernel="6.8.0-60-generic").hazards
    assert not verdict(name, "gfx1100", dkms("6.16.13"), kernel="7.0.0-12-generic").hazards


# Ranks and points.


def test_points_order_images_as_ranks_do() -> None:
    where = host([gpu(0, "gfx1100")], driver=IN_TREE)
    for family in images.families():
        wanted = demand(ImageWish(family.name), ["gfx1100"], where, gpus=True)
        fitting = [one for one in (judge(image, wanted) for image in images.known(family.name)) if one.refusal is None]
        fitting.sort(key=rank, reverse=True)
        points = [score(one) for one in fitting]
        assert points == sorted(points, reverse=True), family.name


def test_without_a_host_the_best_is_told_by_targets_alone() -> None:
    found = best("rocm/pytorch", ["gfx1201"], None)
    assert found is not None
    assert found.image.reference.familiar == "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"
    assert best("rocm/pytorch", ["gfx803"], None) is None
