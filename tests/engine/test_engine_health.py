"""An engine's socket, room and stores: the kernel's own answers."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from checks.seen import facts, found

from rocenv.engine import open_engine
from rocenv.engine.health import Examination, connect, room, stores
from rocenv.model.health import EngineHealth
from rocenv.model.plan import EngineFacts

AS_ROOT = os.geteuid() == 0


def test_each_answer_of_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    assert connect(f"unix://{path}") == "ENOENT"
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(path))
        assert connect(f"unix://{path}") == "ECONNREFUSED"  # what a daemon that died leaves behind
        line.listen()
        assert connect(f"unix://{path}") is None
    assert connect("tcp://127.0.0.1:1") == "ECONNREFUSED"
    assert connect("ssh://u@nowhere.example") is None


@pytest.mark.skipif(not AS_ROOT, reason="becomes another user, which root may")
def test_a_socket_of_others_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as line:
        path = Path(folder) / "docker.sock"
        line.bind(str(path))
        line.listen()
        path.chmod(0o600)
        path.parent.chmod(0o755)
        os.seteuid(1000)
        try:
            answer = connect(f"unix://{path}")
        finally:
            os.seteuid(0)
    assert answer == "EACCES"


@pytest.mark.skipif(not AS_ROOT, reason="mounts a small file system, which root may")
def test_a_full_data_root_is_found(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=64", "small", str(place)], check=True)
    try:
        full = EngineFacts("docker", data_root=str(place))
        free, inodes = room(full)
        assert free is not None
        assert 0 < free <= 1 << 20
        assert inodes is not None
        assert 0 < inodes < 64
        seen = EngineHealth(free_bytes=free, free_inodes=inodes)
        given = facts(engine=full, engine_health=seen, image=None)
        assert found("engine.disk", given).verdict == "fail"
        assert found("engine.inodes", given).verdict == "fail"
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_the_room_of_another_machine_is_not_this_one_s() -> None:
    assert room(EngineFacts("docker", data_root="/", remote=True)) == (None, None)
    assert room(EngineFacts("docker", data_root="/no/such/place")) == (None, None)
    assert room(EngineFacts("docker")) == (None, None)


@pytest.mark.engine
def test_a_dead_socket_is_told_without_waiting_for_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    examination = Examination(open_engine("docker"))
    engine, health = examination.findings()
    examination.close()
    assert (engine, health.socket) == (None, "ENOENT")


def test_a_store_tells_whether_it_holds_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    repositories = tmp_path / ".local/share/docker/image/overlay2/repositories.json"
    images = tmp_path / ".local/share/containers/storage/overlay-images/images.json"
    for file in (repositories, images):
        file.parent.mkdir(parents=True)
    repositories.write_text('{"Repositories":{"a":{"a:1":"sha256:00"}}}')
    images.write_text("[]\n")
    told = {one.path: (one.engine, one.holds) for one in stores() if one.path.startswith(str(tmp_path))}
    assert told == {
        str(tmp_path / ".local/share/docker"): ("docker", True),
        str(tmp_path / ".local/share/containers/storage"): ("podman", False),
    }


def test_a_store_behind_a_closed_folder_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(path: object, **_: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", closed)  # root, who may run the tests, may look everywhere
        assert stores() == ()
