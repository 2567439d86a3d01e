"""What of a host is never mounted: by it a container would be as much as root of the host."""

from __future__ import annotations

from collections.abc import Iterable

# `*` stands for one name: the user's number.
SOCKETS = (
    "/run/docker.sock",
    "/run/docker/containerd/containerd.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/user/*/docker.sock",
    "/run/user/*/podman/podman.sock",
)
_SOCKET_NAMES = frozenset(path.rpartition("/")[2] for path in SOCKETS) | {"docker-raw.sock", "buildkitd.sock"}
_STORES = ("/var/lib/docker", "/var/lib/containerd", "/var/lib/containers")
_WHOLE = {
    "/dev": "the host's devices: `gpus` and `loosen` give those that are needed",
    "/proc": "the host's processes and kernel settings",
    "/sys": "the host's kernel settings: a container has a /sys of its own",
}
_FILES = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d")


def forbidden(path: str, sockets: Iterable[str] = ()) -> str | None:
    """Why an absolute path without links and dots is not mounted; None where nothing speaks against it.

    `sockets` are further sockets of engines, whole paths.
    """
    path = "/run" + path[len("/var/run") :] if within(path, "/var/run") else path
    if path == "/":
        return "it is the whole file system"
    for whole, what in _WHOLE.items():
        if within(path, whole):
            return f"it is {what}"
    if path == "/etc" or any(within(path, one) for one in _FILES):
        return "it holds the host's accounts and secrets: name the one file that is needed"
    if path.rpartition("/")[2] in _SOCKET_NAMES or path in sockets:
        return "it is an engine's socket: who has that is root of the host"
    holds = next((one for one in (*SOCKETS, *sockets) if _above(path, one)), None)
    if holds is not None:
        return f"it holds an engine's socket (`{holds}`): who has that is root of the host"
    store = next((one for one in _STORES if within(path, one) or within(one, path)), None)
    return f"it holds what an engine keeps of all containers (`{store}`)" if store else None


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it, by their texts."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _above(path: str, socket: str) -> bool:
    """Whether a folder holds a socket, at whatever depth."""
    parts, wanted = path.split("/"), socket.split("/")
    return len(parts) < len(wanted) and all(b in ("*", a) for a, b in zip(parts, wanted, strict=False))
