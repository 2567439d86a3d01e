"""`rocenv plan` with a rocenv.lock: the locked image, and every way in which a lock does not hold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hosts import builder

from rocenv.cli import app
from rocenv.lock.text import lock_text
from rocenv.model.lock import Lock, Locked, LockedBuild, LockedImage, LockedPlatform

DIGEST, CONFIG = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
IMAGE = "rocm/pytorch:rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.9.1"
TOO_OLD = "rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.6.0"  # gfx1201 came with ROCm 6.4.1
WISH = {"image.family": "rocm/pytorch"}


class Project:
    """A project folder with a lock, and `rocenv plan` in it for a described host."""

    def __init__(self, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._hosts = tmp_path / "hosts"
        self._capfd = capfd

    def lock(self, reference: str = IMAGE, wish: Mapping[str, str] = WISH, **more: Any) -> None:
        image = LockedImage(
            reference, DIGEST, ("mirror.example/rocm/pytorch",), {"linux/amd64": LockedPlatform(CONFIG)}
        )
        (self.folder / "rocenv.lock").write_text(lock_text(Lock({"pytorch": Locked("pytorch", wish, image, **more)})))

    def settings(self, text: str) -> None:
        (self.folder / "rocenv.yaml").write_text(text)

    def plan(self, *words: str, host: str = "mi300x-bed") -> tuple[int, dict[str, Any]]:
        path = self._hosts / host
        if not path.exists():
            builder.build(builder.describe(host), path)
        status = app.run(["plan", "pytorch", "--host", str(path), *words, "--json"])
        return status, json.loads(self._capfd.readouterr().out)

    def refused(self, *words: str, code: int = 7, host: str = "mi300x-bed") -> str:
        status, answer = self.plan(*words, host=host)
        assert (status, answer["status"]) == (code, "error"), answer
        assert answer["error"]["hint"]
        return str(answer["error"]["message"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Project(folder, tmp_path, capfd)


@pytest.mark.parametrize("words", [(), ("--locked",), ("--frozen",)])
def test_the_locked_image_is_planned_by_its_digest(project: Project, words: tuple[str, ...]) -> None:
    project.lock()
    status, plan = project.plan(*words)
    assert status == 0, plan
    assert (plan["image"]["reference"], plan["image"]["digest"]) == (f"{IMAGE}@{DIGEST}", DIGEST)
    assert (plan["image"]["source"], plan["image"]["rocm"]) == ("lock", "7.1.1")
    assert f"{IMAGE}@{DIGEST}" in plan["argv"]
    [why] = [one["why"] for one in plan["reasons"] if one["choice"] == "image"]
    assert why.startswith("from rocenv.lock")
    assert plan["warnings"] == project_free(project)


def project_free(project: Project) -> list[str]:
    """The warnings of the same host without a lock."""
    warnings: list[str] = project.plan("--no-lock")[1]["warnings"]
    return warnings


def test_no_lock_plans_as_if_there_were_none(project: Project) -> None:
    _, before = project.plan()
    project.lock()
    assert project.plan("--no-lock")[1] == before
    assert before["image"]["digest"] is None


def test_another_wish_is_planned_without_the_lock_and_said(project: Project) -> None:
    project.lock()
    project.settings("extends: pytorch\nimage: {rocm: '>=7.0'}\n")
    _, plan = project.plan()
    assert plan["image"]["source"] == "catalog"
    assert any("image.rocm: not set → >=7.0" in one and "rocenv lock pytorch" in one for one in plan["warnings"])
    for word in ("--locked", "--frozen"):
        assert "image.rocm: not set → >=7.0" in project.refused(word)


def test_an_image_named_by_hand_goes_before_the_lock_and_frozen_refuses_it(project: Project) -> None:
    project.lock()
    _, plan = project.plan("--image", TOO_OLD)
    assert plan["image"]["reference"] == TOO_OLD
    assert not any("rocenv.lock" in one for one in plan["warnings"])
    assert "`--image` names another image than `rocenv.lock` holds" in project.refused("--frozen", "--image", TOO_OLD)


def test_what_else_a_profile_wishes_is_no_drift(project: Project) -> None:
    project.lock()
    project.settings("extends: pytorch\nenv: {A: b}\nports: ['8000:8000']\n")
    assert project.plan("--frozen", "--gpus", "0")[0] == 0


@pytest.mark.parametrize("word", ["--locked", "--frozen"])
def test_a_lock_that_is_demanded_must_be_there(project: Project, word: str) -> None:
    assert "there is no `rocenv.lock`" in project.refused(word)
    (project.folder / "rocenv.lock").write_text(lock_text(Lock()))
    assert "does not hold `pytorch`" in project.refused(word)
    assert project.plan()[0] == 0


def test_an_image_that_does_not_fit_is_said_and_frozen_refuses_it(project: Project) -> None:
    project.lock(TOO_OLD)
    status, plan = project.plan("--locked", host="rx9070xt-igpu")
    assert (status, plan["image"]["reference"]) == (0, f"{TOO_OLD}@{DIGEST}")
    assert any("gfx1201" in one for one in plan["warnings"])
    status, answer = project.plan("--strict", host="rx9070xt-igpu")
    assert (status, answer["error"]["hint"]) == (5, "`--no-lock` has one chosen")
    said = project.refused("--frozen", host="rx9070xt-igpu")
    assert "rocenv.lock" in said
    assert "gfx1201" in said


def test_what_is_built_must_be_what_was_locked(project: Project) -> None:
    project.settings("extends: pytorch\nbuild: {packages: {pip: [einops]}}\n")
    wish: dict[str, Any] = {**WISH, "build.packages.pip": ("einops",)}
    project.lock(wish=wish, build=LockedBuild("rocenv/pytorch:0123456789abcdef", DIGEST))
    said = project.refused("--frozen")
    assert "rocenv/pytorch:0123456789abcdef → rocenv/pytorch:" in said
    _, plan = project.plan("--locked")
    assert plan["dockerfile"].startswith(f"FROM {IMAGE}@{DIGEST}\n")
    project.lock(wish=wish, build=LockedBuild(plan["image"]["reference"], DIGEST))
    assert project.plan("--frozen")[0] == 0


def test_a_lock_meets_a_policy_that_wants_digests(project: Project) -> None:
    project.settings("extends: pytorch\npolicy: {digests: true}\n")
    project.refused()
    project.lock()
    assert project.plan()[0] == 0


def test_a_policy_of_registries_holds_for_the_lock(project: Project) -> None:
    project.settings("extends: pytorch\npolicy: {registries: [quay.io]}\n")
    project.lock()
    assert "quay.io" in project.refused()


def test_a_lock_that_cannot_be_followed_is_named_and_left_as_it_is(project: Project) -> None:
    file = project.folder / "rocenv.lock"
    file.write_text("version: 1\nprofiles:\n<<<<<<< HEAD\n")
    assert "`rocenv.lock:3`: a merge conflict" in project.refused(code=2)
    assert file.read_text() == "version: 1\nprofiles:\n<<<<<<< HEAD\n"
    assert project.plan("--no-lock")[0] == 0


def test_a_link_in_the_lock_s_place_is_not_followed(project: Project, tmp_path: Path) -> None:
    project.lock()
    (project.folder / "rocenv.lock").rename(tmp_path / "elsewhere")
    (project.folder / "rocenv.lock").symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in project.refused(code=2)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_no_lock(project: Project, make: Callable[[Path], None]) -> None:
    make(project.folder / "rocenv.lock")
    assert "no regular file" in project.refused(code=2)


def test_ways_that_exclude_each_other_are_told(project: Project) -> None:
    assert "`--no-lock` and `--frozen`" in project.refused("--no-lock", "--frozen", code=2)
