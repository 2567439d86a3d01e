"""Where the docker client goes: a socket of this machine, DOCKER_HOST, or a context; and whether docker is podman."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

DEFAULT_ENDPOINT = "unix:///var/run/docker.sock"
_SCRIPT = 4096  # a shim is a script of a few lines


def is_podman(program: Path) -> bool:
    """True where `docker` is podman under that name: a link to it, or the few lines of the package podman-docker."""
    try:
        resolved = program.resolve()
        return resolved.name == "podman" or (resolved.stat().st_size < _SCRIPT and b"podman" in resolved.read_bytes())
    except OSError:
        return False


def docker_endpoint() -> str:
    """The docker client's address, by its own rules: DOCKER_HOST, then DOCKER_CONTEXT, then the context in use.

    An address that cannot be found out is that of the default socket: the client itself says what is wrong with it.
    """
    named = os.environ.get("DOCKER_HOST")
    if named:
        return named
    context = docker_context()
    folder = _folder()
    if context is None or folder is None:
        return DEFAULT_ENDPOINT
    return _context_host(folder, context) or DEFAULT_ENDPOINT


def docker_context() -> str | None:
    """The name of the context in use, None for the default one. DOCKER_HOST goes before it."""
    folder = _folder()
    context: object = os.environ.get("DOCKER_CONTEXT")
    if not context and folder is not None:
        context = _field(folder / "config.json", "currentContext")
    return context if isinstance(context, str) and context not in ("", "default") else None


def program(name: str) -> str | None:
    """The file that a program's name leads to, through all links; a snap's stays as PATH has it."""
    found = shutil.which(name)
    return found if found is None or found.startswith("/snap/") else os.path.realpath(found)


def _folder() -> Path | None:
    """Where the docker client keeps its settings; None for a user without a home."""
    named = os.environ.get("DOCKER_CONFIG")
    if named:
        return Path(named)
    try:
        return Path.home() / ".docker"
    except RuntimeError:
        return None


def rootless_gid_map() -> tuple[tuple[int, int, int], ...]:
    """The group ids of the caller's rootless dockerd: (inside, outside, count), or nothing where that cannot be read.

    RootlessKit leaves the id of the process that lives in the daemon's user namespace in its state folder.
    """
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    try:
        pid = int((runtime / "dockerd-rootless" / "child_pid").read_text(encoding="ascii"))
        lines = Path(f"/proc/{pid}/gid_map").read_text(encoding="ascii").splitlines()
        rows = [tuple(map(int, line.split())) for line in lines]
    except (OSError, ValueError):
        return ()
    return tuple((row[0], row[1], row[2]) for row in rows)


def _context_host(folder: Path, context: str) -> str | None:
    """The address in a context's file, whose folder is named by the SHA-256 of the context's name."""
    import hashlib

    digest = hashlib.sha256(context.encode()).hexdigest()
    endpoints = _field(folder / "contexts" / "meta" / digest / "meta.json", "Endpoints")
    docker = endpoints.get("docker") if isinstance(endpoints, dict) else None
    host = docker.get("Host") if isinstance(docker, dict) else None
    return host if isinstance(host, str) and host else None


def _field(file: Path, key: str) -> object:
    """One key of a JSON file, None where it cannot be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found.get(key) if isinstance(found, dict) else None
