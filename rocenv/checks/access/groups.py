"""Groups: of the session, of user namespaces, of LXC guests and rootless engines; and SELinux's say."""

from __future__ import annotations

from collections.abc import Sequence

from rocenv.checks.access.who import groups_of, lxc_lines, nodes_of, numbers, rootful, who, wrong_in_lxc
from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed
from rocenv.rules import namespaces
from rocenv.rules.nodes import KFD, for_groups, opens

_OVERFLOW = 65534  # what an id that has no number in a user namespace is shown as
_KEEP = "`podman run --group-add keep-groups …`"
_LIST = "ls -ln /dev/kfd /dev/dri"
_GID_MAP = "cat /proc/$(cat $XDG_RUNTIME_DIR/dockerd-rootless/child_pid)/gid_map"


@check(
    id="groups.session",
    layer="access",
    severity="fail",
    title="the session has the groups that /etc/group names",
    reads="/etc/group against the process's own groups",
    why="groups are fixed at login: after `usermod` the same shell still lacks the new one",
    source="legacy-rocm-build#2232, #1211",
    after=("kfd.present",),
)
def session(facts: Facts) -> Answer:
    """Groups of the nodes that name the caller in the file, and that this process lacks."""
    host, health = facts.need_host(), facts.need_health()
    if host.caller.uid == 0:
        return skip("root needs no groups")
    if health.user is None:
        return skip("the caller's name is unknown")
    wanted = {node.gid for node in nodes_of(host) if not node.accessible and for_groups(node)}
    stale = [
        group for group in health.groups if group.gid in wanted and group.member and group.gid not in groups_of(host)
    ]
    if not stale:
        return ok(f"the groups of {health.user} in /etc/group are those of this session, as far as nodes ask for them")
    names = listed(f"{group.name} ({group.gid})" for group in stale)
    if rootful(facts):
        return info(f"{names}: not in this session", "containers of a rootful engine do not need it")
    return fail(
        f"/etc/group has {health.user} in {names}; this process is in {numbers(host)}",
        "the group was given after this login, and a session keeps the groups that it began with",
        f"log out and in again (or `newgrp {stale[0].name}` for one shell)",
        needs="login",
        verify="id",
    )


@check(
    id="userns.device-gid",
    layer="access",
    severity="fail",
    title="the nodes' groups have a number in this user namespace",
    reads="the nodes' gids, /proc/self/uid_map",
    why="in a user namespace an unmapped group shows as nogroup, and no membership inside it helps",
    source="89luca89/distrobox#1230",
)
def user_namespace(facts: Facts) -> Answer:
    """Nodes of gid 65534 where the ids are not the host's."""
    host = facts.need_host()
    nodes = [node for node in nodes_of(host) if node.gid == _OVERFLOW]
    if not host.user_namespace:
        return (
            ok("ids here are the host's") if host.user_namespace is False else skip("/proc/self/uid_map was not read")
        )
    # Root in here is not the host's: what the kernel itself did not open is closed, unless it is open to everybody.
    refused = [node for node in nodes if not opens(node, -1, ()) and not (host.live and node.accessible)]
    if not refused:
        return ok("this is a user namespace, and the nodes can be opened in it" if nodes else "no node is of nogroup")
    if host.virtualization == "lxc":
        return fail(
            f"{listed(node.path for node in refused)}: gid {_OVERFLOW} (nogroup), and the ids of this guest are mapped",
            "the nodes are passed on with the host's group, which has no number in this guest",
            lxc_lines(nodes, host.group_render or host.group_video or host.caller.gid),
            needs="container",
            verify=_LIST,
        )
    return fail(
        f"{listed(node.path for node in refused)}: gid {_OVERFLOW} (nogroup), and ids here are mapped",
        "the host's group of the nodes has no number in this user namespace: nothing that is done inside helps",
        f"on the host, join the nodes' group (`stat -c %G {KFD}`), then make the container anew with {_KEEP}",
        needs="container",
        verify=_LIST,
    )


@check(
    id="lxc.kfd-gid",
    layer="access",
    severity="warn",
    title="an LXC guest's nodes belong to the guest's render group",
    reads="the nodes' gids, /etc/group of the guest",
    why="Proxmox passes nodes on by number: scripts gave /dev/kfd video's, and hosts and guests number render apart",
    source="community-scripts/ProxmoxVE#15401; Hal0ai/hal0#2213",
)
def lxc(facts: Facts) -> Answer:
    """/dev/kfd of another group than the render nodes, or of none that the guest calls render."""
    host = facts.need_host()
    if host.virtualization != "lxc":
        return skip("this is no LXC guest")
    nodes = nodes_of(host)
    wrong = wrong_in_lxc(host)
    if not nodes or wrong is None:
        return ok(listed(f"{node.path} gid {node.gid}" for node in nodes) or "no nodes are passed on")
    return warn(
        f"{listed(f'{node.path} is gid {node.gid}' for node in nodes)}; render is {host.group_render} in this guest",
        "the nodes are passed on with a group number that is not this guest's for render",
        lxc_lines(nodes, wrong),
        needs="container",
        verify=_LIST,
    )


@check(
    id="engine.rootless-gid",
    layer="access",
    severity="fail",
    title="a rootless engine has a number for the nodes' groups",
    reads="the daemon's gid_map, or /etc/subgid; the nodes' gids",
    why="without a line in /etc/subgid the nodes show as nogroup inside, and no flag mends that",
    source="legacy-rocm-build#1549",
    after=("kfd.present",),
)
def rootless_gid(facts: Facts) -> Answer:
    """Rootless docker, and rootless podman with runc: with crun podman keeps the caller's groups."""
    host, engine = facts.need_host(), facts.need_engine()
    if not engine.rootless:
        return skip("the engine is not rootless")
    if engine.kind == "podman" and engine.runtime in (None, "crun"):
        return ok("podman with crun keeps the caller's groups: --group-add=keep-groups")
    gids = {node.gid for node in nodes_of(host) if not opens(node, -1, ()) and node.gid not in (0, host.caller.gid)}
    if not gids:
        return ok("the nodes open without a group")
    rows = engine.gid_map or _ranges(facts)
    if rows is None:
        return skip("neither the daemon's gid_map nor /etc/subgid could be read")
    missing = sorted(gid for gid in gids if namespaces.inside(gid, rows) is None)
    if not missing:
        return ok(f"gid {listed(map(str, sorted(gids)))} has a number inside")
    return fail(
        f"gid {listed(map(str, missing))} of the nodes is in none of {_shown(rows)}",
        f"rootless {engine.kind} has no number for the group that owns the nodes: they show as nogroup inside",
        namespaces.give(missing, engine.kind, who(facts.health)) + "; or use podman with crun",
        needs="restart",
        verify="podman unshare cat /proc/self/gid_map" if engine.kind == "podman" else _GID_MAP,
    )


def _ranges(facts: Facts) -> tuple[tuple[int, int, int], ...] | None:
    """The caller's ranges of /etc/subgid as rows of a map; None where they were not read."""
    ranges = facts.health.subgid if facts.health else None
    return None if ranges is None else tuple((place, one.first, one.length) for place, one in enumerate(ranges, 1))


def _shown(rows: Sequence[tuple[int, int, int]]) -> str:
    return listed(f"{host}-{host + count - 1}" for _, host, count in rows) or "/etc/subgid's ranges: there are none"


@check(
    id="lsm.selinux",
    layer="access",
    severity="fail",
    title="SELinux lets containers use GPUs",
    reads="/sys/fs/selinux/enforce, the booleans container_use_devices and container_use_dri_devices",
    why="/dev/kfd is no DRI device: its boolean is container_use_devices; a refused map shows as an odd memory error",
    source="containers/container-selinux#269, #289; containers/ramalama#525",
)
def selinux(facts: Facts) -> Answer:
    """Enforcing without the boolean; `rocenv up` then turns labels off for its container, and says so."""
    host = facts.need_host()
    if host.selinux != "enforcing":
        return ok("SELinux is permissive" if host.selinux else "there is no SELinux")
    if host.selinux_devices:
        return ok("enforcing, container_use_devices is on")
    dri = facts.health.selinux_dri if facts.health else None
    booleans = f"container_use_devices is {_switch(host.selinux_devices)}, container_use_dri_devices {_switch(dri)}"
    say = fail if facts.asked.strict else warn
    return say(
        f"enforcing; {booleans}",
        "SELinux denies containers /dev/kfd"
        + ("" if dri else " and the render nodes")
        + ("" if facts.asked.strict else "; `rocenv up` sets label=disable for its own, and says so"),
        "`sudo setsebool -P container_use_devices on`",
        verify="getsebool container_use_devices",
    )


def _switch(value: bool | None) -> str:
    return "not there" if value is None else "on" if value else "off"
