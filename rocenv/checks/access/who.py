"""The nodes in question, the caller and the caller's groups, as the checks of access name them."""

from __future__ import annotations

from collections.abc import Sequence

from rocenv.checks.facts import Facts
from rocenv.checks.words import listed
from rocenv.model.health import Health
from rocenv.model.host import DeviceNode, Host
from rocenv.rules.nodes import KFD


def renders(host: Host) -> list[DeviceNode]:
    """The render nodes of the GPUs; where KFD shows none, every render node."""
    wanted = {gpu.render_node for gpu in host.gpus}
    return [
        node for node in host.devices if (node.path in wanted if wanted else node.path.startswith("/dev/dri/renderD"))
    ]


def nodes_of(host: Host) -> list[DeviceNode]:
    """/dev/kfd and the render nodes."""
    kfd = host.device(KFD)
    return ([kfd] if kfd else []) + renders(host)


def who(health: Health | None) -> str:
    """The caller for a command line: by name where that is known."""
    return (health.user if health else None) or "$USER"


def groups_of(host: Host) -> frozenset[int]:
    """The caller's groups."""
    return frozenset((host.caller.gid, *host.caller.groups))


def rootful(facts: Facts) -> bool:
    """True where a rootful engine of this host opens nodes as root: the caller's own groups do not matter to it."""
    engine = facts.engine
    return engine is not None and not (engine.rootless or engine.remote or engine.desktop or engine.assumed)


def numbers(host: Host) -> str:
    """The caller's groups in a message."""
    return listed(map(str, sorted(groups_of(host))), 12)


def wrong_in_lxc(host: Host) -> int | None:
    """The gid that the nodes should have where they do not: the guest's render, else that of the render nodes."""
    found = renders(host)
    right = host.group_render if host.group_render is not None else (found[0].gid if found else None)
    return right if right is not None and any(node.gid != right for node in nodes_of(host)) else None


def lxc_lines(nodes: Sequence[DeviceNode], gid: int) -> str:
    """The lines of the guest's configuration on its Proxmox host."""
    lines = ", ".join(f"`dev{place}: {node.path},gid={gid}`" for place, node in enumerate(nodes))
    return f"on the Proxmox host, in /etc/pve/lxc/ID.conf: {lines}; then restart the guest"
