"""The choice told in full: what fits, ranked; what is refused, by which fact; what is left where nothing fits."""

from __future__ import annotations

import pytest
from plan.made import DOCKER, PODMAN, gpu, host, plan, profile

from rocenv.errors import HostError, ImageError
from rocenv.model.choice import Explained
from rocenv.model.host import Driver, Host
from rocenv.model.plan import EngineFacts
from rocenv.model.wish import ImageWish
from rocenv.plan.explain import explain

IN_TREE = Driver(loaded=True, version=None, origin="in-tree")
NEWEST = "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"
OTHER_PYTHON = "rocm/pytorch:rocm10.1.0_ubuntu26.04_py3.14_pytorch_release_2.14.0"


def dkms(module: str) -> Driver:
    return Driver(loaded=True, version=module, origin="dkms")


def told(where: Host, *, engine: EngineFacts = DOCKER, here: tuple[str, ...] = (), **wishes: object) -> Explained:
    return explain(profile(**wishes), where, engine, here=here)


@pytest.mark.parametrize("gfx", ["gfx942", "gfx90a", "gfx1100", "gfx1201", "gfx1151"])
@pytest.mark.parametrize("driver", [IN_TREE, dkms("6.16.13"), dkms("6.12.12"), dkms("6.18.3")])
def test_it_is_the_choice_that_the_plan_makes(gfx: str, driver: Driver) -> None:
    where = host([gpu(0, gfx)], driver=driver)
    found = told(where)
    if found.chosen is None or found.chosen.opt_in:
        with pytest.raises(ImageError) as caught:
            plan(where)
        assert found.error is None or found.error.message == caught.value.message
        return
    made = plan(where)
    assert found.chosen.reference == made.image.reference == found.candidates[0].reference
    others = [*(one.reference for one in found.candidates[1:]), *(one.reference for one in found.refused)]
    assert set(others) == {one.reference for one in made.refused}


def test_points_follow_the_rank() -> None:
    found = told(host([gpu(0)], driver=dkms("6.12.12")))
    points = [one.score for one in found.candidates]
    assert points == sorted(points, reverse=True)
    doubtful = [one for one in found.candidates if "whether this tag exists is doubtful" in one.against]
    assert found.candidates[-2].reference.endswith("rocm6.4.1_ubuntu24.04_py3.12_pytorch_release_2.7.1")
    assert tuple(doubtful) == found.candidates[-2:]


def test_the_best_has_all_points() -> None:
    # By hand: the tag exists, stays, is production, no hazard, verified targets, listed driver, the newest release.
    assert told(host([gpu(0)])).candidates[0].score == 2048 + 1024 + 512 + 256 + 128 + 64 + 63


def test_each_candidate_says_what_speaks_for_and_against_it() -> None:
    found = told(host([gpu(0)], driver=dkms("6.12.12")))
    first, second = found.candidates[:2]
    assert "driver 6.4 (module 6.12.12) is listed for ROCm 7.1.1" in first.speaks_for
    assert first.against == ()
    assert "pytorch 2.9.1 is older than 2.10.0" in second.against


def test_each_refused_one_names_the_fact() -> None:
    why = {one.reference: one.why for one in told(host([gpu(0, "gfx1101")], driver=dkms("6.12.12"))).refused}
    assert why[NEWEST] == ("driver 6.4 (module 6.12.12) goes with ROCm 6.1, 6.2, 6.3, 6.4, 7.0, 7.1, not with 10.1.0")
    assert "no code for gfx1101" in why["rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0"]


# An image that is here already.


def test_of_equals_the_one_that_is_here_is_taken() -> None:
    found = told(host([gpu(0)]), here=(OTHER_PYTHON,))
    assert found.chosen is not None
    assert found.chosen.reference == OTHER_PYTHON
    assert "it is on the engine already" in found.chosen.why
    second = found.candidates[1]
    assert (second.reference, second.score) == (NEWEST, found.candidates[0].score)
    assert any("is here already" in word for word in second.against)


@pytest.mark.parametrize(
    "older",
    [
        "rocm/pytorch:rocm10.0_ubuntu24.04_py3.12_pytorch_release_2.12.0",
        "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0",
    ],
)
def test_one_that_is_here_and_serves_less_well_is_not(older: str) -> None:
    found = told(host([gpu(0)]), here=(older,))
    assert found.chosen is not None
    assert found.chosen.reference == NEWEST


def test_podman_s_references_are_whole() -> None:
    found = told(host([gpu(0)]), engine=PODMAN, here=(f"docker.io/{OTHER_PYTHON}",))
    assert found.chosen is not None
    assert found.chosen.reference == f"docker.io/{OTHER_PYTHON}"
    every = [*(one.reference for one in found.candidates), *(one.reference for one in found.refused)]
    assert all(one.startswith("docker.io/") for one in every)


# Mixed hosts: which part is served, and by what.


def test_a_part_of_the_gpus_that_is_served() -> None:
    found = told(host([gpu(0, "gfx942"), gpu(1, "gfx906"), gpu(2, "gfx942")], driver=IN_TREE))
    assert found.chosen is None
    assert found.error is not None
    first = found.alternatives[0]
    assert (first.kind, first.gpus, first.reference) == ("selection", "gfx942", NEWEST)
    assert "GPU 0, 2" in first.why
    community = next(one for one in found.alternatives if one.kind == "community")
    assert community.gpus == "gfx906"
    assert community.reference.startswith("mixa3607/pytorch-gfx906:")


def test_parts_that_different_images_serve() -> None:
    # Driver 6.4 stops at ROCm 7.1, whose images hold no gfx1103; no image with gfx1103 goes with it.
    pair = host([gpu(0, "gfx942"), gpu(1, "gfx1103"), gpu(2, "gfx1101")], driver=dkms("6.12.12"))
    found = told(pair, gpus="all")
    selections = [one for one in found.alternatives if one.kind == "selection"]
    assert [one.gpus for one in selections] == ["gfx942,gfx1101"]
    assert "rocm7.1.1" in selections[0].reference


def test_a_part_of_a_part_is_told_by_addresses() -> None:
    many = host([gpu(0, "gfx942"), gpu(1, "gfx942"), gpu(2, "gfx906")], driver=IN_TREE)
    found = told(many, gpus="1,2")
    assert found.alternatives[0].gpus == "0000:11:00.0"


def test_vllm_s_families_split_a_mixed_host() -> None:
    pair = host([gpu(0, "gfx90a"), gpu(1, "gfx1100")])
    found = told(pair, image=ImageWish("rocm/vllm", rocm="7.14"))
    by_gpus = {one.gpus: one.reference for one in found.alternatives if one.kind == "selection"}
    assert "_cdna_" in by_gpus["gfx90a"]
    assert set(by_gpus) == {"gfx90a", "gfx1100"}


# GPUs that AMD's images do not serve.


def test_an_override_is_told_and_never_silent() -> None:
    where = host([gpu(0, "gfx1031")], driver=IN_TREE)
    found = told(where)
    assert found.chosen is not None
    assert found.chosen.opt_in == ("HSA_OVERRIDE_GFX_VERSION",)
    assert found.chosen.env == {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
    assert found.chosen.reference == NEWEST
    with pytest.raises(ImageError):
        plan(where)
    made = plan(where, env=dict(found.chosen.env))
    assert made.image.reference == NEWEST


def test_an_override_that_was_asked_for_is_no_more_to_be_opted_into() -> None:
    where = host([gpu(0, "gfx1031")], driver=IN_TREE)
    found = told(where, env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert found.chosen is not None
    assert (found.chosen.opt_in, found.chosen.env) == ((), {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})


def test_an_override_that_works_in_part_is_no_choice() -> None:
    # gfx902 passes for gfx900, for which llama.cpp's list has code; that works in part.
    found = told(host([gpu(0, "gfx902", kind="apu")], driver=IN_TREE), image=ImageWish("ghcr.io/ggml-org/llama.cpp"))
    assert found.chosen is None
    assert [one.kind for one in found.alternatives] == ["override"]


def test_a_clear_no() -> None:
    found = told(host([gpu(0, "gfx1010")], driver=IN_TREE))
    assert found.chosen is None
    assert found.alternatives == ()
    assert found.error is not None
    assert "gfx1010" in found.error.message
    assert "torch[device-gfx1010]" in found.error.message  # AMD publishes wheels for it
    assert "--template wheels" in str(found.error.hint)


def test_a_driver_that_is_too_old_leaves_the_nearest_image_as_untested() -> None:
    found = told(host([gpu(0, "gfx950")], driver=dkms("6.12.12")), image=ImageWish("rocm/pytorch", rocm=">=7.2"))
    assert found.chosen is None
    untested = next(one for one in found.alternatives if one.kind == "untested")
    assert "rocm7.2_" in untested.reference or "rocm7.2." in untested.reference
    assert "driver 6.4" in untested.why


def test_without_gpus_on_purpose_no_driver_is_asked() -> None:
    found = explain(profile(), host(), DOCKER, cpu=True)
    assert found.chosen is not None
    assert (found.chosen.reference, found.driver, found.gpus) == (NEWEST, None, ())


def test_a_host_without_a_gpu_is_the_host_s_fault() -> None:
    with pytest.raises(HostError):
        told(host())


def test_another_machine_s_images() -> None:
    found = told(host([gpu(0)], machine="aarch64"))
    assert found.chosen is None
    assert found.alternatives == ()
    assert all("amd64" in one.why for one in found.refused)


def test_a_named_image_is_told_of_alone() -> None:
    wish = ImageWish("rocm/pytorch", reference="rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0")
    found = told(host([gpu(0)], driver=dkms("6.12.12")), image=wish)
    assert found.chosen is not None
    assert any("not with 7.2.4" in word for word in found.chosen.why)
    assert (found.candidates, len(found.refused)) == ((), 1)
    unknown = told(host([gpu(0)]), image=ImageWish(reference="example/own:1"))
    assert unknown.chosen is not None
    assert unknown.chosen.reference == "example/own:1"
    assert any("unknown" in word for word in unknown.chosen.why)
