"""Which paths of a host are never mounted."""

from __future__ import annotations

import pytest

from rocenv.rules.mounts import forbidden


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/", "whole file system"),
        ("/dev", "devices"),
        ("/dev/sda", "devices"),
        ("/proc", "processes"),
        ("/proc/1/root", "processes"),
        ("/sys/kernel", "kernel"),
        ("/etc", "accounts"),
        ("/etc/shadow", "accounts"),
        ("/run", "socket"),
        ("/var/run", "socket"),
        ("/var/run/docker.sock", "socket"),
        ("/run/docker.sock", "socket"),
        ("/run/podman", "socket"),
        ("/run/user", "socket"),
        ("/run/user/1000", "socket"),
        ("/run/user/1000/podman", "socket"),
        ("/run/user/1000/podman/podman.sock", "socket"),
        ("/run/containerd/containerd.sock", "socket"),
        ("/home/u/.docker/run/docker.sock", "socket"),
        ("/var", "engine keeps"),
        ("/var/lib/docker/volumes", "engine keeps"),
    ],
)
def test_what_would_be_root_of_the_host_is_refused(path: str, word: str) -> None:
    assert word in (forbidden(path) or "")


@pytest.mark.parametrize(
    "path",
    ["/data", "/devices", "/procs", "/home/u", "/etc/hosts", "/run/user/1000/wayland-0", "/var/lib/models", "/var/tmp"],
)
def test_what_is_like_them_by_name_alone_is_not(path: str) -> None:
    assert forbidden(path) is None


def test_an_engine_s_socket_at_a_place_of_its_own_counts_too() -> None:
    assert forbidden("/srv/engine/it", ["/srv/engine/it"]) is not None
    assert forbidden("/srv", ["/srv/engine/it"]) is not None
    assert forbidden("/srv/data", ["/srv/engine/it"]) is None
