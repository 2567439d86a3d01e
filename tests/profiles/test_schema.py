"""The JSON Schema says what the loader does: what one takes the other takes, what one refuses the other refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rocenv.errors import UsageError
from rocenv.profile.load import check_file
from rocenv.profile.schema import json_schema
from rocenv.resources import data_folder

SOUND = [
    "extends: pytorch",
    "image: {family: rocm/pytorch, rocm: '>=7.0,<10', python: 3.12, ubuntu: 24.04, framework: {pytorch: '>=2.9'}}",
    "build: {template: pytorch, packages: {apt: [git], pip: [numpy]}, args: {JOBS: 8}, secrets: [HF_TOKEN]}",
    "gpus: 0\nvisible: hip\nuser: 1000:1000\nshm_size: 16g\nstrict: true",
    "env: {A: 1, B: true, C: text, D: null}",
    "mounts: ['~/data:/data:ro']\ncaches: [home, hf]\nloosen: [ptrace, rdma]",
    "ports: ['127.0.0.1:8000:8000', '9000:9000/udp']",
    "smoke: {level: framework, probes: [torch]}",
    "environments: {ci: {extends: pytorch, gpus: none}, other: null}",
    "mirrors: {docker.io: [m:5000]}\npolicy: {registries: [docker.io], loosen: [], digests: true}",
    "image: null\nenv: null\ncaches: null",
    "{}",
]
FAULTY = [
    "gpu: 0",
    "image: {famly: x}",
    "image: x",
    "image: {rocm: newest}",
    "env: [A]",
    "env: {'A B': 1}",
    "caches: home",
    "caches: [cellar]",
    "visible: both",
    "strict: [true]",
    "shm_size: lots",
    "ports: [http]",
    "user: me",
    "loosen: [everything]",
    "smoke: {level: all}",
    "environments: {ci: {gpu: 1}}",
    "environments: {'A B': {}}",
    "environments: {ci: {mirrors: {}}}",
    "policy: {anything: 1}",
    "mirrors: {docker.io: m}",
]
VALIDATOR = jsonschema.Draft7Validator(json_schema())


def data(text: str) -> Any:
    return yaml.safe_load(text)


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(json_schema())


@pytest.mark.parametrize("text", SOUND)
def test_sound_files_are_sound_to_both(text: str, tmp_path: Path) -> None:
    (tmp_path / "rocenv.yaml").write_text(text)
    check_file(tmp_path / "rocenv.yaml", "rocenv.yaml")
    assert [error.message for error in VALIDATOR.iter_errors(data(text))] == []


@pytest.mark.parametrize("text", FAULTY)
def test_faulty_files_are_faulty_to_both(text: str, tmp_path: Path) -> None:
    (tmp_path / "rocenv.yaml").write_text(text)
    with pytest.raises(UsageError):
        check_file(tmp_path / "rocenv.yaml", "rocenv.yaml")
    assert not VALIDATOR.is_valid(data(text))


@pytest.mark.parametrize("path", sorted(data_folder("profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_built_in_profiles_are_sound(path: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(data(path.read_text()))] == []


def test_every_key_is_described_and_its_example_is_sound() -> None:
    from rocenv.profile.keys import KEYS, PROJECT_KEYS

    for name, key in {**KEYS, **PROJECT_KEYS}.items():
        assert key.summary
        *parents, _ = name.split(".")
        value = data(key.example)
        for parent in reversed(parents):
            value = {parent: value}
        assert VALIDATOR.is_valid(value), key.example
