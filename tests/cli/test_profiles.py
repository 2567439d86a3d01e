"""`rocenv profiles` from the command line to its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from rocenv.cli import app

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> tuple[int, str, str]:
        status = app.run(["profiles", *words])
        return (status, *capfd.readouterr())

    return run


def test_list(run: Run) -> None:
    status, out, err = run("list", "--json")
    found = json.loads(out)
    assert (status, err, found["version"], found["status"]) == (0, "", 1, "ok")
    listed = [(one["name"], one["origin"]) for one in found["profiles"]]
    assert listed == sorted(listed)
    assert {("hip", "built-in"), ("pytorch", "built-in"), ("vllm", "built-in")} <= set(listed)
    assert all(one["summary"] for one in found["profiles"])
    assert "pytorch" in run("list")[1]


def test_show_with_origins(run: Run) -> None:
    Path("rocenv.yaml").write_text("extends: pytorch\nenv: {A: 1}\n")
    _, out, _ = run("show", "--origin")
    assert [line.split() for line in out.splitlines() if line.startswith("env.A")] == [["env.A", "1", "rocenv.yaml:2"]]
    found = json.loads(run("show", "pytorch", "--origin", "--json")[1])
    assert (found["keys"]["env.A"], found["origins"]["env.A"]) == ("1", "rocenv.yaml:2")
    assert found["keys"]["image.family"] == "rocm/pytorch"
    assert "image.family: rocm/pytorch" in run("show", "pytorch")[1]
    assert "origins" not in json.loads(run("show", "pytorch", "--json")[1])


def test_validate(run: Run) -> None:
    Path("rocenv.yaml").write_text("extends: pytorch\n")
    assert run("validate") == (0, "rocenv.yaml: every key and value is sound\n", "")
    Path("other.yaml").write_text("\ngpu: 1\n")
    status, out, err = run("validate", "other.yaml", "--json")
    assert (status, json.loads(out)["error"]["kind"]) == (2, "usage")
    assert "other.yaml:2" in err
    assert run("validate", "nowhere.yaml")[0] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("extends: nope\n", "`rocenv.yaml:1`: there is no profile `nope`"),
        ("extends: pytorhc\n", "did you mean `pytorch`?"),
        ("environments:\n  a: {extends: nope}\n", "`rocenv.yaml:2`: there is no profile `nope`"),
    ],
)
def test_validate_looks_for_what_a_profile_builds_on(run: Run, text: str, told: str) -> None:
    Path("rocenv.yaml").write_text(text)
    status, _, err = run("validate")
    assert status == 2
    assert told in err


def test_validate_knows_a_file_s_own_environments(run: Run) -> None:
    Path("rocenv.yaml").write_text("environments: {a: {extends: pytorch}, b: {extends: a}}\n")
    assert run("validate")[0] == 0


def test_schema(run: Run) -> None:
    status, out, _ = run("schema")
    assert status == 0
    jsonschema.Draft7Validator.check_schema(json.loads(out))


def test_a_wrong_subcommand_is_a_usage_error(run: Run) -> None:
    status, _, err = run("lsit")
    assert status == 2
    assert err.startswith("error: ")
