"""What a profile wishes of its image, how wishes differ, and how locks do."""

from __future__ import annotations

import pytest
from lock.locks import HIP, INDEX, LOCK, OTHER, TRAIN
from plan.made import profile

from rocenv.errors import UsageError
from rocenv.lock.compare import changed, differences, mirrored, wish_of
from rocenv.model.lock import Difference, Lock
from rocenv.model.wish import BuildWish, ImageWish


def test_a_wish_is_what_decides_the_image_and_nothing_else() -> None:
    one = profile(
        image=ImageWish("rocm/pytorch", rocm=">=7.0", framework={"pytorch": ">=2.9"}),
        build=BuildWish(packages={"pip": ("einops",)}, args={"JOBS": "8"}),
        env={"HF_TOKEN": "hf_very_secret"}, gpus="0", ports=("8000:8000",),
    )  # fmt: skip
    assert wish_of(one) == {
        "image.family": "rocm/pytorch",
        "image.rocm": ">=7.0",
        "image.framework.pytorch": ">=2.9",
        "build.packages.pip": ("einops",),
        "build.args.JOBS": "8",
    }


def test_a_secret_build_argument_is_in_no_lock() -> None:
    build = BuildWish(
        "on-image",
        args={"HF_TOKEN": "hf_very_secret", "TOKENS": "3"},
        secrets=("NETRC=/home/me/.netrc",),
        mirrors={"pip": "https://me:hf_very_secret@mirror"},
    )
    wish = wish_of(profile(build=build))
    assert "hf_very_secret" not in str(wish)
    assert "/home/me" not in str(wish)
    assert (wish["build.args.HF_TOKEN"], wish["build.args.TOKENS"]) == ("set", "3")


def test_a_named_image_is_wished_whatever_the_family_is() -> None:
    assert wish_of(profile(image=ImageWish("rocm/pytorch", "rocm/vllm:x"))) == {"image.reference": "rocm/vllm:x"}


def test_what_changed_is_told_key_by_key() -> None:
    now = profile(
        image=ImageWish("rocm/pytorch", rocm=">=7.2"),
        build=BuildWish(packages={"pip": ("einops", "hydra-core>=1.3"), "apt": ("git",)}, args={"JOBS": "8"}),
    )
    assert changed(TRAIN, now) == ["build.packages.apt: not set → git", "image.rocm: >=7.0 → >=7.2"]


def test_the_difference_of_two_locks_is_told_fact_by_fact() -> None:
    renewed = TRAIN._replace(image=TRAIN.image._replace(digest=OTHER, gfx=("gfx942",)), proof=None)
    assert differences(LOCK, Lock({"train": renewed, "hip": HIP})) == (
        Difference("train", "image.digest", INDEX, OTHER),
        Difference("train", "image.gfx", "gfx90a, gfx942", "gfx942"),
        Difference("train", "proof.result", "passed", None),
        Difference("train", "proof.level", "kernel", None),
        Difference("train", "proof.driver", "6.16.6", None),
        Difference("train", "proof.gpus.gfx942", "8", None),
    )
    assert differences(LOCK, LOCK) == ()
    assert {one.fact for one in differences(Lock({"train": TRAIN}), LOCK)} == {
        "wish.image.reference", "image.reference", "image.digest",
    }  # fmt: skip


def test_an_image_is_known_by_each_of_its_digests_once() -> None:
    assert TRAIN.image.ids == (f"sha256:{'2' * 64}", f"sha256:{'3' * 64}", INDEX)
    assert TRAIN.image.pinned.endswith(f"_2.9.1@{INDEX}")


def test_mirrors_hold_the_same_repository() -> None:
    mirrors = {"docker.io": ("mirror.example:5000", "registry.example/hub/"), "ghcr.io": ("other.example",)}
    assert mirrored("rocm/pytorch:x", mirrors) == (
        "mirror.example:5000/rocm/pytorch",
        "registry.example/hub/rocm/pytorch",
    )
    assert mirrored("quay.io/rocm/pytorch:x", mirrors) == ()
    with pytest.raises(UsageError, match="https://mirror"):
        mirrored("rocm/pytorch:x", {"docker.io": ("https://mirror",)})
