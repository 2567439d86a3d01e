"""`stop`, `start`, `top` and `prune`, typed by a user on the bed; what is another's stays, however it is called."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from bed.demo import ROCENV

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import TestBed

pytestmark = pytest.mark.engine


def answer(bed: TestBed, *words: str) -> dict[str, Any]:
    done = bed.rocenv(*words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["version"], found["status"]) == (1, "ok")
    return found


def listed(bed: TestBed) -> dict[str, Any]:
    """The project's only environment, as `ps` tells it."""
    [there] = [one for one in answer(bed, "ps")["environments"] if one["project"] == bed.project.name]
    return dict(there)


@pytest.fixture
def up(home: TestBed) -> TestBed:
    answer(home, "up", "--no-test", "--gpus", "1,2")
    return home


def test_stop_and_start_keep_the_container(up: TestBed) -> None:
    assert up.rocenv("exec", "--", "sh", "-c", "echo here > /tmp/kept").returncode == 0
    stopped = answer(up, "stop")
    assert (stopped["action"], stopped["environment"]["state"]) == ("stopped", "exited")
    assert answer(up, "stop")["action"] == "none"
    started = answer(up, "start")
    assert (started["action"], started["environment"]["state"]) == ("started", "running")
    assert answer(up, "start")["action"] == "used"
    assert up.rocenv("exec", "--", "cat", "/tmp/kept").stdout == "here\n"


def test_what_is_not_there_is_told(home: TestBed) -> None:
    for verb in ("stop", "start"):
        done = home.rocenv(verb, "nothing")
        assert done.returncode == 2
        assert "has no environment `nothing`" in done.stderr


def test_start_makes_a_container_anew_whose_nodes_have_other_numbers(up: TestBed) -> None:
    """A reboot is played by a label that tells of other numbers: those of the nodes when the container was made."""
    there = listed(up)
    assert up.rocenv("exec", "--", "sh", "-c", "echo mine > $HOME/note").returncode == 0
    [made] = json.loads(up.docker("inspect", there["container"]).stdout)
    labels = dict(made["Config"]["Labels"])
    nodes = json.loads(labels["rocenv.nodes"])
    path = max(nodes["devices"])
    nodes["devices"][path] = "226:99"
    labels["rocenv.nodes"] = json.dumps(nodes)
    up.docker("rm", "-f", there["container"])
    words = [f"--label={key}={value}" for key, value in labels.items() if key.startswith("rocenv.")]
    assert up.docker("create", f"--name={there['container']}", *words, made["Config"]["Image"]).returncode == 0
    done = up.rocenv("start")
    assert done.returncode == 0, done.stderr
    assert f"{path} is" in done.stderr
    assert "and was 226:99" in done.stderr
    assert "made anew" in done.stderr
    assert up.rocenv("exec", "--", "sh", "-c", "cat $HOME/note").stdout == "mine\n"
    assert [gpu["index"] for gpu in listed(up)["gpus"]] == [1, 2]


class TestPrune:
    @pytest.fixture
    def others(self, up: TestBed) -> Iterator[list[str]]:
        """Containers that look like what rocenv leaves, and are not its own or not this user's."""
        mark = up.project.name
        uid = str(up.project.stat().st_uid)
        alike = [
            {"rocenv.version": "1", "rocenv.once": "1", "rocenv.owner": "4711"},
            {"rocenv.version": "1", "rocenv.once": "1", "rocenv.owner": "../0"},
            {"rocenv.version": "1", "rocenv.once": "1", "rocenv.owner": uid, "rocenv.project": "x", "rocenv.name": "y"},
            {"rocenv.version": "1", "rocenv.owner": uid, "rocenv.project": mark, "rocenv.name": "z"},
        ]
        names = [f"alike-{mark}-{number}" for number in range(len(alike))]
        for name, labels in zip(names, alike, strict=True):
            words = [f"--label={key}={value}" for key, value in labels.items()]
            assert up.docker("run", f"--name={name}", *words, "rocenv/small:1", "true").returncode == 0
        yield names
        up.docker("rm", "-f", *names)

    def test_what_has_ended_goes_and_all_else_stays(self, up: TestBed, others: list[str]) -> None:
        mark = up.project.name
        uid = up.project.stat().st_uid
        name = f"rocenv-{mark}-hip-run-0a0a0a0a"
        labels = {"version": "1", "once": "1", "owner": uid, "project": mark, "name": "hip-run-0a0a0a0a"}
        words = [f"--label=rocenv.{key}={value}" for key, value in labels.items()]
        assert up.docker("run", f"--name={name}", *words, "rocenv/small:1", "true").returncode == 0
        assert name not in [one["container"] for one in answer(up, "prune", "--older-than", "7d")["containers"]]
        shown = answer(up, "prune", "--dry-run")
        assert name in [one["container"] for one in shown["containers"]]
        assert not {one["container"] for one in shown["containers"]}.intersection(others)
        assert name in up.docker("ps", "-a", "--format", "{{.Names}}").stdout.split()
        gone = answer(up, "prune")
        assert name in [one["container"] for one in gone["containers"]]
        left = up.docker("ps", "-a", "--format", "{{.Names}}").stdout.split()
        assert set(others) <= set(left)
        assert f"rocenv-{mark}-hip" in left
        assert name not in left

    def test_a_run_that_was_killed_outright_leaves_nothing_for_ever(self, home: TestBed) -> None:
        argv = home.argv(str(ROCENV), "run", "--", "sh", "-c", "echo $HOSTNAME; sleep 600")
        listed = ["ps", "-a", "--no-trunc", f"--filter=label=rocenv.project={home.project.name}", "--format", "{{.ID}}"]
        with subprocess.Popen(argv, env=home.environment(), stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            short = running.stdout.readline().strip()
            [identity] = home.docker(*listed).stdout.split()
            assert identity.startswith(short)
            assert identity not in [one["id"] for one in answer(home, "prune")["containers"]]  # it is in use
            name = home.docker("inspect", "--format", "{{.Name}}", identity).stdout.strip().lstrip("/")
            home.run("sh", "-c", f"pkill -KILL -f -- '^docker run .*--name={name} '")
        assert home.docker(*listed).stdout.split() == [identity]  # the engine goes on with it
        assert identity in [one["id"] for one in answer(home, "prune")["containers"]]
        assert home.docker(*listed).stdout == ""

    def test_volumes_only_where_they_are_asked_for(self, up: TestBed) -> None:
        caches = {one for one in up.docker("volume", "ls", "-q").stdout.split() if one.startswith("rocenv-cache-home-")}
        assert up.rocenv("down").returncode == 0
        assert answer(up, "prune")["volumes"] == []
        shown = {one["name"] for one in answer(up, "prune", "--volumes", "--dry-run")["volumes"]}
        assert shown & caches
        assert answer(up, "prune", "--volumes", "--older-than", "1d")["volumes"] == []

    @pytest.mark.parametrize("age", ["7", "d", "-1d", "7 days", "1e9d"])
    def test_what_is_no_age_is_told(self, home: TestBed, age: str) -> None:
        done = home.rocenv("prune", "--older-than", age)
        assert done.returncode == 2
        assert "7d" in done.stderr


def test_top_shows_every_gpu_where_nobody_computes(home: TestBed) -> None:
    found = answer(home, "top")
    assert [(gpu["gfx"], gpu["processes"]) for gpu in found["gpus"]] == [("gfx942", [])] * 4
    assert home.rocenv("top").stdout.count("gfx942") == 4


def test_down_volumes_leaves_nothing_of_the_project(up: TestBed) -> None:
    assert up.rocenv("down", "--volumes").returncode == 0
    mine = f"--filter=label=rocenv.project={up.project.name}"
    assert up.docker("ps", "-aq", mine).stdout == ""
    assert up.docker("volume", "ls", "-q", mine).stdout == ""
