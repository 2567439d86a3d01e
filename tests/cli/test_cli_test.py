"""`rocenv test` as a person runs it, on environments in the test bed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bed import images

if TYPE_CHECKING:
    from conftest import TestBed

KEYS = ["version", "status", "environment", "level", "probes", "blame"]


@pytest.fixture(scope="module")
def place(make_bed: Callable[[Path], TestBed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBed]:
    """A project with two environments: one of the image that stands in, and one of an image that does not say so."""
    bed = make_bed(tmp_path_factory.mktemp("test") / "proof")
    for arguments in (("pytorch",), ("hip", "--image", images.SMALL)):
        done = bed.rocenv("up", *arguments, "--gpus", "0,2", "--no-test")
        assert done.returncode == 0, done.stderr
    yield bed
    removed = bed.rocenv("down", "--all", "--volumes")
    assert removed.returncode == 0, removed.stderr


def results(answer: dict[str, Any]) -> dict[str, set[str]]:
    """Level → the results in it."""
    return {
        level: {probe["result"] for probe in answer["probes"] if probe["level"] == level}
        for level in ("access", "runtime", "kernel", "framework")
    }


def test_without_the_variable_the_cpu_proves_nothing(place: TestBed) -> None:
    done = place.rocenv("test", "pytorch", "--json")
    assert done.returncode == 6
    answer = json.loads(done.stdout)
    assert list(answer) == KEYS
    assert (answer["status"], answer["environment"], answer["level"]) == ("failed", "pytorch", "framework")
    assert results(answer) == {
        "access": {"passed"},
        "runtime": {"failed"},
        "kernel": {"skipped"},
        "framework": {"skipped"},
    }
    assert answer["blame"] == "host"


def test_with_label_and_variable_it_stands_in_and_says_so(place: TestBed) -> None:
    done = place.standing_in().rocenv("test", "pytorch", "--level", "runtime", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["status"], answer["blame"]) == (0, "ok", None)
    assert results(answer) == {"access": {"passed"}, "runtime": {"stand-in"}, "kernel": set(), "framework": set()}
    told = place.standing_in().rocenv("test", "pytorch", "--level", "runtime").stdout
    assert told.splitlines()[-1] == (
        "stand-in: no AMD GPU ran anything; shown: the nodes open; the targets in sysfs are the planned ones; "
        "not shown on a GPU: runtime"
    )


def test_variable_without_the_label_changes_nothing(place: TestBed) -> None:
    done = place.standing_in().rocenv("test", "hip", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["level"], answer["blame"]) == (6, "kernel", "image")
    assert results(answer) == {"access": {"passed"}, "runtime": {"error"}, "kernel": {"skipped"}, "framework": set()}


def test_access_alone_passes_and_the_last_line_says_what_was_shown(place: TestBed) -> None:
    done = place.rocenv("test", "pytorch", "--level", "access")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["PROBE", "LEVEL", "GPU", "RESULT", "SECONDS", "RAN", "ON"]
    assert [line.split()[2] for line in lines[1:3]] == ["0", "2"], "by their numbers on the host"
    assert lines[-1] == "2 of 2 GPUs proven: access"
    assert "access on GPU 0: passed" in done.stderr


def test_what_was_proven_is_remembered(place: TestBed) -> None:
    place.rocenv("test", "hip", "--level", "access")
    [there] = [one for one in json.loads(place.rocenv("ps", "--json").stdout)["environments"] if one["name"] == "hip"]
    assert (there["proof"]["result"], there["proof"]["level"]) == ("passed", "access")


def test_level_that_is_none(place: TestBed) -> None:
    done = place.rocenv("test", "pytorch", "--level", "kernal")
    assert done.returncode == 2
    assert "there is no level `kernal`" in done.stderr
    assert "`kernel`" in done.stderr


def test_environment_that_is_not_there(place: TestBed) -> None:
    done = place.rocenv("test", "nowhere", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["status"] == "error"
