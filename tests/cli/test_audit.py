"""`rocenv audit` from the command line to its answer, on saved images made here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from image.making import Content, docker_archive, host_elf, plain_bundle, tarred

from rocenv.cli import app

SITE = "opt/venv/lib/python3.12/site-packages"
LAYER: dict[str, Content] = {
    "opt/rocm-7.2.4/.info/version": b"7.2.4-90\n",
    "opt/rocm-7.2.4/lib/librocblas.so.5.2.70204": host_elf(plain_bundle("gfx90a", "gfx942", "gfx11-generic")),
    "opt/rocm-7.2.4/lib/rocblas/library/TensileLibrary_lazy_gfx942.dat": b"data",
    f"{SITE}/torch/version.py": b"__version__ = '2.10.0+rocm7.2.4'\nhip = '7.2.5'\ncuda = None\n",
    f"{SITE}/triton-3.6.0.dist-info/METADATA": b"",
    f"{SITE}/evil\x1b[2J\nerror: all is lost/x.so": host_elf(plain_bundle("gfx1030")),
    "opt/venv/pyvenv.cfg": b"version = 3.12.3\n",
    "etc/group": b"video:x:44:\n",
    "etc/os-release": b'NAME="Ubuntu"\nVERSION_ID="24.04"\n',
}
TAG = "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))  # no engine
    monkeypatch.chdir(tmp_path)
    (tmp_path / "image.tar").write_bytes(docker_archive([tarred(LAYER)], TAG, User="me", Entrypoint=["bash"]))

    def called(*words: str) -> tuple[int, str, str]:
        code = app.run(["audit", *words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return called


def answer(run: Run, *words: str) -> dict[str, Any]:
    code, out, _ = run(*words, "--json")
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_contract(run: Run) -> None:
    found = answer(run, TAG, "--from", "image.tar", "--gpu", "gfx942,gfx1100")
    assert (found["version"], found["status"], found["reference"]) == (1, "ok", TAG)
    assert (found["rocm"], found["triton"], found["user"], found["entrypoint"]) == ("7.2.4", "3.6.0", "me", ["bash"])
    assert found["torch"]["version"] == "2.10.0+rocm7.2.4"
    assert found["pythons"] == [{"path": "/opt/venv", "version": "3.12.3", "kind": "venv"}]
    assert found["gfx"]["rocblas"] == ["gfx90a", "gfx942", "gfx11-generic"]
    assert found["gfx"]["rocblas tensile"] == ["gfx942"]
    assert found["warnings"] == []
    assert found["verdicts"]["gfx942"]["rocblas"] == {"verdict": "native", "by": None, "note": None}
    assert found["verdicts"]["gfx1100"]["rocblas"] == {"verdict": "generic", "by": "gfx11-generic", "note": None}
    assert found["verdicts"]["gfx1100"]["rocblas tensile"]["verdict"] == "none"
    assert found["digest"] is None
    assert found["id"].startswith("sha256:")


def test_the_text_tells_the_same_and_obeys_no_name(run: Run) -> None:
    code, out, err = run("./image.tar", "--gpu", "gfx942")
    assert code == 0
    lines = out.splitlines()
    assert "ROCm      7.2.4  /opt/rocm-7.2.4/.info/version" in lines
    assert "gfx942: 2 native, 1 none" in lines
    assert any(
        line.split()[:2] == ["rocblas", "code"] and line.endswith("gfx90a gfx942 gfx11-generic") for line in lines
    )
    assert "\x1b" not in out + err
    assert not any(line.startswith("error:") for line in (out + err).splitlines())


def test_an_image_without_code_for_gpus_is_told_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plain.tar").write_bytes(docker_archive([tarred({"etc/hostname": b"a"})], "own/plain:1"))
    code, out, _ = run("./plain.tar", "--gpu", "gfx942")
    assert code == 0
    assert out.endswith("no code for GPUs was found\n")


def test_a_tag_that_is_not_the_content(run: Run, tmp_path: Path) -> None:
    other = "rocm/pytorch:rocm7.1_ubuntu24.04_py3.13_pytorch_release_2.9.1"
    (tmp_path / "image.tar").write_bytes(docker_archive([tarred(LAYER)], other))
    assert answer(run, other, "--from", "image.tar")["warnings"][:3] == [
        "its tag says ROCm 7.1, and ROCm 7.2.4 is inside",
        "its tag says PyTorch 2.9.1, and 2.10.0+rocm7.2.4 is inside",
        "its tag says Python 3.13, and 3.12.3 is inside",
    ]


def test_the_second_time_nothing_is_read(run: Run) -> None:
    assert "reading the layer" in run("./image.tar")[2]
    first = answer(run, "./image.tar")
    code, _, err = run("./image.tar")
    assert (code, "reading" in err) == (0, False)
    assert "reading the layer" in run("./image.tar", "--fresh")[2]
    assert answer(run, "./image.tar", "--fresh") == first


def test_the_gpus_of_a_capture(run: Run, tmp_path: Path) -> None:
    from hosts import builder

    builder.build(builder.describe("rx7900xtx"), tmp_path / "host")
    found = answer(run, "./image.tar", "--host", str(tmp_path / "host"))
    assert set(found["verdicts"]) == {"gfx1100"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["./missing.tar"], 2, "`./missing.tar` is no file that an image could be saved in"),
        (["./image.tar", "--gpu", "mi300x"], 2, "`mi300x` is no gfx target"),
        (["./image.tar", "--gpu", "gfx942", "--host", "x"], 2, "name targets both"),
        (["Not A Reference"], 2, "is no image reference"),
        (["own/image:1", "--from", "image.tar"], 5, "holds no image `own/image:1`"),
        (["own/image:1", "--from", "engine"], 4, "docker"),
        (["own/image:1", "--engine", "lxc"], 2, "there is no engine `lxc`"),
        (["./cut.tar"], 5, "`./cut.tar` cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told(run: Run, words: list[str], code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "cut.tar").write_bytes((tmp_path / "image.tar").read_bytes()[:3000])
    got, out, err = run(*words, "--json")
    assert got == code
    assert said in err
    assert json.loads(out)["error"]["code"] == code
