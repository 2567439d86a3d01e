"""`rocenv doctor` from its command line: words, JSON, exit codes, symptoms, fixes and bundles."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hosts import builder

from rocenv.cli import examined
from rocenv.cli.app import COMMANDS, run
from rocenv.host import examine_bundle
from rocenv.model.check import LAYERS, VERDICTS

FINDING = ["check", "layer", "verdict", "evidence", "cause", "fix", "after", "verify", "source"]
CHECK = ["id", "layer", "severity", "title", "reads", "why", "source"]
ROOT = {"uid": 0, "gid": 0, "groups": [0]}
Answer = dict[str, Any]
Build = Callable[..., str]
Ask = Callable[..., tuple[int, Answer]]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No capture, engine or variable of the machine that runs the tests counts."""
    for name in list(os.environ):
        if name.startswith(("ROCENV_", "ROCR_", "HIP_", "HSA_", "CUDA_", "DOCKER_", "LD_LIBRARY")):
            monkeypatch.delenv(name)


@pytest.fixture
def host(tmp_path: Path) -> Build:
    """Builds a described host, with keys of its description changed."""

    def build(name: str = "rx7900xtx", **changed: Any) -> str:
        return str(builder.build({**builder.describe(name), **changed}, tmp_path / name))

    return build


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs it with --json: its exit code and its answer."""

    def answer(*words: str) -> tuple[int, Answer]:
        code = run(["doctor", *words, "--json"])
        told: Answer = json.loads(capsys.readouterr().out)
        return code, told

    return answer


def verdicts(answer: Answer) -> dict[str, str]:
    return {one["check"]: one["verdict"] for one in answer["findings"]}


def test_it_is_a_command() -> None:
    assert "doctor" in COMMANDS


def test_the_shape_of_the_answer(host: Build, ask: Ask) -> None:
    code, answer = ask("--host", host(run_as=ROOT))
    assert (code, answer["version"], answer["status"], answer["verdict"]) == (0, 1, "ok", "ok")
    for one in answer["findings"]:
        assert list(one) == FINDING
        assert one["layer"] in LAYERS
        assert one["verdict"] in VERDICTS
        assert one["after"] in (None, "login", "reboot", "container", "restart")
    code, listed = ask("--list")
    assert (code, listed["version"]) == (0, 1)
    assert all(list(one) == CHECK for one in listed["checks"])
    assert {one["check"] for one in answer["findings"]} <= {one["id"] for one in listed["checks"]}


@pytest.mark.parametrize(
    ("name", "changed", "told"),
    [
        ("no-gpu", {}, (3, "pci.gpu")),
        ("no-driver", {}, (3, "driver.loaded")),
        ("no-kfd", {}, (3, "kfd.present")),
        ("rx7900xtx", {"run_as": {"uid": 1000, "gid": 1000, "groups": []}}, (3, "kfd.access")),
        ("rx7900xtx", {"run_as": ROOT, "machine": "aarch64"}, (5, "image.arch")),
    ],
)
def test_the_exit_code_tells_the_layer(
    host: Build, ask: Ask, name: str, changed: Answer, told: tuple[int, str]
) -> None:
    got, answer = ask("--host", host(name, **changed))
    assert got == told[0]
    assert verdicts(answer)[told[1]] == "fail"
    assert answer["verdict"] == "fail"


def test_words_for_people(host: Build, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--host", host("no-driver")]) == 3
    text = capsys.readouterr().out
    assert text.startswith("fail  ")
    assert "      fix: `sudo modprobe amdgpu`" in text
    assert "      verify: ls -d /sys/module/amdgpu" in text
    assert "pci.gpu" not in text, "what is well is folded"
    assert re.search(r"it cannot work yet: \d+ fail, .*; `--all` shows every check", text)
    run(["doctor", "--host", host("no-driver"), "--all"])
    assert "ok    pci.gpu" in capsys.readouterr().out


def test_a_symptom_leads(host: Build, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    place = host(run_as=ROOT)
    _, answer = ask("--host", place, "--symptom", "kfd: PCI rejects atomics")
    assert answer["findings"][0]["check"] == "pci.atomics"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nRuntimeError: No HIP GPUs are available\n")))
    _, answer = ask("--host", place, "--symptom", "-")
    assert answer["findings"][0]["check"] == "render.access"


def test_what_a_symptom_points_to_is_shown_though_it_is_well(host: Build, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--host", host(run_as=ROOT), "--symptom", "RuntimeError: No HIP GPUs are available"]) == 0
    text = capsys.readouterr().out
    assert "ok    render.access: /dev/dri/renderD128" in text
    assert "skip  smoke.count: " in text
    assert "pci.gpu" not in text


def test_a_closed_stdin_is_told(
    host: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # what Python makes of one that is closed
    assert run(["doctor", "--host", host(), "--symptom", "-"]) == 2
    assert "which is closed" in capsys.readouterr().err


def test_a_symptom_of_a_file_asks_for_the_file(host: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["doctor", "--host", host(run_as=ROOT), "--symptom", 'could not select device driver "rocm"']
    run(words)
    assert "`--compose FILE` or `--argv 'docker run …'` lets it read what was run" in capsys.readouterr().err
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE)
    run([*words, "--compose", str(file), "--argv", "docker run rocm/pytorch"])
    assert "lets it read" not in capsys.readouterr().err


def test_a_log_can_be_the_evidence(host: Build, ask: Ask) -> None:
    log = "HSA Error:  Incompatible kernel and userspace, Vega 20 disabled. Upgrade amdgpu."
    code, answer = ask("--host", host(run_as=ROOT), "--symptom", log)
    assert (code, verdicts(answer)["driver.userspace"]) == (5, "fail")


def test_one_check_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--about", "kfd.open"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("kfd.open: /dev/kfd opens for reading and writing")
    assert "kfd.present" in text
    assert run(["doctor", "--about", "kfd.opne"]) == 2
    assert "did you mean `kfd.open`?" in capsys.readouterr().err


def test_an_image_is_judged_for_a_target(host: Build, ask: Ask) -> None:
    tag = "rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12_vllm_0.6.6"
    code, answer = ask("--host", host(run_as=ROOT), "--image", tag)
    assert (code, verdicts(answer)["gpu.gfx-supported"]) == (5, "fail")
    _, answer = ask("--host", host(run_as=ROOT), "--image", tag, "--gpu", "gfx942")
    assert verdicts(answer)["gpu.gfx-supported"] == "ok"


def test_for_a_gpu_that_is_not_here_this_machine_does_not_count(
    host: Build, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = host("no-gpu")
    monkeypatch.setattr(examined, "examine", lambda: examine_bundle(bare, examined.BUNDLE)[:2])
    monkeypatch.setenv("PATH", str(tmp_path))  # no engine
    tag = "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"
    code, answer = ask("--image", tag, "--gpu", "gfx1100")
    assert (code, answer["verdict"]) == (0, "ok")
    assert verdicts(answer)["gpu.gfx-supported"] == "ok"
    assert ask("--image", tag, "--gpu", "gfx803")[0] == 5
    for words in ([], ["--gpu", "gfx1100"], ["--image", tag]):  # with no other GPU in question it does
        assert ask(*words)[0] == 3


def test_a_profile_is_planned(host: Build, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, answer = ask("pytorch", "--host", host("mi300x-spx"))
    assert (code, verdicts(answer)["profile.plan"]) == (0, "ok")
    found = {one["check"]: one for one in answer["findings"]}
    assert "rocm/pytorch:" in found["image.rocm-version"]["evidence"] or "ROCm" in found["driver.userspace"]["evidence"]


@pytest.mark.parametrize(
    "words",
    [["--gpu", "mi300"], ["--dry-run"], ["--compose", "/no/such/file"], ["--venv", "/no/such"], ["--host", "/no/such"],
     ["--engine", "lxd"], ["--about", "x"], ["--image", ""], ["--in", "x", "--host", "/"]],
)  # fmt: skip
def test_what_cannot_be_followed_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", *words]) == 2
    assert "error: " in capsys.readouterr().err


def test_wheels_of_two_versions(host: Build, ask: Ask, tmp_path: Path) -> None:
    for name, version in (("rocm_sdk_core", "7.0"), ("rocm", "7.1")):
        folder = tmp_path / f"venv/lib/python3.12/site-packages/{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    code, answer = ask("--host", host(run_as=ROOT), "--venv", str(tmp_path / "venv"))
    assert (code, verdicts(answer)["libs.wheel-versions"]) == (2, "fail")


COMPOSE = "services:\n  a:\n    image: rocm/pytorch\n    devices: [/dev/kfd, /dev/dri]\n    group_add: [render]\n"


def test_fix_mends_a_compose_file_and_keeps_what_it_was(
    host: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE)
    words = [
        "doctor",
        "--host",
        host(run_as=ROOT, groups={"render": 992, "video": 44}),
        "--compose",
        str(file),
        "--fix",
    ]
    assert run([*words, "--dry-run"]) == 2
    assert "would mend" in capsys.readouterr().err
    assert file.read_text() == COMPOSE
    assert run(words) == 2
    assert 'group_add: ["992"]' in file.read_text()
    assert (tmp_path / "compose.yaml.rocenv-backup").read_text() == COMPOSE
    assert run([*words[:-1]]) == 0, "mended"
    file.write_text(COMPOSE)
    assert run(words) == 2
    assert "is there already" in capsys.readouterr().err
    assert file.read_text() == COMPOSE, "a backup is not written over, and so nothing is"


def test_fix_writes_through_no_link(host: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real, link, victim = tmp_path / "real.yaml", tmp_path / "compose.yaml", tmp_path / "victim"
    real.write_text(COMPOSE)
    victim.write_text("untouched")
    link.symlink_to(real)
    given = ["doctor", "--host", host(run_as=ROOT, groups={"render": 992, "video": 44}), "--fix", "--compose"]
    assert run([*given, str(link)]) == 2
    assert "name the file itself" in capsys.readouterr().err
    (tmp_path / "real.yaml.rocenv-new").symlink_to(victim)
    assert run([*given, str(real)]) == 2
    assert victim.read_text() == "untouched"
    assert 'group_add: ["992"]' in real.read_text()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_what_needs_root_is_told_and_not_done(host: Build, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--host", host("no-driver"), "--fix"]) == 3
    said = capsys.readouterr().err
    assert "not done for you: driver.loaded: `sudo modprobe amdgpu`" in said
    assert "nothing that could be mended" in said


def test_hostile_files_reach_no_terminal(host: Build, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "amdgpu: \x1b[2J\x1b]0;owned\x07 PCI rejects atomics \u202e"
    place = host("no-driver", files={"/captures/dmesg": evil, "/etc/modprobe.d/\x1b[31m.conf": "blacklist amdgpu"})
    run(["doctor", "--host", place, "--all", "--symptom", evil])
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert "\u202e" not in told.out + told.err


def test_a_huge_file_is_not_read_whole(host: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    huge = tmp_path / "compose.yaml"
    with huge.open("wb") as stream:
        stream.truncate(1 << 30)
    assert run(["doctor", "--compose", str(huge), "--host", host()]) == 2
    assert "larger than" in capsys.readouterr().err


def test_a_bundle_can_be_read_again(host: Build, ask: Ask, tmp_path: Path) -> None:
    file = str(tmp_path / "b.tar.gz")
    code, first = ask(
        "--host", host("no-driver", files={"/captures/dmesg": "amdgpu: PCI rejects atomics"}), "--save", file
    )
    again, second = ask("--host", file)
    assert (again, second) == (code, first)
    with tarfile.open(file) as members:
        stream = members.extractfile("b/root/captures/doctor.json")
        assert stream is not None
        told = json.load(stream)
    assert told["doctor"]["verdict"] == "fail"


def test_the_answer_is_one_document_where_mending_fails(
    host: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE)
    (tmp_path / "compose.yaml.rocenv-backup").write_text("kept")
    place = host(run_as=ROOT, groups={"render": 992, "video": 44})
    assert run(["doctor", "--host", place, "--compose", str(file), "--fix", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    (step,) = told["steps"]
    assert (told["status"], told["verdict"], step["done"]) == ("ok", "fail", False)
    assert "is there already" in step["why"]
    (tmp_path / "compose.yaml.rocenv-backup").unlink()
    run(["doctor", "--host", place, "--compose", str(file), "--fix", "--json"])
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert (step["done"], step["why"]) == (True, None)


AMD_CTK = """#!/bin/sh
# A stand-in for AMD's tool: it writes a specification of a node that is here.
for word; do case $word in --output=*) file=${word#--output=};; esac; done
printf '%s' '{"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": []}' > "$file"
"""


@pytest.mark.parametrize(("tool", "done"), [(AMD_CTK, True), ("#!/bin/sh\necho no driver >&2; exit 1\n", False),
                                            (None, False)])  # fmt: skip
def test_a_stale_specification_of_one_s_own_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str | None, done: bool
) -> None:
    """The only live facts are those of the folder: AMD's tool itself needs its driver."""
    from rocenv.checks.facts import Facts
    from rocenv.checks.run import run as run_checks
    from rocenv.cli.mending import mend
    from rocenv.host import examine

    (tmp_path / "bin").mkdir()
    if tool is not None:
        (tmp_path / "bin/amd-ctk").write_text(tool)
        (tmp_path / "bin/amd-ctk").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    spec = tmp_path / "config/cdi/amd.json"
    spec.parent.mkdir(parents=True)
    node = {"path": "/dev/dri/renderD199"}
    spec.write_text(
        json.dumps({"kind": "amd.com/gpu", "devices": [{"name": "0", "containerEdits": {"deviceNodes": [node]}}]})
    )
    found, health = examine()
    facts = Facts(host=found, health=health)
    (finding,) = run_checks(facts, only=["engine.cdi-fresh"])[-1:]
    assert (finding.check, finding.verdict) == ("engine.cdi-fresh", "warn")
    (step,) = mend(facts, [finding], dry_run=True)
    assert "renderD199" in spec.read_text()
    (step,) = mend(facts, [finding], dry_run=False)
    assert (step.done, "renderD199" in spec.read_text()) == (done, not done), step
