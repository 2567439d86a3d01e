"""`run --lease` and `rocenv lease` on the bed's four GPUs: real containers, real locks, real kills."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bed.demo import ROCENV

if TYPE_CHECKING:
    from conftest import TestBed

pytestmark = pytest.mark.engine

READY = "echo /dev/dri/*; cat"  # says which nodes it has, and stays until its input ends


@pytest.fixture
def leasing(home: TestBed, tmp_path: Path) -> TestBed:
    """The project with a folder of leases of its own."""
    folder = tmp_path / "leases"
    folder.mkdir()
    folder.chmod(0o1777)
    return replace(home, variables={**home.variables, "ROCENV_LEASES": str(folder)})


def listed(bed: TestBed) -> list[dict[str, Any]]:
    done = bed.rocenv("lease", "list", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["version"], found["status"]) == (1, "ok")
    return list(found["gpus"])


def modes(bed: TestBed) -> list[str | None]:
    return [gpu["lease"] for gpu in listed(bed)]


@contextmanager
def run(bed: TestBed, *words: str, script: str = READY) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A leased run, once its command is there; the second value is what that said first."""
    argv = bed.argv(str(ROCENV), "run", *words, "--", "sh", "-c", script)
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=bed.environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        assert first, running.stderr and running.stderr.read()
        yield running, first.strip()


def test_a_leased_gpu_is_nobody_elses_until_its_run_ends(leasing: TestBed) -> None:
    nodes = [gpu["render_node"] for gpu in listed(leasing)]
    assert modes(leasing) == [None] * 4
    with run(leasing, "--lease", "--gpus", "count=1") as (_, said):
        assert said == nodes[0]
        assert modes(leasing) == ["exclusive", None, None, None]
        [holder] = listed(leasing)[0]["holders"]
        assert holder["command"].startswith("docker run")
        assert holder["uid"] == leasing.project.stat().st_uid
        refused = leasing.rocenv("run", "--lease", "--gpus", "0", "--", "true")
        assert refused.returncode == 125
        assert "1 of 1 GPUs are wanted for lease, and 0 are free" in refused.stderr
        with run(leasing, "--lease", "--gpus", "count=2") as (_, other):
            assert other.split() == sorted(nodes[1:3])
    assert modes(leasing) == [None] * 4


def test_sharing_goes_with_sharing_alone(leasing: TestBed) -> None:
    with run(leasing, "--lease-shared", "--gpus", "1"):
        assert leasing.rocenv("run", "--lease-shared", "--gpus", "1", "--", "true").returncode == 0
        assert leasing.rocenv("run", "--lease", "--gpus", "1", "--", "true").returncode == 125
        assert modes(leasing) == [None, "shared", None, None]


def test_who_waits_gets_its_turn_and_is_told(leasing: TestBed) -> None:
    with run(leasing, "--lease", "--gpus", "all") as (running, _):
        argv = leasing.argv(str(ROCENV), "run", "--lease", "--gpus", "0", "--wait", "60", "--", "echo", "mine")
        pipe = subprocess.PIPE
        waiting = subprocess.Popen(argv, env=leasing.environment(), stdout=pipe, stderr=pipe, text=True)
        assert waiting.stderr is not None
        while "waiting for 1 of 1 GPUs: 0 free" not in (line := waiting.stderr.readline()):
            assert line, "it ended without waiting"
        assert running.poll() is None
    out, _ = waiting.communicate()
    assert (out, waiting.returncode) == ("mine\n", 0)


def test_release_ends_ones_own_run(leasing: TestBed) -> None:
    with run(leasing, "--lease", "--gpus", "2") as (running, _):
        done = leasing.rocenv("lease", "release", "2", "--json")
        assert done.returncode == 0, done.stderr
        assert [gpu["index"] for gpu in json.loads(done.stdout)["released"]] == [2]
        running.wait()
    assert modes(leasing) == [None] * 4
    assert "nothing to release" in leasing.rocenv("lease", "release", "--all").stderr


def test_a_lease_of_another_user_is_left_alone(leasing: TestBed) -> None:
    with run(leasing, "--lease", "--gpus", "0"):
        done = leasing.run(str(ROCENV), "lease", "release", "0", as_root=True)
        assert done.returncode == 7
        assert "left alone" in done.stderr
        assert modes(leasing)[0] == "exclusive"


def test_no_lease_outlives_a_kill_and_what_runs_on_is_not_walked_over(leasing: TestBed) -> None:
    nodes = [gpu["render_node"] for gpu in listed(leasing)]
    with run(leasing, "--lease", "--gpus", "0", script="echo /dev/dri/*; sleep 600") as (running, _):
        [holder] = listed(leasing)[0]["holders"]
        leasing.run("kill", "-KILL", str(holder["pid"]))
        running.wait()
    assert modes(leasing) == [None] * 4
    refused = leasing.rocenv("run", "--lease", "--gpus", "0", "--", "true")
    assert refused.returncode == 125
    assert "still runs on a GPU" in refused.stderr
    with run(leasing, "--lease", "--gpus", "count=1") as (_, said):
        assert said == nodes[1]
    assert leasing.rocenv("prune").returncode == 0
    assert leasing.rocenv("run", "--lease", "--gpus", "0", "--", "true").returncode == 0


def test_jobs_at_once_never_meet_on_a_gpu(leasing: TestBed) -> None:
    script = (
        "for node in /dev/dri/*; do mkdir /workspace/in-use-${node##*/} || exit 9; done; "
        "for node in /dev/dri/*; do rmdir /workspace/in-use-${node##*/} || exit 8; done"
    )
    words = [str(ROCENV), "run", "--lease", "--wait", "100", "--gpus"]
    counts = [f"count={1 + number % 3}" for number in range(8)]
    jobs = [
        subprocess.Popen(
            leasing.argv(*words, count, "--", "sh", "-c", script), env=leasing.environment(),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for count in counts
    ]  # fmt: skip
    said = [job.communicate()[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0] * len(jobs), said


@pytest.mark.parametrize(
    "words", [("--wait", "5"), ("--lease", "--lease-shared"), ("--lease", "--cpu"), ("--lease", "--wait", "-1")]
)
def test_what_makes_no_sense_is_told(leasing: TestBed, words: tuple[str, ...]) -> None:
    done = leasing.rocenv("run", *words, "--", "true")
    assert done.returncode == 125
    assert done.stderr.startswith("error: ")
