"""Engines whose containers do not run on this host: told in the same words by plan and doctor."""

from __future__ import annotations

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
