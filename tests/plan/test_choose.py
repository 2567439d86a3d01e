"""Which image: by the targets of all GPUs, the driver, the profile's constraints, and the stream."""

from __future__ import annotations

import pytest
from plan.made import DOCKER, PODMAN, gpu, host, plan, profile, why

from rocenv.errors import ImageError, UsageError
from rocenv.model.host import Driver, Host
from rocenv.model.wish import ImageWish
from rocenv.plan.choose import choose

PYTORCH = "rocm/pytorch:"
IN_TREE = Driver(loaded=True, version=None, origin="in-tree")


def dkms(module: str, release: str | None = None) -> Driver:
    return Driver(loaded=True, version=module, origin="dkms", release=release)


def with_driver(gfx: str, driver: Driver, **facts: object) -> Host:
    return host([gpu(0, gfx, **facts)], driver=driver)


# By hand from the catalog's facts: AMD's tables of which driver goes with which ROCm, and the tags that were read.
@pytest.mark.parametrize(
    ("gfx", "driver", "expected"),
    [
        ("gfx942", dkms("6.16.13", "30.30.4"), "rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"),
        ("gfx942", dkms("6.14.14"), "rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"),
        ("gfx942", dkms("6.12.12"), "rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.10.0"),
        ("gfx942", dkms("6.7.0"), "rocm6.3.3_ubuntu24.04_py3.12_pytorch_release_2.4.0"),
        ("gfx90a", dkms("6.3.6"), "rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0"),
        ("gfx942", IN_TREE, "rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"),
        ("gfx942", dkms("6.18.3"), "rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"),
        ("gfx942", dkms("6.19.14", "31.40.0"), "rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"),
        ("gfx1103", IN_TREE, "rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"),
        ("gfx1101", dkms("6.12.12"), "rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.10.0"),
    ],
)
def test_the_newest_production_release_that_fits_wins(gfx: str, driver: Driver, expected: str) -> None:
    assert plan(with_driver(gfx, driver)).image.reference == PYTORCH + expected


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (ImageWish("rocm/pytorch", rocm="7.2"), "rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"),
        (ImageWish("rocm/pytorch", rocm=">=7,<7.2"), "rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.10.0"),
        (ImageWish("rocm/pytorch", python="3.13"), "rocm10.0_ubuntu24.04_py3.13_pytorch_release_2.13.0"),
        (ImageWish("rocm/pytorch", ubuntu="26.04"), "rocm10.1.0_ubuntu26.04_py3.14_pytorch_release_2.14.0"),
        (ImageWish("rocm/pytorch", ubuntu="22.04"), "rocm7.2_ubuntu22.04_py3.10_pytorch_release_2.9.1"),
        (
            ImageWish("rocm/pytorch", framework={"pytorch": "2.11"}),
            "rocm7.14.1_ubuntu24.04_py3.12_pytorch_release_2.11.0",
        ),
        (
            ImageWish("rocm/pytorch", framework={"pytorch": ">=2.9,<2.10"}),
            "rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.9.1",
        ),
    ],
)
def test_constraints_of_the_profile_hold(wish: ImageWish, expected: str) -> None:
    assert plan(host([gpu(0)]), image=wish).image.reference == PYTORCH + expected


def test_every_other_image_is_refused_with_a_fact() -> None:
    made = plan(with_driver("gfx1101", dkms("6.12.12")))
    refused = {one.reference.removeprefix(PYTORCH): one.why for one in made.refused}
    assert (
        "driver 6.4 (module 6.12.12) goes with ROCm" in refused["rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"]
    )
    assert "no code for gfx1101" in refused["rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0"]
    assert "unverified" in refused["rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0"]
    assert "ROCm 7.1 is older than 7.1.1" in refused["rocm7.1_ubuntu24.04_py3.12_pytorch_release_2.8.0"]
    assert "2.9.1 is older than 2.10.0" in refused["rocm7.1.1_ubuntu22.04_py3.10_pytorch_release_2.9.1"]
    assert made.image.reference.removeprefix(PYTORCH) not in refused
    assert all(refused.values())


def test_an_unverified_list_is_said_to_be_one() -> None:
    assert "unverified" in why(plan(with_driver("gfx942", dkms("6.12.12"))), "image")
    assert "unverified" not in why(plan(with_driver("gfx942", dkms("6.16.13"))), "image")


def test_a_doubtful_tag_is_the_last_choice() -> None:
    wish = ImageWish("rocm/pytorch", rocm="6.4.1", ubuntu="24.04")
    assert plan(host([gpu(0)]), image=wish).image.reference.endswith("pytorch_release_2.6.0")


def test_all_chosen_gpus_must_be_served() -> None:
    pair = host([gpu(0, "gfx942"), gpu(1, "gfx1103")], driver=dkms("6.12.12"))
    with pytest.raises(ImageError) as caught:
        plan(pair)
    assert "gfx942, gfx1103" in caught.value.message
    assert plan(pair, gpus="gfx942").image.rocm == "7.1.1"


def test_a_gpu_that_no_image_serves_names_the_selection_that_is_served() -> None:
    with pytest.raises(ImageError) as caught:
        plan(host([gpu(0, "gfx942"), gpu(1, "gfx906")], driver=IN_TREE))
    assert "gfx906" in caught.value.message
    assert "--gpus gfx942" in str(caught.value.hint)


def test_a_community_build_is_named_as_one_and_never_chosen() -> None:
    with pytest.raises(ImageError) as caught:
        plan(host([gpu(0, "gfx906")], driver=IN_TREE))
    assert "not AMD's" in str(caught.value.hint)
    assert "mixa3607/pytorch-gfx906" in str(caught.value.hint)


def test_an_override_is_only_offered_where_an_image_serves_what_it_stands_for() -> None:
    with pytest.raises(ImageError) as caught:  # gfx90c passes for gfx900, which no image of the family serves either
        plan(host([gpu(0, "gfx90c", kind="apu")], driver=IN_TREE))
    assert "HSA_OVERRIDE" not in str(caught.value.hint)


def test_a_driver_too_old_for_the_target_names_the_nearest_image_and_the_mend() -> None:
    with pytest.raises(ImageError) as caught:
        plan(with_driver("gfx1103", dkms("6.8.5"), kind="apu"))
    assert "driver 6.2 (module 6.8.5)" in caught.value.message
    assert "rocm7.14" in str(caught.value.hint)
    assert "kernel's own driver" in str(caught.value.hint)


def test_constraints_that_nothing_meets_are_the_profile_s_fault() -> None:
    with pytest.raises(ImageError) as caught:
        plan(host([gpu(0)]), image=ImageWish("rocm/pytorch", rocm=">=12"))
    assert "is not >=12" in caught.value.message
    assert "--origin" in str(caught.value.hint)


def test_an_unknown_family_and_a_constraint_that_is_none() -> None:
    with pytest.raises(UsageError, match="no image family"):
        plan(host([gpu(0)]), image=ImageWish("rocm/pytroch"))
    with pytest.raises(UsageError, match="no constraint"):
        plan(host([gpu(0)]), image=ImageWish("rocm/pytorch", rocm="newest"))


def test_amd64_alone() -> None:
    with pytest.raises(ImageError, match="amd64"):
        plan(host([gpu(0)], machine="aarch64"))


def test_a_preview_is_taken_where_it_is_named() -> None:
    made = plan(host([gpu(0)], driver=IN_TREE), image=ImageWish("rocm/vllm", rocm="7.13"))
    assert made.image.reference == "rocm/vllm:rocm7.13.0_gfx94X-dcgpu_ubuntu24.04_py3.13_pytorch_2.10.0_vllm_0.19.1"


def test_the_gpu_family_in_a_tag_is_the_one_that_is_there() -> None:
    wish = ImageWish("rocm/vllm", rocm="7.14")
    assert "_cdna_" in plan(host([gpu(0)]), image=wish).image.reference
    assert "_rdna_" in plan(host([gpu(0, "gfx1201")]), image=wish).image.reference


def test_an_image_with_a_compiler_serves_targets_that_no_list_holds() -> None:
    made = plan(host([gpu(0, "gfx1036", kind="apu")], driver=IN_TREE), image=ImageWish("rocm/dev-ubuntu"))
    assert made.image.reference == "rocm/dev-ubuntu-24.04:10.1.0-full"
    assert "never held gfx1036" in why(made, "image")


# A named image: taken, with what speaks against it said.


def test_a_named_image_is_read_by_its_family_s_grammar() -> None:
    made = plan(
        with_driver("gfx942", dkms("6.12.12")),
        image=ImageWish(reference="rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"),
    )
    assert made.image.source == "flag"
    assert made.image.rocm == "7.2.4"
    assert [one for one in made.warnings if "driver 6.4" in one and "not with 7.2.4" in one]


def test_a_named_image_of_the_wrong_target_warns_and_strict_refuses() -> None:
    wish = ImageWish(reference="rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12_vllm_0.6.6")
    where = host([gpu(0, "gfx1100")], driver=IN_TREE)
    assert [one for one in plan(where, image=wish).warnings if "gfx1100" in one]
    with pytest.raises(ImageError, match="gfx1100"):
        plan(where, image=wish, strict=True)


@pytest.mark.parametrize("reference", ["example/own", "lmsysorg/sglang:v0.5.18-cu130", "localhost:5000/x:1"])
def test_an_image_that_no_family_describes_is_taken_as_given_and_said_to_be_unknown(reference: str) -> None:
    made = plan(host([gpu(0)]), image=ImageWish("rocm/pytorch", reference=reference))
    assert made.image.rocm is None
    assert made.image.gfx == ()
    assert "unknown" in why(made, "image")
    assert made.refused == ()


def test_a_moving_tag_is_said_to_move() -> None:
    assert "moves" in why(plan(host([gpu(0)]), image=ImageWish(reference="rocm/pytorch")), "image")


@pytest.mark.parametrize(
    "reference", ["", "a b", "UPPER/x", "x:$(id)", "../x", "x@sha256:zz", "x:" + "a" * 129, "-v", "x/../y"]
)
def test_a_malformed_reference_is_a_usage_error(reference: str) -> None:
    with pytest.raises(UsageError, match="no image reference"):
        plan(host([gpu(0)]), image=ImageWish(reference=reference))


def test_a_digest_is_kept() -> None:
    digest = "sha256:" + "a" * 64
    made = plan(host([gpu(0)]), image=ImageWish(reference=f"rocm/pytorch@{digest}"))
    assert made.image.digest == digest
    assert made.image.reference == f"rocm/pytorch@{digest}"


def test_podman_is_told_the_registry() -> None:
    assert plan(host([gpu(0)]), engine=PODMAN).image.reference.startswith("docker.io/rocm/pytorch:")
    assert plan(host([gpu(0)]), engine=DOCKER).image.reference.startswith("rocm/pytorch:")


def test_without_a_gpu_no_driver_is_asked() -> None:
    picked = choose(profile(), (), host(driver=dkms("6.3.6")))
    assert picked.image.rocm == "10.1.0"
    assert not [one for one in picked.reasons if "driver" in one.why]


def test_an_apu_under_the_dkms_driver_is_warned_of() -> None:
    made = plan(with_driver("gfx1151", dkms("6.16.6"), kind="apu"))
    assert [one for one in made.warnings if "kernel's own driver" in one]
    mi300a = host([gpu(0, "gfx942", kind="apu")])._replace(driver=dkms("6.16.6"))
    assert not [one for one in plan(mi300a).warnings if "kernel's own driver" in one]


def test_what_is_known_to_break_a_gpu_here_is_a_warning_of_the_plan() -> None:
    # Kernels before 6.18.4 are unstable with Strix Halo, Ubuntu's OEM kernel is not (kyuz0/amd-strix-halo-toolboxes).
    strix = [gpu(0, "gfx1151", kind="apu")]
    warned = plan(host(strix, driver=IN_TREE, kernel="6.8.0-60-generic")).warnings
    assert [one for one in warned if "6.18.4" in one]
    assert plan(host(strix, driver=IN_TREE, kernel="6.18.4")).warnings == ()
    assert plan(host(strix, driver=IN_TREE, kernel="6.17.0-1028-oem")).warnings == ()


def test_a_hazard_of_an_image_is_a_warning_where_nothing_better_is_there() -> None:
    wish = ImageWish("rocm/dev-ubuntu", rocm=">=7.2")
    made = plan(host([gpu(0, "gfx906")], driver=IN_TREE), image=wish)
    assert [one for one in made.warnings if "rocBLAS" in one]
    assert "rocBLAS" in why(made, "image")


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("rocm/pytorhc", "did you mean `rocm/pytorch`?"),
        ("vllm", "did you mean `rocm/vllm`?"),
        ("zzz", "`rocenv images` lists the families"),
    ],
)
def test_a_family_that_is_none_leads_to_the_nearest(name: str, way: str) -> None:
    with pytest.raises(UsageError, match=f"no image family `{name}`") as caught:
        choose(profile(image=ImageWish(name)), [gpu(0)], host([gpu(0)]))
    assert caught.value.hint == way


def test_a_framework_that_no_tag_tells_is_named_as_such() -> None:
    wish = ImageWish("rocm/pytorch", framework={"torch": ">=2"})
    with pytest.raises(ImageError, match="tells a version of `torch`") as caught:
        choose(profile(image=wish), [gpu(0)], host([gpu(0)]))
    assert caught.value.hint == "name pytorch in `framework:`"
