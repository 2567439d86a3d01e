"""Who may open a device node, and what grants or refuses it: mode, owner, groups and access list, as POSIX has them."""

from __future__ import annotations

from collections.abc import Mapping

from rocenv.host.source import LARGE, RawDevice, Root
from rocenv.model.host import Caller, DeviceNode

_READ_WRITE = 6
Groups = Mapping[int, str]


def group_names(root: Root) -> dict[int, str]:
    """The names of /etc/group by number, the first line of two equal numbers."""
    names: dict[int, str] = {}
    for line in (root.data("/etc/group", LARGE) or b"").decode(errors="replace").splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[0] and fields[2].isascii() and fields[2].isdecimal() and len(fields[2]) < 11:  # noqa: PLR2004
            names.setdefault(int(fields[2]), fields[0])
    return names


def devices(root: Root, caller: Caller, groups: Groups) -> tuple[DeviceNode, ...]:
    """The device nodes with what the caller may do with each: kfd, dxg, cards and render nodes by number, verbs."""
    return tuple(sorted((judged(raw, caller, groups) for raw in root.source.devices()), key=_order))


def _order(device: DeviceNode) -> tuple[int, int, str]:
    """The place of a node in a list for people."""
    kinds = (
        "/dev/kfd",
        "/dev/dxg",
        "/dev/dri/card",
        "/dev/dri/renderD",
        "/dev/infiniband/rdma_cm",
        "/dev/infiniband/uverbs",
    )
    kind = next(number for number, start in enumerate(kinds) if device.path.startswith(start))
    digits = device.path.removeprefix(kinds[kind])
    return kind, int(digits or 0), device.path


def judged(raw: RawDevice, caller: Caller, groups: Groups) -> DeviceNode:
    """A node with the verdict: a fault on opening first, then the kernel's own word, then the rules."""
    granted = granted_by(raw, caller, groups)
    refused = None
    if raw.fault is not None:
        refused = raw.fault
    elif raw.allowed is False or (raw.allowed is None and granted is None):
        refused = "EACCES"
    return DeviceNode(
        path=raw.path,
        major=raw.major,
        minor=raw.minor,
        mode=raw.mode,
        uid=raw.uid,
        gid=raw.gid,
        group=groups.get(raw.gid),
        accessible=refused is None,
        granted_by=(granted or "kernel") if refused is None else None,
        refused_by=refused,
    )


def granted_by(raw: RawDevice, caller: Caller, groups: Groups) -> str | None:
    """What lets the caller read and write a node (`root`, `owner`, `group render`, `acl user`, …); None: nothing does.

    As in POSIX the first class that matches decides, even when a later one would grant more.
    """
    if caller.uid == 0:
        return "root"
    if raw.acl:
        return _granted_by_list(raw, caller, groups)
    if caller.uid == raw.uid:
        return _if(raw.mode >> 6, "owner")
    if raw.gid in (caller.gid, *caller.groups):
        return _if(raw.mode >> 3, f"group {groups.get(raw.gid, raw.gid)}")
    return _if(raw.mode, "everyone")


def _granted_by_list(raw: RawDevice, caller: Caller, groups: Groups) -> str | None:
    """The same for a node with an access list: named users and groups count too, within the mask."""
    mask = next((bits for tag, _, bits in raw.acl if tag == "mask"), 7)
    bits_of = {tag: bits for tag, _, bits in raw.acl}
    if caller.uid == raw.uid:
        return _if(bits_of.get("owner", 0), "owner")
    for tag, number, bits in raw.acl:
        if tag == "user" and number == caller.uid:
            return _if(bits & mask, "acl user")
    in_groups = {caller.gid, *caller.groups}
    matching = [
        (raw.gid if tag == "owning-group" else number, bits & mask, "group" if tag == "owning-group" else "acl group")
        for tag, number, bits in raw.acl
        if (tag == "owning-group" and raw.gid in in_groups) or (tag == "group" and number in in_groups)
    ]
    for number, bits, word in matching:
        if bits & _READ_WRITE == _READ_WRITE:
            return f"{word} {groups.get(number, number)}"
    return None if matching else _if(bits_of.get("other", 0), "everyone")


def _if(bits: int, what: str) -> str | None:
    """`what` where the three permission bits allow reading and writing."""
    return what if bits & _READ_WRITE == _READ_WRITE else None
