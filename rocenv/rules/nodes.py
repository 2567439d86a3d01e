"""Device nodes of GPUs: who can open them, on the host and inside, and how people name them."""

from __future__ import annotations

from collections.abc import Collection

from rocenv.model.host import DeviceNode, Gpu, Host

KFD = "/dev/kfd"
_READ_WRITE = 0o6
# For nodes that no group opens: in-tree drivers come without a udev rule on some systems (ROCT-Thunk-Interface#36).
UDEV_RULE = """`echo 'SUBSYSTEM=="kfd|drm", KERNEL=="kfd|renderD*", GROUP="render", MODE="0660"' | \
sudo tee /etc/udev/rules.d/70-amdgpu.rules && sudo udevadm control --reload && sudo udevadm trigger`"""


def obstacle(gpu: Gpu, host: Host, *, rootless: bool) -> str | None:
    """Why a GPU cannot be given to a container, in words, or None.

    A rootful engine opens nodes as root and the process inside gets their groups by number, so the caller's own
    membership does not matter there; what the kernel refuses for another cause (a device cgroup, a dead GPU) does.
    """
    if gpu.render_node is None:
        return "KFD gives it no render node"
    node = host.device(gpu.render_node)
    if node is None or not gpu.render_node_exists:
        return f"`{gpu.render_node}` is not there"
    return closed(node, host, rootless=rootless)


def closed(node: DeviceNode, host: Host, *, rootless: bool) -> str | None:
    """Why a node cannot be passed on, in words, or None."""
    if node.refused_by not in (None, "EACCES"):
        return f"opening `{node.path}` is refused with {node.refused_by}"
    if rootless and not node.accessible:
        return f"uid {host.caller.uid} may not open `{node.path}` ({owned(node)})"
    return None


def opens(node: DeviceNode, uid: int, gids: Collection[int]) -> bool:
    """True where mode bits let a process of these ids read and write the copy of a node that an engine makes."""
    shift = 6 if uid == node.uid else 3 if node.gid in gids else 0
    return uid == 0 or (node.mode >> shift) & _READ_WRITE == _READ_WRITE


def owned(node: DeviceNode) -> str:
    """Mode and owners as people read them: `0660, gid 109 render`."""
    name = f" {node.group}" if node.group else ""
    return f"{node.mode & 0o7777:04o}, gid {node.gid}{name}"


def label(gpu: Gpu) -> str:
    """A GPU in a message: `0 gfx942 0000:26:00.0`, with its partition where it is one of several."""
    part = f"/{gpu.partition.index}" if gpu.partition.count > 1 else ""
    return f"{gpu.index} {gpu.gfx or 'unknown target'} {gpu.bdf}{part}"


def listed(gpus: Collection[Gpu], most: int = 8) -> str:
    """Several GPUs in a message, the first few by name."""
    shown = "; ".join(label(gpu) for gpu in list(gpus)[:most])
    return f"{shown}; and {len(gpus) - most} more" if len(gpus) > most else shown


def for_groups(node: DeviceNode) -> bool:
    """True where membership of the node's group would open it: its mode says so, and gid 0 is nobody's to join."""
    return node.gid != 0 and (node.mode >> 3) & _READ_WRITE == _READ_WRITE


def mend(node: DeviceNode, user: str = "$USER") -> str:
    """What lets a user open a node that refuses by its mode: the group that owns it by name, or a udev rule."""
    if for_groups(node) and node.group:
        return f"`sudo usermod -aG {node.group} {user}`, then log out and in again"
    if for_groups(node):
        name = f"gpu{node.gid}"  # the host knows the number by no name
        return f"`sudo groupadd -g {node.gid} {name} && sudo usermod -aG {name} {user}`, then log out and in again"
    return UDEV_RULE
