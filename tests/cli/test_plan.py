"""`rocenv plan` from the command line to its answer, for every described host."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hosts import builder

from rocenv.cli import app

# What pytorch comes to on each host, read through by hand: the ROCm of the chosen image and the GPUs, or the exit code.
EXPECTED: dict[str, tuple[str, list[int]] | int] = {
    "broken-topology": ("10.1.0", [0, 2]),
    "container-masked": ("10.1.0", [0]),
    "container-without-node": 3,
    "fedora-rootless": ("10.1.0", [0]),
    "intel-first": 5,  # gfx906
    "kfd-refuses": 3,
    "mi210-hives": ("7.1.1", [0, 1, 2, 3]),
    "mi25-old-kernel": 5,  # gfx900
    "mi250x": ("6.2.4", [0, 1, 2, 3]),
    "mi300a-domains": ("6.3.3", [0, 1, 2, 3]),
    "mi300x-bed": ("10.1.0", [0, 1, 2, 3]),
    "mi300x-cpx": ("7.1.1", list(range(63))),
    "mi300x-spx": ("7.1.1", list(range(8))),
    "mi350x-dpx": ("10.1.0", [0, 1]),
    "names-of-the-host": 5,  # gfx906
    "no-driver": 3,
    "no-gpu": 3,
    "no-kfd": 3,
    "raven-one-node": 5,  # gfx902
    "rx7900xtx": ("10.1.0", [0]),
    "rx9070xt-igpu": ("10.1.0", [0]),  # without the integrated one
    "strix-halo": ("10.1.0", [0]),
    "vfio": 3,
    "vm-virtual-function": ("7.1.1", [0]),
    "wsl2": ("10.1.0", []),
}
LISTS = (
    "gpus",
    "devices",
    "groups",
    "mounts",
    "security",
    "argv",
    "reasons",
    "refused",
    "warnings",
    "cap_add",
    "ports",
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `rocenv plan` in a project folder of the test's own."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> tuple[int, str, str]:
        status = app.run(["plan", *words])
        return (status, *capfd.readouterr())

    return run


@pytest.fixture
def host(tmp_path: Path) -> Callable[[str], str]:
    def host(name: str) -> str:
        return str(builder.build(builder.describe(name), tmp_path / "hosts" / name))

    return host


def answer(run: Run, *words: str) -> dict[str, Any]:
    status, out, _ = run(*words, "--json")
    found: dict[str, Any] = json.loads(out)
    assert status == 0, found
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_each_host_gets_its_answer(run: Run, host: Callable[[str], str], name: str) -> None:
    expected = EXPECTED[name]
    status, out, _ = run("pytorch", "--host", host(name), "--json")
    found = json.loads(out)
    if isinstance(expected, int):
        assert (status, found["status"], found["error"]["code"]) == (expected, "error", expected)
        assert found["error"]["hint"]
    else:
        assert (status, found["status"]) == (0, "ok")
        assert (found["image"]["rocm"], [gpu["index"] for gpu in found["gpus"]]) == expected


def test_the_answer_s_shape(run: Run, host: Callable[[str], str]) -> None:
    found = answer(run, "pytorch", "--host", host("mi300x-bed"), "--gpus", "1")
    assert (found["version"], found["status"], found["profile"], found["engine"]) == (1, "ok", "pytorch", "docker")
    assert set(found["image"]) >= {"reference", "rocm", "source", "digest"}
    assert all(isinstance(found[key], list) for key in LISTS)
    assert [set(gpu) >= {"index", "gfx", "bdf", "partition", "uuid", "render_node"} for gpu in found["gpus"]] == [True]
    assert all(set(one) == {"choice", "value", "why"} for one in found["reasons"])
    assert all(set(one) == {"reference", "why"} for one in found["refused"])
    assert found["shm_size"] % (1 << 20) == 0
    assert found["argv"][:2] == ["docker", "run"]
    assert found["image"]["reference"] in found["argv"]


def test_two_runs_give_the_same_answer(run: Run, host: Callable[[str], str]) -> None:
    words = ("pytorch", "--host", host("mi300x-bed"), "--json")
    assert run(*words) == run(*words)


def test_the_text_holds_the_command_that_the_json_holds(run: Run, host: Callable[[str], str]) -> None:
    where = host("rx7900xtx")
    _, text, _ = run("pytorch", "--host", where)
    command = text[text.index("docker run") :]
    read = subprocess.run(["sh", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True).stdout
    assert read.decode().split("\0")[:-1] == answer(run, "pytorch", "--host", where)["argv"]


def test_refused_images_are_folded_and_unfolded(run: Run, host: Callable[[str], str]) -> None:
    where = host("rx7900xtx")
    count = len(answer(run, "pytorch", "--host", where)["refused"])
    _, folded, _ = run("pytorch", "--host", where)
    _, whole, _ = run("pytorch", "--host", where, "--refused")
    assert f"and {count - 6} more" in folded
    assert len(re.findall(r"^  rocm/pytorch:\S+: ", whole, re.MULTILINE)) == count


@pytest.mark.parametrize(
    ("words", "engine", "rootless"),
    [
        ((), "docker", False),
        (("--engine", "podman"), "podman", False),
        (("--engine", "podman", "--rootless"), "podman", True),
    ],
)
def test_with_a_capture_the_engine_is_assumed_and_that_is_said(
    run: Run, host: Callable[[str], str], words: tuple[str, ...], engine: str, rootless: bool
) -> None:
    found = answer(run, "pytorch", "--host", host("rx9070xt-igpu"), *words)
    assert (found["engine"], found["rootless"], found["engine_assumed"]) == (engine, rootless, True)
    assert [one for one in found["reasons"] if one["choice"] == "engine" and "assumed" in one["why"]]
    assert found["keep_groups"] is rootless


def test_a_rootless_engine_needs_the_caller_in_the_group(run: Run, host: Callable[[str], str]) -> None:
    status, _, err = run("pytorch", "--host", host("rx7900xtx"), "--engine", "podman", "--rootless")
    assert status == 3
    assert "`sudo usermod -aG render $USER`" in err


def test_wishes_reach_the_plan(run: Run, host: Callable[[str], str]) -> None:
    found = answer(
        run, "pytorch", "--host", host("mi300x-bed"), "--gpus", "2,0", "--name", "two", "-e", "A=1", "-e", "HF_TOKEN",
        "--mount", "./data:/data:ro", "-p", "8000:8000", "--user", "root", "--shm-size", "1g", "--loosen", "ptrace",
    )  # fmt: skip
    assert [gpu["index"] for gpu in found["gpus"]] == [0, 2]
    assert (found["name"], found["container"]) == ("two", "rocenv-project-two")
    assert (found["env"]["A"], found["env_names"]) == ("1", ["HF_TOKEN"])
    assert found["mounts"][-1] == {
        "kind": "bind", "source": str(Path.cwd() / "data"), "target": "/data", "read_only": True,
    }  # fmt: skip
    assert (found["ports"], found["user"], found["shm_size"], found["cap_add"]) == (
        ["127.0.0.1:8000:8000"],
        "0:0",
        1 << 30,
        ["SYS_PTRACE"],
    )


def test_the_project_s_file_counts(run: Run, host: Callable[[str], str]) -> None:
    Path("rocenv.yaml").write_text("extends: pytorch\nimage: {rocm: '7.2'}\nenvironments: {ci: {gpus: none}}\n")
    where = host("mi300x-bed")
    assert answer(run, "--host", where)["image"]["rocm"] == "7.2.4"
    assert answer(run, "ci", "--host", where)["devices"] == []


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("nothing",), 2, "no profile `nothing`"),
        ((), 2, "no profile is named"),
        (("pytorch", "--engine", "lxc"), 2, "no engine `lxc`"),
        (("pytorch", "--gpus", "9"), 3, "no GPU 9"),
        (("pytorch", "--gpus", "some"), 2, "`some`"),
        (("pytorch", "--cpu", "--gpus", "0"), 2, "--cpu"),
        (("pytorch", "--name", "A B"), 2, "`A B`"),
        (("pytorch", "--image", "A:B:C"), 2, "A:B:C"),
        (("pytorch", "--loosen", "ptrace", "--strict"), 7, "--strict refuses `ptrace`"),
        (("pytorch", "--host", "/nowhere"), 2, "/nowhere"),
        (("pytorch", "--color"), 2, "--color"),
        (("pytorch", "-e", "=x"), 2, "env"),
    ],
)
def test_faults_have_words_and_codes(
    run: Run, host: Callable[[str], str], words: tuple[str, ...], status: int, said: str
) -> None:
    where = () if "--host" in words else ("--host", host("mi300x-bed"))
    found, out, err = run(*words, *where)
    assert (found, out) == (status, "")
    assert err.startswith("error: ")
    assert said in err
    assert "\n\nhint: " in err


def test_without_a_gpu_an_engine_or_a_network_cpu_plans_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    status, out, err = run("pytorch", "--cpu", "--json")
    assert status == 0
    assert json.loads(out)["engine_assumed"] is True
    assert "warning: " in err


def test_terminal_codes_in_a_project_s_file_are_shown_as_text(run: Run, host: Callable[[str], str]) -> None:
    Path("rocenv.yaml").write_text('extends: pytorch\nenv: {A: "\\e]0;owned\\a"}\n')
    _, out, _ = run("--host", host("mi300x-bed"))
    assert "\x1b" not in out
    assert "\\x1b]0;owned\\x07" in out


def test_a_plan_imports_nothing_heavy(host: Callable[[str], str], tmp_path: Path) -> None:
    code = (
        "import sys; from rocenv.cli import app; "
        f"app.run(['plan', 'pytorch', '--host', {host('rx7900xtx')!r}, '--json']); "
        "heavy = {'docker', 'rich', 'jinja2', 'requests', 'pydantic', 'jsonschema'} & set(sys.modules); "
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(("owner", "counts"), [(0, True), (12345, False)])
def test_a_file_of_somebody_else_s_further_up_decides_nothing(
    run: Run, host: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, owner: int, counts: bool
) -> None:
    above = Path.cwd() / "rocenv.yaml"
    above.write_text("extends: hip\n")
    below = Path.cwd() / "src"
    below.mkdir()
    monkeypatch.chdir(below)
    real = os.stat(above)
    seen = os.stat_result((*real[:4], owner, *real[5:]))
    monkeypatch.setattr(Path, "stat", lambda path, **_: seen if path == above else os.stat(path))
    status, _, err = run("--host", host("mi300x-bed"))
    assert (status == 0) is counts
    assert ("no profile is named" in err) is not counts
