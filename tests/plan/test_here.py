"""An image that the engine has already: taken where it serves as well, and nothing else of the plan changes."""

from __future__ import annotations

from plan.made import PODMAN, gpu, host, plan, why

from rocenv.model.host import Driver
from rocenv.model.wish import ImageWish
from rocenv.plan.here import settled

NEWEST = "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"
OTHER = "rocm/pytorch:rocm10.1.0_ubuntu26.04_py3.14_pytorch_release_2.14.0"
OLDER = "rocm/pytorch:rocm10.0_ubuntu24.04_py3.12_pytorch_release_2.12.0"
HERE = host([gpu(0)])


def test_the_equals_of_a_choice_are_of_the_same_rocm_and_framework() -> None:
    assert plan(HERE).image.equals == (OTHER,)
    old = host([gpu(0)], driver=Driver(loaded=True, version="6.7.0", origin="dkms"))
    # By the tags of 6.3.3 with PyTorch 2.4.0 that are known: Ubuntu 22.04 with Python 3.10 and with 3.9.
    assert set(plan(old).image.equals) == {
        "rocm/pytorch:rocm6.3.3_ubuntu22.04_py3.10_pytorch_release_2.4.0",
        "rocm/pytorch:rocm6.3.3_ubuntu22.04_py3.9_pytorch_release_2.4.0",
    }


def test_an_equal_that_is_here_is_taken_and_said() -> None:
    made = plan(HERE)
    found = settled(made, {OTHER, OLDER})
    assert (found.image.reference, found.image.rocm, found.image.equals) == (OTHER, "10.1.0", (NEWEST,))
    assert "is here already" in why(found, "image")
    assert found.refused[0].reference == NEWEST
    assert OTHER not in [one.reference for one in found.refused]
    assert found.labels["rocenv.plan"] != made.labels["rocenv.plan"]
    assert (found.mounts, found.env, found.devices, found.user) == (made.mounts, made.env, made.devices, made.user)
    wanted = plan(HERE, image=ImageWish("rocm/pytorch", python="3.14"))
    assert found.labels["rocenv.plan"] == wanted.labels["rocenv.plan"]


def test_its_own_image_is_taken_where_both_are_here_and_where_none_is() -> None:
    made = plan(HERE)
    assert settled(made, {OTHER, NEWEST}) is made
    assert settled(made, set()) is made


def test_one_that_serves_less_well_is_never_taken() -> None:
    made = plan(HERE)
    assert settled(made, {OLDER}) is made


def test_what_was_named_stays() -> None:
    made = plan(HERE, image=ImageWish(reference=NEWEST))
    assert made.image.equals == ()
    assert settled(made, {OTHER}) is made


def test_podman_s_names_are_whole() -> None:
    made = plan(HERE, engine=PODMAN)
    assert made.image.equals == (f"docker.io/{OTHER}",)
    assert settled(made, {f"docker.io/{OTHER}"}).image.reference == f"docker.io/{OTHER}"
