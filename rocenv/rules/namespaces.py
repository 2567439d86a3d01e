"""Numbers of the host's groups in the user namespace of a rootless engine, and how a group gets one."""

from __future__ import annotations

from collections.abc import Iterable


def inside(gid: int, rows: Iterable[tuple[int, int, int]]) -> int | None:
    """The number that a host gid has inside, by rows of (inside, on the host, count); None where it has none."""
    return next((first + gid - host for first, host, count in rows if host <= gid < host + count), None)


def give(gids: Iterable[int], engine: str, user: str = "$USER") -> str:
    """The command that lets a user's rootless engine map these groups of the host."""
    again = "podman system migrate" if engine == "podman" else "systemctl --user restart docker"
    lines = "\\n".join(f"{user}:{gid}:1" for gid in gids)
    say = f"printf '{lines}\\n'" if "\\n" in lines else f"echo {lines}"
    return f"`{say} | sudo tee -a /etc/subgid && {again}`"
