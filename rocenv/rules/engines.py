"""Engines whose containers do not run on this host: told in the same words by plan and doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocenv.model.host import Host
    from rocenv.model.plan import EngineFacts

BACK = "`unset DOCKER_HOST` and `docker context use default` go back to this machine's own engine"
DESKTOP = "this is Docker Desktop: its containers run in a virtual machine, which has no AMD GPU"
SOCKET_GROUP = "`sudo usermod -aG docker {user}`, then log out and in again"
START = "`sudo systemctl start docker`"


def other_kernel(facts: EngineFacts, host: Host) -> str | None:
    """What is to be said where the engine's kernel is not this host's; None where it is, or one is unknown.

    A local socket may lead into a virtual machine (colima, Rancher Desktop, `podman machine`): what was read here is
    not true there.
    """
    if facts.assumed or not (host.kernel and facts.kernel) or facts.kernel == host.kernel:
        return None
    return (
        f"the engine runs on another kernel ({facts.kernel}) than this host ({host.kernel}): "
        "its containers cannot reach this host's GPUs"
    )


def absent(kind: str | None) -> tuple[str, str]:
    """What is to be said, and what mends it, where the engine that is asked for (None: any) is not installed."""
    if kind == "podman":
        return "podman is not installed: there is no `podman` on PATH", "`sudo apt-get install podman`"
    message = "Docker is not installed: there is no `docker` on PATH"
    if kind is None:
        message = "there is no container engine: neither `docker` nor `podman` is on PATH"
    install = "install Docker Engine (https://docs.docker.com/engine/install/), or `sudo apt-get install docker.io`"
    return message, install
