"""Images of the user's own: what `build` of a profile adds, as a plan without an engine, and built on a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from render.recipes import profile

from rocenv.lifecycle.build import _from, built, written
from rocenv.model.plan import EngineFacts, ImageChoice, Plan

if TYPE_CHECKING:
    from conftest import TestBed

PLAN = Plan(
    profile="pytorch", project="p", name="pytorch", engine=EngineFacts("docker"),
    image=ImageChoice("rocm/pytorch:some", "catalog", digest="sha256:0", gfx=("gfx942",), size_bytes=5), gpus=(),
    devices=(), groups=(), keep_groups=False, env={}, mounts=(), security=(), cap_add=(), ipc=None, shm_size=None,
    ports=(), user=None, workdir="/workspace", labels={"rocenv.plan": "of the base"}, smoke_level="access",
)  # fmt: skip


# Debian's own docker client first: up to its release 12 it has BuildKit built in, from then on a plugin beside it.
BUILDKIT = {"PATH": "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/sbin"}
REFERENCE = "rocm/pytorch:some"


def made_from(folder: Path, plan: Plan = PLAN, **build: Any) -> Plan:
    return built(plan, profile(REFERENCE, os="ubuntu-24.04", **build), str(folder))


def test_nothing_to_build_is_the_plan_itself(tmp_path: Path) -> None:
    assert made_from(tmp_path) is PLAN
    assert made_from(tmp_path, packages={"apt": ()}) is PLAN


def test_the_chosen_image_becomes_the_base(tmp_path: Path) -> None:
    made = made_from(tmp_path, packages={"pip": ("einops",)}, secrets=("HF_TOKEN",))
    assert (made.image.base, made.image.source) == (REFERENCE, "build")
    assert made.image.reference.startswith("rocenv/pytorch:")
    assert (made.image.digest, made.image.size_bytes, made.image.gfx) == (None, None, ("gfx942",))
    assert made.dockerfile is not None
    assert made.dockerfile.startswith(f"FROM {REFERENCE}@sha256:0\n")
    assert made.labels["rocenv.plan"] != "of the base"
    assert made.reasons[0].choice == "build"
    assert "pip: einops" in made.reasons[0].why
    assert made.building is not None
    assert made.building.secrets == ("HF_TOKEN",)


def test_another_wish_is_another_image_and_another_plan(tmp_path: Path) -> None:
    one, again = (made_from(tmp_path, packages={"pip": ("einops",)}) for _ in range(2))
    other = made_from(tmp_path, packages={"pip": ("einops",)}, args={"JOBS": "8"})
    assert one == again
    assert len({one.image.reference, other.image.reference}) == 2
    assert one.labels["rocenv.plan"] != other.labels["rocenv.plan"]
    assert 'ARG JOBS="8"' in (other.dockerfile or "")


def test_another_file_of_the_context_is_another_image(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("einops\n")
    wish: dict[str, Any] = {"packages": {"pip": ("-r requirements.txt",)}, "context": "."}
    one = made_from(tmp_path, **wish)
    (tmp_path / "requirements.txt").write_text("einops==0.8\n")
    other = made_from(tmp_path, **wish)
    assert one.dockerfile == other.dockerfile
    assert one.image.reference != other.image.reference


def test_nothing_of_the_machine_is_in_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = made_from(tmp_path, packages={"pip": ("einops",)})
    for name, value in {"HTTPS_PROXY": "http://proxy.example:1", "PIP_INDEX_URL": "https://pypi.example"}.items():
        monkeypatch.setenv(name, value)
    mirrored = made_from(tmp_path, packages={"pip": ("einops",)}, mirrors={"pip": "https://pypi.example/simple"})
    assert (one.image.reference, one.dockerfile) == (mirrored.image.reference, mirrored.dockerfile)


def test_the_name_is_known_before_the_text(tmp_path: Path) -> None:
    whole, name = (
        built(PLAN, profile(REFERENCE, packages={"pip": ("einops",)}), str(tmp_path), text=text)
        for text in (True, False)
    )
    assert (name.image.reference, name.dockerfile) == (whole.image.reference, None)
    assert written(name) == whole.dockerfile


def test_a_base_under_another_name_is_named_so_in_every_stage() -> None:
    """A Dockerfile cannot name an image's id: each FROM of the base gets the name, and no other line changes."""
    text = "FROM own/base:1 AS build\nRUN echo FROM own/base:1\nFROM own/other:2\nFROM own/base:1\nFROM scratch\n"
    assert _from(text, "held:3") == (
        "FROM held:3 AS build\nRUN echo FROM own/base:1\nFROM own/other:2\nFROM held:3\nFROM scratch\n"
    )


def test_another_template_is_another_image(tmp_path: Path) -> None:
    before = made_from(tmp_path, template="on-image").image.reference
    (tmp_path / "dockerfiles").mkdir()
    (tmp_path / "dockerfiles" / "on-image.Dockerfile.j2").write_text('{% extends "rocenv/on-image.Dockerfile.j2" %}')
    assert made_from(tmp_path, template="on-image").image.reference != before


def test_a_template_of_the_project_is_taken(tmp_path: Path) -> None:
    (tmp_path / "dockerfiles").mkdir()
    (tmp_path / "dockerfiles" / "on-image.Dockerfile.j2").write_text(
        '{% extends "rocenv/on-image.Dockerfile.j2" %}{% block last %}ENV OWN=1{% endblock %}'
    )
    assert (made_from(tmp_path, template="on-image").dockerfile or "").endswith("ENV OWN=1\n")


@pytest.fixture
def home(bed: TestBed, small_image: str) -> Iterator[TestBed]:
    """A project whose profile builds on the small image; all that it made is removed."""
    here = replace(
        bed,
        project=bed.project.rename(bed.project.with_name(f"b{bed.project.parent.name.lower()[-8:]}")),
        variables={**bed.variables, **BUILDKIT},
    )
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
