"""Images of the user's own: what `build` of a profile adds, as a plan without an engine, and built on a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rocenv.errors import UsageError
from rocenv.lifecycle.build import built
from rocenv.model.plan import EngineFacts, ImageChoice, Plan
from rocenv.model.wish import BuildWish

if TYPE_CHECKING:
    from conftest import TestBed

PLAN = Plan(
    profile="pytorch", project="p", name="pytorch", engine=EngineFacts("docker"),
    image=ImageChoice("rocm/pytorch:some", "catalog", digest="sha256:0", gfx=("gfx942",), size_bytes=5), gpus=(),
    devices=(), groups=(), keep_groups=False, env={}, mounts=(), security=(), cap_add=(), ipc=None, shm_size=None,
    ports=(), user=None, workdir="/workspace", labels={"rocenv.plan": "of the base"}, smoke_level="access",
)  # fmt: skip


def test_nothing_to_build_is_the_plan_itself() -> None:
    assert built(PLAN, BuildWish()) is PLAN
    assert built(PLAN, BuildWish(packages={"apt": ()})) is PLAN


def test_the_chosen_image_becomes_the_base() -> None:
    made = built(PLAN, BuildWish(packages={"pip": ("einops",)}))
    assert (made.image.base, made.image.source) == ("rocm/pytorch:some", "build")
    assert made.image.reference.startswith("rocenv/pytorch:")
    assert (made.image.digest, made.image.size_bytes, made.image.gfx) == (None, None, ("gfx942",))
    assert made.dockerfile is not None
    assert made.dockerfile.startswith("FROM rocm/pytorch:some\n")
    assert made.labels["rocenv.plan"] != "of the base"
    assert made.reasons[0].choice == "build"
    assert "pip: einops" in made.reasons[0].why


def test_another_wish_is_another_image_and_another_plan() -> None:
    one = built(PLAN, BuildWish(packages={"pip": ("einops",)}))
    again = built(PLAN, BuildWish(packages={"pip": ("einops",)}))
    other = built(PLAN, BuildWish(packages={"pip": ("einops",)}, args={"JOBS": "8"}))
    assert one == again
    assert len({one.image.reference, other.image.reference}) == 2
    assert one.labels["rocenv.plan"] != other.labels["rocenv.plan"]
    assert 'ARG JOBS="8"' in (other.dockerfile or "")


def test_what_is_not_served_is_refused() -> None:
    with pytest.raises(UsageError, match="secrets"):
        built(PLAN, BuildWish(packages={"pip": ("einops",)}, secrets=("HF_TOKEN",)))


@pytest.fixture
def home(bed: TestBed, small_image: str) -> Iterator[TestBed]:
    """A project whose profile builds on the small image; all that it made is removed."""
    here = replace(bed, project=bed.project.rename(bed.project.with_name(f"b{bed.project.parent.name.lower()[-8:]}")))
    (here.project / "rocenv.yaml").write_text(
        f"extends: hip\nimage: {{reference: '{small_image}'}}\nbuild: {{template: on-image}}\n"
    )
    yield here
    here.rocenv("down", "--volumes")
    images = here.docker("images", "-q", "--filter=label=rocenv.image.profile").stdout.split()
    if images:
        here.docker("rmi", "-f", *images)


def test_up_builds_once_what_the_profile_asks_for(home: TestBed, small_image: str) -> None:
    done = home.rocenv("up", "--no-test", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)  # what the build printed is talk: stdout holds the answer alone
    reference = answer["environment"]["reference"]
    assert reference.startswith("rocenv/hip:")
    assert answer["plan"]["image"]["base"] == small_image
    assert "building rocenv/hip:" in done.stderr
    labels = json.loads(home.docker("image", "inspect", "--format", "{{json .Config.Labels}}", reference).stdout)
    assert labels["rocenv.image.base"] == small_image
    assert "rocenv.version" not in labels

    assert home.rocenv("down").returncode == 0
    again = home.rocenv("up", "--no-test")
    assert again.returncode == 0, again.stderr
    assert "building" not in again.stderr


def test_a_build_that_fails_is_an_image_that_cannot_be_had(home: TestBed, small_image: str) -> None:
    (home.project / "rocenv.yaml").write_text(
        f"extends: hip\nimage: {{reference: '{small_image}'}}\nbuild: {{packages: {{apt: [git]}}}}\n"
    )
    done = home.rocenv("up", "--no-test")
    assert done.returncode == 5, done.stderr
    assert "apt-get" in done.stderr
    assert "error: building `rocenv/hip:" in done.stderr
    assert home.docker("ps", "-aq", f"--filter=name={home.project.name}").stdout == ""
