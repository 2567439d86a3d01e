"""`rocenv explain` from the command line to its answer: the same choice as `plan`, told in full."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hosts import builder
from lock.locks import TRAIN

from rocenv.cli import app
from rocenv.lifecycle import lockfile
from rocenv.lock.compare import wish_of
from rocenv.model.lock import Lock
from rocenv.profile import load_profile

NEWEST = "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line for a described host, in a project of its own; status, stdout, stderr."""
    project = tmp_path / "demo"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(name: str, *words: str) -> tuple[int, str, str]:
        folder = builder.build(builder.describe(name), tmp_path / name)
        status = app.run([*words, "--host", str(folder)])
        return (status, *capfd.readouterr())

    return run


def answer(run: Run, name: str, *words: str) -> tuple[int, dict[str, Any]]:
    status, out, _ = run(name, "explain", *words, "--json")
    found: dict[str, Any] = json.loads(out)
    return status, found


def test_the_answer_s_form(run: Run) -> None:
    status, found = answer(run, "mi300x-bed", "pytorch")
    assert (status, found["version"], found["status"], found["profile"]) == (0, 1, "ok", "pytorch")
    assert [gpu["gfx"] for gpu in found["gpus"]] == ["gfx942"] * 4
    assert found["driver"] == "driver 30.30 (release 30.30.4)"
    chosen = found["chosen"]
    assert (chosen["reference"], chosen["env"], chosen["opt_in"]) == (NEWEST, {}, [])
    assert "holds code for gfx942" in chosen["why"]
    assert [set(one) for one in found["candidates"]] == [{"reference", "score", "for", "against"}] * len(
        found["candidates"]
    )
    assert all(set(one) == {"reference", "why"} and one["why"] for one in found["refused"])
    assert found["alternatives"] == []


@pytest.mark.parametrize("name", ["mi300x-bed", "mi300x-cpx", "rx9070xt-igpu", "wsl2", "mi250x", "strix-halo"])
@pytest.mark.parametrize("profile", ["pytorch", "hip", "vllm"])
def test_it_is_what_plan_takes(run: Run, name: str, profile: str) -> None:
    planned_status, out, _ = run(name, "plan", profile, "--json")
    status, found = answer(run, name, profile)
    assert status == planned_status
    chosen = found["chosen"] and found["chosen"]["reference"]
    assert chosen == (json.loads(out)["image"]["reference"] if planned_status == 0 else None)


def test_where_nothing_fits_the_answer_is_whole_all_the_same(run: Run) -> None:
    status, found = answer(run, "intel-first", "pytorch")  # gfx906
    assert (status, found["status"], found["chosen"]) == (5, "error", None)
    assert found["error"]["code"] == 5
    assert len(found["refused"]) > 50
    (only,) = found["alternatives"]
    assert (only["kind"], only["gpus"]) == ("community", None)
    assert only["command"] == f"rocenv up pytorch --image {only['reference']}"


def test_a_mixed_host(run: Run) -> None:
    status, found = answer(run, "rx9070xt-igpu", "pytorch", "--gpus", "all")
    assert (status, found["chosen"]) == (5, None)
    first = found["alternatives"][0]
    assert (first["gpus"], first["reference"], first["env"]) == ("gfx1201", NEWEST, {})
    assert first["command"] == "rocenv up pytorch --gpus gfx1201"
    override = found["alternatives"][1]
    assert override["env"] == {"HSA_OVERRIDE_GFX_VERSION_2": "10.3.0"}


def test_a_host_without_gpus_is_refused_as_by_plan(run: Run) -> None:
    status, out, err = run("no-gpu", "explain", "pytorch", "--json")
    assert (status, json.loads(out)["error"]["kind"]) == (3, "host")
    assert "no AMD GPU" in err
    assert run("no-gpu", "explain", "pytorch", "--cpu")[0] == 0


def test_for_people(run: Run) -> None:
    status, out, err = run("mi300x-cpx", "explain", "pytorch")
    assert (status, err) == (0, "")
    assert out.startswith("pytorch on 63 × AMD Instinct MI300X OAM (gfx942), driver 6.4 (module 6.12.12)\n")
    assert "chosen: rocm/pytorch:rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.10.0\n" in out
    assert "more (`--all` shows each)" in out
    whole = run("mi300x-cpx", "explain", "pytorch", "--all")[1]
    assert whole.count("rocm/pytorch:rocm10.1.0") == 2
    status, out, err = run("intel-first", "explain", "pytorch")
    assert status == 5
    assert "nothing fits" in out
    assert err.startswith("error: no image of `rocm/pytorch`")


def test_a_profile_that_is_not_there_and_an_engine(run: Run) -> None:
    assert run("mi300x-bed", "explain", "pytroch")[0] == 2
    assert run("mi300x-bed", "explain", "pytorch", "--engine", "lxc")[0] == 2
    podman = answer(run, "mi300x-bed", "pytorch", "--engine", "podman")[1]
    assert podman["chosen"]["reference"] == f"docker.io/{NEWEST}"


def test_a_lock_that_decides_instead_is_told(run: Run) -> None:
    Path("rocenv.yaml").write_text("extends: pytorch\n")
    wished = load_profile("pytorch", project=Path.cwd(), overrides={})
    lockfile.save(Path.cwd(), Lock({"pytorch": TRAIN._replace(profile="pytorch", wish=wish_of(wished), build=None)}))
    (words,) = answer(run, "mi300x-bed", "pytorch")[1]["warnings"]
    assert f"`rocenv.lock` holds {TRAIN.image.reference}" in words
    assert "--no-lock" in words


def test_an_override_is_told_with_the_command_that_asks_for_it(
    run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # An RX 6600 is gfx1032, for which AMD's images hold no code; gfx1030's runs on it (Ollama docs/gpu.mdx).
    description = builder.describe("no-kfd")
    description.pop("kfd")
    description["gpus"] = [{"model": "rx6600", "at": "0000:03:00.0"}]
    builder.build({**description, "driver": "in-tree"}, tmp_path / "rx6600")
    host = ["--host", str(tmp_path / "rx6600")]
    assert app.run(["explain", "pytorch", *host]) == 0
    out = capfd.readouterr().out
    assert f"chosen once you ask for it: {NEWEST}" in out
    assert "`rocenv up pytorch -e HSA_OVERRIDE_GFX_VERSION=10.3.0`" in out
    assert app.run(["explain", "pytorch", "--json", *host]) == 0
    chosen = json.loads(capfd.readouterr().out)["chosen"]
    assert (chosen["opt_in"], chosen["env"]) == (["HSA_OVERRIDE_GFX_VERSION"], {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert app.run(["plan", "pytorch", *host]) == 5  # never unasked
    assert "-e HSA_OVERRIDE_GFX_VERSION=10.3.0" in capfd.readouterr().err
    assert app.run(["plan", "pytorch", "-e", "HSA_OVERRIDE_GFX_VERSION=10.3.0", *host]) == 0
    assert NEWEST in capfd.readouterr().out
