"""A gigabyte where a few lines are expected: the doctor ends in its own words, and its memory stays small.

Files are sparse and streams generated, so none of it takes long or room.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

import pytest
from hosts import builder

GIGABYTE = 1 << 30
MOST = 300 << 10  # KiB: an ordinary run takes some 40 MiB
# Runs a command and writes down what it held at most. The kernel counts what a process holds that forks as its child's,
# so it is not the one that runs the tests which starts the command.
MEASURED = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
"""
PODMAN = "#!/bin/sh\n# A stand-in for an engine that has gone mad.\nexec cat /dev/zero\n"


class Ran(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str
    peak: int  # KiB


def rocenv(words: Sequence[str], folder: Path, stdin: IO[bytes] | int = subprocess.DEVNULL, path: str = "") -> Ran:
    """The doctor as a process of its own, whose memory is measured."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ROCENV_", "DOCKER_"))}
    env |= {"PATH": path or str(folder / "nothing"), "HOME": str(folder)}
    out, err, peak = folder / "out", folder / "err", folder / "peak"
    with out.open("wb") as first, err.open("wb") as second:
        argv = [sys.executable, "-c", MEASURED, str(peak), sys.executable, "-m", "rocenv", "doctor", *words]
        code = subprocess.call(argv, stdin=stdin, stdout=first, stderr=second, env=env)
    return Ran(code, out.read_text(), err.read_text(), int(peak.read_text()))


def sparse(file: Path, begin: bytes = b"", end: bytes = b"") -> Path:
    """A file of a gigabyte, of which only its ends take room."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as stream:
        stream.write(begin)
        stream.seek(GIGABYTE)
        stream.write(end or b"\0")
    return file


@pytest.fixture
def host(tmp_path: Path) -> str:
    return str(builder.build(builder.describe("rx7900xtx"), tmp_path / "host"))


@pytest.mark.parametrize("kind", ["compose", "dockerfile"])
def test_a_file_of_a_gigabyte(kind: str, host: str, tmp_path: Path) -> None:
    file = sparse(tmp_path / kind, b"FROM ubuntu\n")
    ran = rocenv(["--host", host, f"--{kind}", str(file)], tmp_path)
    assert (ran.code, "is larger than 4 MiB" in ran.err) == (2, True), ran.err
    assert ran.peak < MOST


def test_a_kernel_log_of_a_gigabyte(host: str, tmp_path: Path) -> None:
    begin = b"amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\n" * 100_000
    sparse(Path(host) / "root/captures/dmesg.txt", begin)
    ran = rocenv(["--host", host, "--json"], tmp_path)
    told = {one["check"]: one for one in json.loads(ran.out)["findings"]}
    assert told["gpu.reset"]["verdict"] == "warn"
    assert ran.peak < MOST


def test_a_log_of_a_gigabyte_on_stdin(host: str, tmp_path: Path) -> None:
    file = sparse(tmp_path / "log", b"\x1b[31mRuntimeError: No HIP GPUs are available\n", b"\nPCI rejects atomics\n")
    with file.open("rb") as stream:
        ran = rocenv(["--host", host, "--symptom", "-", "--json"], tmp_path, stdin=stream)
    checks = list(dict.fromkeys(one["check"] for one in json.loads(ran.out)["findings"]))
    assert checks[0] == "render.access"
    assert checks.index("pci.atomics") < checks.index("pci.gpu")
    assert ran.peak < MOST


def test_an_engine_that_never_ends_its_answer(tmp_path: Path) -> None:
    program = tmp_path / "bin/podman"  # docker's socket is asked before docker itself
    program.parent.mkdir()
    program.write_text(PODMAN)
    program.chmod(0o755)
    ran = rocenv(["--engine", "podman", "--json"], tmp_path, path=f"{tmp_path}/bin:/usr/bin:/bin")
    told = {one["check"]: one for one in json.loads(ran.out)["findings"]}
    assert told["engine.socket"]["verdict"] == "fail"
    assert "answered with more than 32 MiB" in told["engine.socket"]["evidence"]
    assert ran.peak < MOST
