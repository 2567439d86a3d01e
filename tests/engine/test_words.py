"""What rocenv makes of an engine's words; said.yaml holds them as they were said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from rocenv.engine.words import SAYINGS, explain, no_daemon
from rocenv.errors import EngineError, ImageError, NameTakenError, UsageError

SAID = yaml.safe_load(Path(__file__).with_name("said.yaml").read_text())
CLASSES = {error.__name__: error for error in (EngineError, ImageError, NameTakenError, UsageError)}


@pytest.mark.parametrize("row", SAID, ids=[row["said"][-40:] for row in SAID])
def test_each_saying_has_its_error_its_cause_and_one_way_out(row: dict[str, str]) -> None:
    error = explain(row["said"], engine="docker", image="IMAGE")
    assert type(error) is CLASSES[row["error"]]
    assert row["message"] in error.message
    assert error.hint is not None
    assert row["hint"] in error.hint


def test_every_saying_is_in_the_table() -> None:
    for saying in SAYINGS:
        first = [next(s for s in SAYINGS if re.search(s.pattern, row["said"])) for row in SAID]
        assert saying in first, saying.pattern


def test_words_that_nobody_knows_are_shown_as_they_are() -> None:
    error = explain(
        "docker: Error response from daemon: something new went wrong.\n\nRun 'docker run --help'", engine="docker"
    )
    assert error.message == "`docker` said: something new went wrong"
    assert type(error) is EngineError


def test_words_with_braces_are_no_template() -> None:
    said = 'Conflict. The container name "/{image.__class__}" is already in use by container "x"'
    assert "`{image.__class__}` is taken" in explain(said, engine="docker", image="x").message


@pytest.mark.parametrize(
    ("endpoint", "exists", "chosen", "word", "way"),
    [
        ("unix:///run/docker.sock", False, False, "there is no socket `/run/docker.sock`", "systemctl start docker"),
        ("unix:///var/run/docker.sock", True, False, "nobody listens", "systemctl start docker"),
        ("unix:///tmp/other.sock", False, True, "there is no socket `/tmp/other.sock`", "unset DOCKER_HOST"),
        ("tcp://10.0.0.7:2375", False, True, "`tcp://10.0.0.7:2375`", "unset DOCKER_HOST"),
        ("unix:///home/me/.docker/desktop/docker.sock", True, True, "Docker Desktop", "docker context use default"),
    ],
)  # fmt: skip
def test_a_daemon_that_does_not_answer(endpoint: str, *, exists: bool, chosen: bool, word: str, way: str) -> None:
    error = no_daemon(endpoint, exists=exists, chosen=chosen)
    assert word in error.message
    assert error.hint is not None
    assert way in error.hint
