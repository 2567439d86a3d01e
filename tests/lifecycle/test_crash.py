"""rocenv killed at every single step: what the next `up` or `down` makes of it.

A `docker` that stands first on PATH counts its calls, and at the chosen one sends a signal to whoever called it: before
the real docker runs, or after it. So every point between two of the engine's steps is met, each time the same one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lifecycle.conftest import Life

pytestmark = pytest.mark.engine

SHIM = """#!/bin/sh
n=1
until mkdir "{folder}/$n" 2>/dev/null; do n=$((n + 1)); done
case $AT in $n | "$1 $2") met=yes ;; esac
if [ "$met $WHEN" = "yes before" ]; then kill -"$SIGNAL" $PPID; fi
{docker} "$@"
status=$?
if [ "$met $WHEN" = "yes after" ]; then kill -"$SIGNAL" $PPID; fi
exit $status
"""
DRIVE = str(Path(__file__).with_name("drive.py"))
# More steps than any verb takes; a verb that ends before its signal has been met ends the walk.
STEPS = range(1, 30)
START = "run --pull=never"  # how the call begins that makes the environment's container


class Killer:
    """Runs a verb and kills it at its n-th call of docker, or at the one that begins with two given words."""

    def __init__(self, life: Life, folder: Path) -> None:
        self.life = life
        self.folder = folder
        docker = shutil.which("docker")
        assert docker is not None
        self.plan = json.dumps(self._fields())
        (folder / "bin").mkdir()
        shim = folder / "bin" / "docker"
        shim.write_text(SHIM.format(folder=folder / "calls", docker=docker))
        shim.chmod(0o755)

    def _fields(self) -> dict[str, object]:
        plan = self.life.cached("a")
        fields = {name: getattr(plan, name) for name in plan._fields}
        fields["image"] = plan.image.reference
        fields["mounts"] = [[mount.kind, mount.source, mount.target, mount.read_only] for mount in plan.mounts]
        return {**fields, "engine": None}

    def run(self, verb: str, at: int | str = 0, when: str = "before", number: signal.Signals = signal.SIGKILL) -> int:
        """The exit status; at 0 nothing is killed."""
        calls = self.folder / "calls"
        shutil.rmtree(calls, ignore_errors=True)
        calls.mkdir()
        variables = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "AT": str(at),
            "WHEN": when,
            "SIGNAL": str(int(number)),
        }
        done = subprocess.run(
            [sys.executable, DRIVE, verb, self.plan], env=variables, capture_output=True, text=True, check=False
        )
        if not at:
            assert done.returncode == 0, done.stderr
        return done.returncode

    def walk(self, verb: str, when: str, number: signal.Signals) -> Iterator[int]:
        """Kill the verb at each of its steps in turn, until it has no more."""
        for at in STEPS:
            if self.run(verb, at, when, number) == 0:
                return
            yield at
        pytest.fail(f"`{verb}` takes more steps than {STEPS.stop}")


@pytest.fixture
def killer(life: Life, tmp_path: Path) -> Killer:
    return Killer(life, tmp_path)


def at_rest(killer: Killer) -> None:
    """Every call of docker that a kill left behind has come to its end, whatever it names."""
    shims = str(killer.folder / "bin")
    while subprocess.run(["pgrep", "-f", shims], capture_output=True, check=False).returncode == 0:
        pass


def assert_up(life: Life) -> None:
    [there] = life.containers()
    assert there["State"]["Running"]
    assert life.inside("stat -c %u /cache/a && touch /cache/a/x") == "1234"
    assert [name for name in life.volumes() if name.endswith(".new")] == []


def assert_nothing(life: Life) -> None:
    assert life.containers() == []
    assert life.volumes() == []


def test_up_killed_at_each_step_is_mended_by_the_next_up(life: Life, killer: Killer) -> None:
    steps = 0
    for _ in killer.walk("up", "before", signal.SIGKILL):
        at_rest(killer)
        killer.run("up")
        assert_up(life)
        killer.run("down")
        assert_nothing(life)
        steps += 1
    assert steps >= 9  # three questions, the image twice, a volume and its marker, chown, no more marker, run
    killer.run("down")


def test_down_killed_at_each_step_is_finished_by_the_next_down(life: Life, killer: Killer) -> None:
    steps = 0
    killer.run("up")
    for _ in killer.walk("down", "before", signal.SIGKILL):
        at_rest(killer)
        killer.run("down")
        assert life.containers() == []
        killer.run("up")
        assert_up(life)
        steps += 1
    assert steps >= 4
    assert_nothing(life)


def test_making_anew_killed_at_each_step_is_mended_by_the_next_up(life: Life, killer: Killer) -> None:
    steps = 0
    killer.run("up")
    life.inside("echo kept > /cache/a/note")
    before = life.containers()[0]["Id"]
    for _ in killer.walk("again", "before", signal.SIGKILL):
        at_rest(killer)
        killer.run("up")  # the caches are there whatever became of the container
        assert_up(life)
        assert life.inside("cat /cache/a/note") == "kept"
        steps += 1
    assert steps >= 4  # a look, the image, the removal, the start
    assert life.containers()[0]["Id"] != before


def test_a_start_killed_at_each_step_is_finished_by_the_next(life: Life, killer: Killer) -> None:
    steps = 0
    killer.run("up")
    made = life.containers()[0]["Id"]
    life.engine.stop(made)
    for _ in killer.walk("start", "before", signal.SIGKILL):
        at_rest(killer)
        killer.run("start")
        assert_up(life)
        assert life.containers()[0]["Id"] == made
        life.engine.stop(made)
        steps += 1
    assert steps >= 2  # the questions that are begun together, and the start


@pytest.mark.parametrize("when", ["before", "after"])
def test_up_interrupted_at_each_step_leaves_nothing_half_made(life: Life, killer: Killer, when: str) -> None:
    steps = 0
    for _ in killer.walk("up", when, signal.SIGINT):
        # One may be there, whole and running: where the interrupt came after the start was done.
        assert all(there["State"]["Running"] for there in life.containers())
        life.clear()
        steps += 1
    assert steps >= 9
    assert_up(life)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_container_whose_start_is_interrupted_is_taken_back(
    life: Life, killer: Killer, number: signal.Signals, when: str
) -> None:
    assert killer.run("up", START, when, number) != 0
    assert life.containers() == []
