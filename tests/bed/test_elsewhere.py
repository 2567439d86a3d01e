"""Engines that are not this host's, for real: over TCP, and behind a local socket that leads to another kernel."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed import life
from bed.demo import ROCENV
from bed.elsewhere import NAME
from bed.place import Bed

if TYPE_CHECKING:
    from conftest import TestBed

SCRIPT = Path(__file__).with_name("elsewhere.py")
Start = Callable[[str], str]


@contextmanager
def dockerd(bed: TestBed, place: str) -> Iterator[str]:
    """The second engine, as long as it is wanted; its address. `place`: what it listens on, none: a socket's file."""
    folder = Path(tempfile.mkdtemp(prefix="rocenv-box-"))  # a short path: it holds sockets
    folder.chmod(0o755)
    listen = place or f"{folder}/docker.sock"
    argv = life.argv(Bed("test"), [sys.executable, str(SCRIPT), str(folder), listen], as_root=True, folder=bed.project)
    child = subprocess.Popen(argv, env=bed.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        # A connection waits until the daemon takes it: no sleep, no second try.
        asked = bed.run("docker", "--host", address, "version", as_root=True)
        assert asked.returncode == 0, asked.stderr + (folder / "log").read_text()
        yield address
    finally:
        bed.run("sh", "-c", f"kill $(cat {folder}/pid)", as_root=True)
        child.wait()
        child.stdout.close()
        shutil.rmtree(folder)


@pytest.fixture
def start(bed: TestBed) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda place: stack.enter_context(dockerd(bed, place))


def doctor(bed: TestBed, address: str) -> dict[str, dict[str, Any]]:
    done = bed.run("env", f"DOCKER_HOST={address}", str(ROCENV), "doctor", "--json")
    assert done.stdout, done.stderr
    return {one["check"]: one for one in json.loads(done.stdout)["findings"]}


def test_an_engine_on_another_machine(bed: TestBed, start: Start) -> None:
    address = start("127.0.0.1")
    found = doctor(bed, address)
    assert found["engine.socket"]["verdict"] == "ok"
    assert found["engine.remote"]["verdict"] == "warn"
    assert f"{address}: {NAME}, kernel 2.6." in found["engine.remote"]["evidence"]
    assert f"run `rocenv doctor` on {NAME}" in found["engine.remote"]["fix"]
    assert found["engine.same-kernel"]["verdict"] == "skip", "one cause is told once"
    for check in ("engine.disk", "engine.inodes"):
        assert found[check]["verdict"] == "skip", "its disk is not here"
    refused = bed.run("env", f"DOCKER_HOST={address}", str(ROCENV), "up", "terminal")
    assert refused.returncode == 4, "nothing is started by what is read here"


def test_a_local_socket_that_leads_to_another_kernel(bed: TestBed, start: Start) -> None:
    found = doctor(bed, start(""))
    assert found["engine.remote"]["verdict"] == "ok"
    assert found["engine.same-kernel"]["verdict"] == "fail"
    assert "the engine: 2.6." in found["engine.same-kernel"]["evidence"]
    assert found["profile.plan"]["verdict"] == "skip"
