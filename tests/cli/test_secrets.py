"""Secrets are planted, and everything that rocenv wrote, said and showed to others is searched for them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bed.demo import ROCENV

if TYPE_CHECKING:
    from conftest import TestBed

pytestmark = pytest.mark.engine

TOKEN, KEY, FILED = "t0ken-planted-1111", "k3y-planted-2222", "f1led-planted-3333"
ALL = (TOKEN, KEY, FILED)
READ = "cat /run/secrets/TOKEN; echo; cat /run/secrets/KEY; echo; echo $FILED"


@pytest.fixture
def planted(home: TestBed, tmp_path: Path) -> TestBed:
    """A project with three secrets near it: a variable, a file, and a file of variables; and a home of its own."""
    own = tmp_path / "own"
    for folder in (own, own / "run"):
        folder.mkdir(mode=0o700)
    (own / "key").write_text(KEY)
    (own / "env").write_text(f"FILED={FILED}\n")
    owner = home.project.stat()
    for path in (own, *own.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
    names = {"XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run"}
    return replace(home, variables={"TOKEN": TOKEN, **{name: str(own / place) for name, place in names.items()}})


def flags(planted: TestBed) -> list[str]:
    own = Path(planted.variables["XDG_RUNTIME_DIR"]).parent
    return ["--secret", "TOKEN", "--secret", f"KEY={own}/key", "--env-file", f"{own}/env"]


def assert_hidden(text: str, values: tuple[str, ...] = ALL) -> None:
    assert [value for value in values if value in text] == []


def written(folder: Path) -> str:
    return "\n".join(
        f"{path} {path.read_text(errors='replace')}" for path in folder.rglob("*") if path.is_file()
    )  # what names hold counts too


def test_a_container_has_them_and_nothing_else_does(planted: TestBed) -> None:
    own = Path(planted.variables["XDG_RUNTIME_DIR"]).parent
    for command in (["plan", "--json"], ["plan"], ["up", "--no-test", "--json"], ["up", "--no-test"]):
        done = planted.rocenv(*command, *flags(planted))
        assert done.returncode == 0, done.stderr
        assert_hidden(done.stdout + done.stderr)
    for command in (["ps", "--json"], ["logs"], ["lock", "--help"]):
        done = planted.rocenv(*command)
        assert_hidden(done.stdout + done.stderr)
    assert planted.rocenv("exec", "--", "sh", "-c", READ).stdout.split() == list(ALL)
    name = json.loads(planted.rocenv("plan", "--json").stdout)["container"]
    [there] = json.loads(planted.docker("inspect", name).stdout)
    assert f"FILED={FILED}" in there["Config"]["Env"]  # the engine's own record of variables, told in the docs
    del there["Config"]["Env"]
    assert_hidden(json.dumps(there))
    assert_hidden(planted.run("ps", "axww", as_root=True).stdout)
    assert_hidden(written(planted.project) + written(own / "state") + written(own / "cache"))
    assert planted.rocenv("exec", "--", "sh", "-c", "echo x > /run/secrets/KEY").returncode != 0
    assert planted.rocenv("down").returncode == 0
    assert_hidden(written(own / "run"))


def test_a_run_shows_them_to_its_command_alone(planted: TestBed) -> None:
    script = f"{READ}; echo ready; cat"
    argv = planted.argv(str(ROCENV), "run", *flags(planted), "--", "sh", "-c", script)
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=planted.environment(), stdin=pipe, stdout=pipe, text=True) as running:
        assert running.stdout is not None
        said = [running.stdout.readline().strip() for _ in range(4)]
        assert_hidden(planted.run("ps", "axww", as_root=True).stdout)
        assert running.poll() is None
    assert said == [*ALL, "ready"]
    assert running.returncode == 0
