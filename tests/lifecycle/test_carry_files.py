"""What a bundle carries of settings: everything but secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocenv.errors import UsageError
from rocenv.lifecycle.carry.files import left_behind, profile_files, without_secrets
from rocenv.profile import load_profile

SETTINGS = """\
extends: pytorch  # for training
env:
  HF_TOKEN: hf_verysecret
  WANDB_API_KEY: "wandb_verysecret"   # mine
  AWS_SECRET_ACCESS_KEY: $AWS_SECRET_ACCESS_KEY
  NCCL_DEBUG: INFO
environments:
  größer: null
  eval:
    env: {PASSWORD: 'x y', A: b}
"""
CARRIED = """\
extends: pytorch  # for training
env:
  HF_TOKEN: $HF_TOKEN
  WANDB_API_KEY: $WANDB_API_KEY   # mine
  AWS_SECRET_ACCESS_KEY: $AWS_SECRET_ACCESS_KEY
  NCCL_DEBUG: INFO
environments:
  größer: null
  eval:
    env: {PASSWORD: $PASSWORD, A: b}
"""


def test_secrets_are_carried_by_name_alone() -> None:
    assert without_secrets(SETTINGS.encode(), "rocenv.yaml").decode() == CARRIED


def test_settings_without_a_secret_stay_as_they_are() -> None:
    assert without_secrets(CARRIED.encode(), "rocenv.yaml").decode() == CARRIED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("env: {HF_TOKEN: hf_x1, OTHER: hf_x1}\n", "`rocenv.yaml:1`: the value of `HF_TOKEN` stands elsewhere"),
        ("# hf_x1\nenv: {HF_TOKEN: hf_x1}\n", "`rocenv.yaml:2`: the value of `HF_TOKEN` stands elsewhere"),
        ("build: {args: {API_KEY: k}}\n", "`rocenv.yaml:1`: the build argument `API_KEY`"),
        ("environments: {a: {build: {args: {API_KEY: k}}}}\n", "the build argument `API_KEY`"),
        ("env: {A_TOKEN: &a s3cr3t, B: *a}\n", "alias"),
    ],
)
def test_a_secret_that_would_be_left_is_an_error(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        without_secrets(text.encode(), "rocenv.yaml")
    assert says in caught.value.message
    assert caught.value.hint
    assert "s3cr3t" not in caught.value.message + caught.value.hint


def test_the_user_s_own_profiles_go_along_those_that_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "rocenv" / "profiles"
    folder.mkdir(parents=True)
    (folder / "base.yaml").write_text("extends: hip\nenv: {HF_TOKEN: hf_x1}\n")
    (folder / "train.yaml").write_text("extends: base\nsummary: training\n")
    (folder / "unused.yaml").write_text("extends: hip\n")
    project = tmp_path / "project"
    project.mkdir()
    found = dict(profile_files([load_profile("train", project=project, overrides={})]))
    assert found == {
        "rocenv/profiles/base.yaml": b"extends: hip\nenv: {HF_TOKEN: $HF_TOKEN}\n",
        "rocenv/profiles/train.yaml": b"extends: base\nsummary: training\n",
    }


def test_wishes_by_settings_of_this_machine_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ROCENV_IMAGE_PYTHON", "3.12")
    (tmp_path / "rocenv").mkdir()
    (tmp_path / "rocenv" / "rocenv.yaml").write_text("image: {rocm: '>=7.0'}\nshm_size: 8g\n")
    profile = load_profile("pytorch", project=tmp_path, overrides={})
    assert list(left_behind(profile, ["image.family", "image.python", "image.rocm"])) == [
        ("image.python", "ROCENV_IMAGE_PYTHON"),
        ("image.rocm", "~/.config/rocenv/rocenv.yaml:1"),
    ]
