"""What engines say of themselves: answers written by hand from the fields that docker and podman document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocenv.engine import where
from rocenv.engine.facts import NoAnswerError, docker_facts, other_kernel, podman_facts
from rocenv.errors import EngineError
from rocenv.model.host import Caller, Driver, Host, OsRelease
from rocenv.model.plan import EngineFacts

SOCKET = "unix:///var/run/docker.sock"
DOCKER: dict[str, Any] = {
    "ServerVersion": "28.5.2",
    "OperatingSystem": "Ubuntu 24.04.3 LTS",
    "KernelVersion": "6.8.0-87-generic",
    "Architecture": "x86_64",
    "DockerRootDir": "/var/lib/docker",
    "DefaultRuntime": "runc",
    "Runtimes": {"runc": {"path": "runc"}, "amd": {"path": "/usr/bin/amd-container-runtime"}},
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
    "ClientInfo": {"Version": "28.5.2", "Context": "default"},
}
PODMAN: dict[str, Any] = {
    "host": {
        "arch": "amd64",
        "kernel": "6.12.9",
        "distribution": {"distribution": "fedora", "version": "41"},
        "ociRuntime": {"name": "crun", "path": "/usr/bin/crun"},
        "remoteSocket": {"path": "/run/user/1000/podman/podman.sock"},
        "serviceIsRemote": False,
        "security": {"rootless": True, "seccompEnabled": True, "selinuxEnabled": True, "apparmorEnabled": False},
        "idMappings": {
            "gidmap": [
                {"container_id": 0, "host_id": 1000, "size": 1},
                {"container_id": 1, "host_id": 524288, "size": 65536},
            ]
        },
    },
    "store": {"graphRoot": "/home/me/.local/share/containers/storage"},
    "version": {"Version": "5.4.2"},
}


def docker(**changed: Any) -> EngineFacts:
    return docker_facts(json.dumps({**DOCKER, **changed}), "", SOCKET)


def host(kernel: str, name: str | None = None) -> Host:
    return Host(
        name=name, environment="bare-metal", caller=Caller(0, 0, ()), os=OsRelease(None, None, None), kernel=kernel,
        machine="x86_64", driver=Driver(loaded=True, version=None, origin=None), kfd_sysfs=True, devices=(),
        rocm_default=None, rocm_installed=(), group_render=None, group_video=None, gpus=(), unusable=(),
        other_displays=(), masked_nodes=(), broken_nodes=(), memory_bytes=None, numa_nodes=None, selinux=None,
        cgroup_version=2, user_namespace=None, virtualization=None, allocation=None,
    )  # fmt: skip


def test_docker_is_read() -> None:
    assert docker() == EngineFacts(
        kind="docker",
        client_version="28.5.2",
        server_version="28.5.2",
        endpoint=SOCKET,
        operating_system="Ubuntu 24.04.3 LTS",
        kernel="6.8.0-87-generic",
        machine="x86_64",
        runtime="runc",
        runtimes=("amd", "runc"),
        security=("apparmor", "seccomp", "cgroupns"),
        data_root="/var/lib/docker",
    )


def test_rootless_docker_says_so_among_its_security_options() -> None:
    assert docker(SecurityOptions=["name=seccomp,profile=builtin", "name=rootless"]).rootless


@pytest.mark.parametrize(
    "changed",
    [{"OperatingSystem": "Docker Desktop"}, {"ClientInfo": {"Version": "28.5.2", "Context": "desktop-linux"}}],
)
def test_docker_desktop_is_known(changed: dict[str, Any]) -> None:
    assert docker(**changed).desktop


@pytest.mark.parametrize("endpoint", ["tcp://10.0.0.7:2375", "ssh://me@gpu-box"])
def test_an_address_that_is_no_socket_is_remote(endpoint: str) -> None:
    assert docker_facts(json.dumps(DOCKER), "", endpoint).remote


@pytest.mark.parametrize(
    ("told", "folders"),
    [({}, None), ({"CDISpecDirs": None}, ()), ({"CDISpecDirs": []}, ()),
     ({"CDISpecDirs": ["/etc/cdi", "/opt/cdi"]}, ("/etc/cdi", "/opt/cdi"))],
)  # fmt: skip
def test_where_docker_looks_for_cdi_devices(told: dict[str, Any], folders: tuple[str, ...] | None) -> None:
    """20.10 tells nothing; 26.1 and 28.5 an empty list where CDI is off (seen)."""
    assert docker_facts(json.dumps({**DOCKER, **told}), "", SOCKET).cdi_folders == folders


def test_podman_is_read() -> None:
    assert podman_facts(json.dumps(PODMAN), "") == EngineFacts(
        kind="podman",
        rootless=True,
        client_version="5.4.2",
        server_version="5.4.2",
        endpoint="/run/user/1000/podman/podman.sock",
        operating_system="fedora 41",
        kernel="6.12.9",
        machine="x86_64",
        runtime="crun",
        runtimes=("crun",),
        security=("seccomp", "selinux", "rootless"),
        data_root="/home/me/.local/share/containers/storage",
        gid_map=((0, 1000, 1), (1, 524288, 65536)),
    )


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"name": "/usr/bin/crun", "version": "crun version 1.8.1\ncommit: f8a0"}, "crun"),  # as podman 4.3 was told
        ({"name": "/opt/wrapper", "version": "runc version 1.1.5\nspec: 1.0.2"}, "runc"),
        ({"name": "/usr/local/bin/youki", "version": ""}, "youki"),
        ({}, None),
    ],
)
def test_podman_s_runtime_may_be_named_by_its_path(told: dict[str, str], name: str | None) -> None:
    info = {**PODMAN, "host": {**PODMAN["host"], "ociRuntime": told}}
    assert podman_facts(json.dumps(info), "").runtime == name


def test_podman_under_dockers_name_is_podman() -> None:
    assert docker_facts(json.dumps(PODMAN), "", SOCKET).kind == "podman"


def test_docker_20_tells_its_failure_inside_an_answer_that_looks_well() -> None:
    text = json.dumps({"ServerErrors": ["Cannot connect to the Docker daemon"], "ClientInfo": {"Context": "default"}})
    with pytest.raises(NoAnswerError, match="Cannot connect"):
        docker_facts(text, "", SOCKET)


def test_docker_28_tells_it_on_stderr_beside_an_empty_answer() -> None:
    with pytest.raises(NoAnswerError, match="Cannot connect"):
        docker_facts(json.dumps({"ServerVersion": ""}), "Cannot connect to the Docker daemon", SOCKET)


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"host": 1, "store": 2}'])
def test_an_answer_that_is_none_is_no_crash(text: str) -> None:
    with pytest.raises(NoAnswerError):
        docker_facts(text, "said", SOCKET)


HERE = host("6.8.0-87-generic")


def test_the_engine_of_this_host_is_taken() -> None:
    assert other_kernel(docker(), HERE) is None


def test_an_engine_in_a_virtual_machine_is_refused() -> None:
    error = other_kernel(docker(KernelVersion="6.10.14-linuxkit"), HERE)
    assert isinstance(error, EngineError)
    assert "another kernel (6.10.14-linuxkit)" in error.message
    assert error.hint


def test_a_capture_says_nothing_about_the_kernel_here() -> None:
    assert other_kernel(docker(), host("5.15.0", name="mi300x")) is None


def test_an_engine_that_was_not_asked_is_not_judged() -> None:
    assert other_kernel(docker(KernelVersion="1.0")._replace(assumed=True), HERE) is None


class TestWhereDockerGoes:
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))

    def context(self, folder: Path, address: str) -> None:
        # `docker context create away` makes a folder of this name: the SHA-256 of the context's.
        digest = "378ce56a9d146d5174c89d1c0353d7f8e2244e89bb83935a5b1bdcf5e74b4e7f"
        meta = folder / "contexts" / "meta" / digest / "meta.json"
        meta.parent.mkdir(parents=True)
        meta.write_text(json.dumps({"Name": "away", "Endpoints": {"docker": {"Host": address}}}))

    def test_nothing_chosen_is_the_default_socket(self) -> None:
        assert where.docker_endpoint() == SOCKET

    def test_docker_host_wins(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.context(tmp_path, "ssh://me@away")
        monkeypatch.setenv("DOCKER_CONTEXT", "away")
        monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.7:2375")
        assert where.docker_endpoint() == "tcp://10.0.0.7:2375"

    def test_a_context_in_the_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.context(tmp_path, "ssh://me@away")
        monkeypatch.setenv("DOCKER_CONTEXT", "away")
        assert where.docker_endpoint() == "ssh://me@away"

    def test_a_context_in_use(self, tmp_path: Path) -> None:
        self.context(tmp_path, "unix:///run/user/1000/docker.sock")
        (tmp_path / "config.json").write_text('{"currentContext": "away"}')
        assert where.docker_endpoint() == "unix:///run/user/1000/docker.sock"

    @pytest.mark.parametrize("config", ["", "[]", '{"currentContext": 3}', '{"currentContext": "gone"}'])
    def test_what_cannot_be_read_is_the_default_socket(self, tmp_path: Path, config: str) -> None:
        (tmp_path / "config.json").write_text(config)
        assert where.docker_endpoint() == SOCKET


def test_podman_behind_the_name_of_docker(tmp_path: Path) -> None:
    real = tmp_path / "podman"
    real.write_bytes(b"\x7fELF" + bytes(5000))
    link = tmp_path / "docker"
    link.symlink_to(real)
    shim = tmp_path / "shim"
    shim.write_text('#!/bin/sh\nexec /usr/bin/podman "$@"\n')
    docker_itself = tmp_path / "real-docker"
    docker_itself.write_bytes(b"\x7fELF" + bytes(5000) + b"podman")
    assert [where.is_podman(path) for path in (link, shim, docker_itself, tmp_path / "none")] == [
        True,
        True,
        False,
        False,
    ]
