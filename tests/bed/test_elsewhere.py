"""A second engine beside the first, for real: on another machine, on another kernel, dead, full, forgotten."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bed import life
from bed.demo import ROCENV
from bed.elsewhere import NAME
from bed.place import Bed

if TYPE_CHECKING:
    from conftest import TestBed

SCRIPT = Path(__file__).with_name("elsewhere.py")
Start = Callable[..., "Second"]
OTHER_KERNEL = "--uname-2.6"


class Second(NamedTuple):
    """A second engine: where it listens, its folder, and its daemon's process as the bed numbers it."""

    address: str
    folder: Path

    def kill(self, bed: TestBed, signal: str = "TERM") -> None:
        bed.run("sh", "-c", f"kill -{signal} $(cat {self.folder}/pid)", as_root=True)


@contextmanager
def dockerd(bed: TestBed, place: str, data: Path | None, flags: Sequence[str]) -> Iterator[Second]:
    """The second engine, as long as it is wanted. `place`: what it listens on, none: a socket's file."""
    folder = Path(tempfile.mkdtemp(prefix="rocenv-box-"))  # a short path: it holds sockets
    folder.chmod(0o755)
    words = [str(folder), place or f"{folder}/docker.sock", str(data or folder / "data"), *flags]
    argv = life.argv(Bed("test"), [sys.executable, str(SCRIPT), *words], as_root=True, folder=bed.project)
    child = subprocess.Popen(argv, env=bed.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    second = Second(child.stdout.readline().strip(), folder)
    try:
        # A connection waits until the daemon takes it: no sleep, no second try.
        asked = bed.run("docker", "--host", second.address, "version", as_root=True)
        assert asked.returncode == 0, asked.stderr + (folder / "log").read_text()
        yield second
    finally:
        second.kill(bed)
        child.wait()
        child.stdout.close()
        shutil.rmtree(folder)


@pytest.fixture
def start(bed: TestBed) -> Iterator[Start]:
    with ExitStack() as stack:

        def started(place: str = "", data: Path | None = None, flags: Sequence[str] = ()) -> Second:
            return stack.enter_context(dockerd(bed, place, data, flags))

        yield started


def doctor(bed: TestBed, address: str, *, as_root: bool = False) -> dict[str, dict[str, Any]]:
    done = bed.run("env", f"DOCKER_HOST={address}", str(ROCENV), "doctor", "--json", as_root=as_root)
    assert done.stdout, done.stderr
    return {one["check"]: one for one in json.loads(done.stdout)["findings"]}


def test_an_engine_on_another_machine(bed: TestBed, start: Start) -> None:
    address = start("127.0.0.1", flags=[OTHER_KERNEL]).address
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
    found = doctor(bed, start(flags=[OTHER_KERNEL]).address)
    assert found["engine.remote"]["verdict"] == "ok"
    assert found["engine.same-kernel"]["verdict"] == "fail"
    assert "the engine: 2.6." in found["engine.same-kernel"]["evidence"]
    assert found["profile.plan"]["verdict"] == "skip"


def test_a_daemon_that_crashed_leaves_its_socket(bed: TestBed, start: Start) -> None:
    second = start()
    assert doctor(bed, second.address)["engine.same-kernel"]["verdict"] == "ok"
    second.kill(bed, "KILL")
    found = doctor(bed, second.address)
    assert found["engine.socket"]["verdict"] == "fail"
    assert "ECONNREFUSED" in found["engine.socket"]["evidence"]
    assert found["engine.disk"]["verdict"] == "skip", "what fails because of it is silent"


def test_a_full_data_root(bed: TestBed, start: Start) -> None:
    """A small file system in a file, mounted in the bed: Docker's own answer leads the doctor there."""
    place = Path(tempfile.mkdtemp(prefix="rocenv-small-"))
    try:
        made = f"truncate -s 64M {place}/disk && mkfs.ext4 -q -N 2048 {place}/disk && mkdir {place}/data"
        done = bed.run(
            "sh", "-c", f"{made} && mount -o loop {place}/disk {place}/data && chmod 755 {place}", as_root=True
        )
        assert done.returncode == 0, done.stderr
        found = doctor(bed, start(data=place / "data").address)
        for check in ("engine.disk", "engine.inodes"):
            assert found[check]["verdict"] == "fail", found[check]
            assert f"{place}/data" in found[check]["evidence"]
        assert "data-root" in found["engine.disk"]["fix"]
    finally:
        bed.run("umount", "--lazy", f"{place}/data", as_root=True)
        shutil.rmtree(place)


def test_the_images_of_a_forgotten_engine(bed: TestBed, start: Start, small_image: str) -> None:
    """A store where rootless Docker has it, filled by a real engine; who asks is root, who may look into it."""
    home = bed.project / "home"
    store = home / ".local/share/docker"
    second = start(data=store)
    loaded = bed.run("sh", "-c", f"docker save {small_image} | docker --host {second.address} load", as_root=True)
    assert loaded.returncode == 0, loaded.stderr
    words = ["env", f"HOME={home}", str(ROCENV), "doctor", "--json"]
    told = {one["check"]: one for one in json.loads(bed.run(*words, as_root=True).stdout)["findings"]}
    assert told["engine.second-store"]["verdict"] == "warn"
    assert str(store) in told["engine.second-store"]["fix"]
