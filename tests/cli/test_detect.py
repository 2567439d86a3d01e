"""`rocenv detect` from the command line to its effect."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import builder

from rocenv.cli import app

ROOT = Path(__file__).parents[2]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return builder.build(builder.describe("rx9070xt-igpu"), tmp_path / "desk")


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        status = app.run(["detect", *words])
        return (status, *capfd.readouterr())

    return run


def test_text(run: Run, capture: Path) -> None:
    status, out, err = run("--host", str(capture))
    assert (status, err) == (0, "")
    assert out.startswith("desk: bare metal")
    assert "GPU 0" not in out


def test_json(run: Run, capture: Path) -> None:
    status, out, err = run("--json", "--host", str(capture), "--links")
    answer = json.loads(out)
    assert (status, err) == (0, "")
    assert (answer["version"], answer["status"], answer["host"]) == (1, "ok", "desk")
    assert len(answer["links"]) == 2


def test_this_machine(run: Run) -> None:
    status, out, _ = run()
    assert status == 0
    assert out.startswith("this machine: ")
    status, out, _ = run("--json")
    assert json.loads(out)["host"] is None


def test_host_from_the_environment(run: Run, capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCENV_HOST", str(capture))
    assert run()[1].startswith("desk: ")


def test_save_and_read_back(run: Run, capture: Path, tmp_path: Path) -> None:
    file = tmp_path / "office.tar.gz"
    status, out, err = run("--host", str(capture), "--save", str(file), "--anonymous")
    assert (status, out) == (0, f"{file}\n")
    assert "files" in err
    status, out, _ = run("--host", str(file), "--json")
    assert json.loads(out)["gpus"][0]["uuid"] == "GPU-0000000000000001"
    status, out, err = run("--host", str(file), "--save", str(file), "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {"version": 1, "status": "ok", "file": str(file), "files": json.loads(out)["files"],
                               "anonymous": False}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--host", "/nowhere"], "error: `/nowhere` is no host capture: there is no such file or folder"),
        (["--anonymous"], "error: `--anonymous` is for captures alone"),
        (["--save", "/nowhere/x.tar.gz"], "error: `/nowhere/x.tar.gz` cannot be written: No such file or directory"),
        (["--nonsense"], "error: no such option: --nonsense"),
    ],
)
def test_what_cannot_be_followed(run: Run, words: list[str], message: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith(message)
    assert "\nhint: " in err


def test_terminal_codes_of_a_capture_are_not_obeyed(run: Run, tmp_path: Path) -> None:
    told = {**builder.describe("rx9070xt-igpu"), "os": {"ID": "x", "PRETTY_NAME": "\x1b[2J\x1b]0;owned\x07"}}
    folder = builder.build(told, tmp_path / "evil")
    status, out, _ = run("--host", str(folder))
    assert status == 0
    assert "\x1b" not in out
    assert "\\x1b[2J" in out


def test_nothing_heavy_is_imported_and_no_process_started(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from rocenv import process\n"
        "from rocenv.cli.app import run\n"
        "assert run(['detect', '--json']) == 0\n"
        "heavy = {'yaml', 'docker', 'rich', 'jinja2', 'tarfile', 'hypothesis'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert process.log == []\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
