"""What the container may reach: device nodes, groups by number, and who runs in it. Least privilege by engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rocenv.errors import HostError
from rocenv.model.host import DeviceNode, Gpu, Host
from rocenv.model.plan import EngineFacts, Reason
from rocenv.plan.namespaces import Groups, maps, translated
from rocenv.plan.select import Selection
from rocenv.rules.absent import no_gpu
from rocenv.rules.nodes import KFD, UDEV_RULE, closed, label, mend, obstacle, opens, owned

VISIBLE = {"rocr": "ROCR_VISIBLE_DEVICES", "hip": "HIP_VISIBLE_DEVICES"}


class Access(NamedTuple):
    """Devices, groups and ids as the engine takes them. `shared` names a subset that only a variable makes."""

    devices: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    keep_groups: bool = False
    user: str | None = None
    userns: str | None = None
    uidmap: tuple[str, ...] = ()
    gidmap: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    visible_indices: tuple[int, ...] | None = None
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[str, ...] = ()
    via: str = "devices"
    injected: tuple[str, ...] = ()
    cdi: tuple[str, ...] = ()
    runtime: str | None = None


def give(selection: Selection, host: Host, engine: EngineFacts, *, user: str, visible: str) -> Access:
    """The access to the chosen GPUs for a `user` (caller, image, root, UID[:GID]).

    Raises HostError where a node is missing or no process inside could open it, and EngineError where a rootless
    engine cannot give a group.
    """
    who, userns, who_why = _user(user, host, engine)
    if not selection.gpus:
        return Access(user=who, userns=userns, reasons=(who_why,))
    if engine.rootless:
        return _rootless(selection, host, engine, user=user, visible=visible)
    nodes = _nodes(selection.gpus, host, rootless=False)
    groups = tuple(dict.fromkeys(node.gid for node in nodes if node.gid != 0))
    _check_inside(nodes, who, groups)
    paths = tuple(node.path for node in nodes)
    return Access(
        devices=paths,
        groups=groups,
        user=who,
        reasons=(
            Reason(
                "devices",
                ", ".join(paths),
                "/dev/kfd once, and the render nodes of the chosen GPUs alone: the kernel shows no other GPU inside",
            ),
            _groups_reason(nodes, groups),
            who_why,
        ),
    )


def _rootless(selection: Selection, host: Host, engine: EngineFacts, *, user: str, visible: str) -> Access:
    """A rootless engine has no device cgroup: every node that the caller can open, and a variable for a subset."""
    passed = [gpu for gpu in host.gpus if obstacle(gpu, host, rootless=True) is None]
    left_out = [gpu for gpu in host.gpus if gpu not in passed]
    nodes = _nodes(passed, host, rootless=True)
    paths = tuple(node.path for node in nodes)
    who, userns, who_why = _user(user, host, engine)
    groups = _rootless_groups(nodes, host, engine, as_caller=userns is not None)
    indices, env, why = _by_variable(selection.gpus, passed, visible)
    warnings = tuple(f"GPU {label(gpu)} cannot be passed: {obstacle(gpu, host, rootless=True)}" for gpu in left_out)
    if indices is not None:
        hidden = f"{env[0][0]} hides the others, and a program may undo that"
        warnings += (f"rootless {engine.kind} cannot isolate a part of the GPUs: {hidden}",)
    devices_why = "a rootless engine has no device cgroup: every render node that the caller can open is passed"
    return Access(
        devices=paths,
        groups=groups.groups,
        keep_groups=groups.keep_groups,
        user=who,
        userns=None if groups.gidmap else userns,
        uidmap=groups.uidmap,
        gidmap=groups.gidmap,
        env=env,
        visible_indices=indices,
        reasons=(Reason("devices", ", ".join(paths), devices_why), *groups.reasons, who_why, *why),
        warnings=(*groups.warnings, *warnings),
    )


def _rootless_groups(nodes: Sequence[DeviceNode], host: Host, engine: EngineFacts, *, as_caller: bool) -> Access:
    """How the caller's groups reach the inside: kept by crun, mapped for runc, translated for docker."""
    if engine.kind == "podman" and engine.runtime in (None, "crun"):
        assumed = "" if engine.runtime else "; assumed is crun, for runc ignores it"
        why = f"rootless podman keeps the caller's own groups, which open the nodes{assumed}"
        return Access(keep_groups=True, reasons=(Reason("groups", "keep-groups", why),))
    gids = tuple(
        dict.fromkeys(node.gid for node in nodes if node.gid not in (0, host.caller.gid) and not opens(node, -1, ()))
    )
    if not gids:
        return Access(
            reasons=(Reason("groups", "none", "the nodes open for everybody, or for the caller's own group"),)
        )
    found = translated(gids, host.caller, engine)
    warnings = _assumption(found, gids)
    if engine.kind == "podman":
        uidmap, gidmap = maps(host.caller, found, as_caller=as_caller)
        why = f"{engine.runtime} cannot keep groups: the maps let the host's numbers hold inside"
        reasons = (Reason("groups", ", ".join(map(str, gids)), why),)
        return Access(groups=gids, uidmap=uidmap, gidmap=gidmap, reasons=reasons, warnings=warnings)
    inside = tuple(found.inside[gid] for gid in gids)
    why = f"the host's {', '.join(map(str, gids))} by the numbers that they have in rootless docker's user namespace"
    return Access(groups=inside, reasons=(Reason("groups", ", ".join(map(str, inside)), why),), warnings=warnings)


def _assumption(found: Groups, gids: Sequence[int]) -> tuple[str, ...]:
    if not found.assumed:
        return ()
    lines = " and ".join(f"`USER:{gid}:1`" for gid in gids)
    return (
        f"no engine was asked: the group numbers inside assume that /etc/subgid holds {lines} after one common range",
    )


def _nodes(gpus: Sequence[Gpu], host: Host, *, rootless: bool) -> list[DeviceNode]:
    """/dev/kfd and the render nodes, each once. Raises HostError where kfd is missing or refuses to open."""
    kfd = host.device(KFD)
    if kfd is None:
        raise HostError(
            f"`{KFD}` is not there, though KFD shows {len(host.gpus)} GPUs", "`sudo modprobe amdgpu` makes it"
        )
    why = closed(kfd, host, rootless=rootless)
    if why is not None:
        raise HostError(why, mend(kfd) if kfd.refused_by == "EACCES" else "`sudo dmesg | grep -i kfd` says why")
    renders = [node for gpu in gpus if gpu.render_node and (node := host.device(gpu.render_node))]
    if not renders:
        raise no_gpu(host)
    return list(dict.fromkeys([kfd, *renders]))


def _check_inside(nodes: Sequence[DeviceNode], who: str | None, groups: Sequence[int]) -> None:
    """Refuse a plan whose process could not open its nodes: no group can be given for a node of gid 0."""
    if who is None:
        return
    uid, _, gid = who.partition(":")
    gids = (*groups, int(gid or uid))
    for node in nodes:
        if not opens(node, int(uid), gids):
            raise HostError(
                f"`{node.path}` ({owned(node)}) opens for no group that could be given to uid {uid}", UDEV_RULE
            )


def _groups_reason(nodes: Sequence[DeviceNode], groups: Sequence[int]) -> Reason:
    if not groups:
        return Reason("groups", "none", "the nodes belong to gid 0, which is never given")
    owners = {gid: next(node for node in nodes if node.gid == gid) for gid in groups}
    said = "; ".join(f"{gid} owns {node.path}" for gid, node in owners.items())
    return Reason("groups", ", ".join(map(str, groups)), f"by number, for names are looked up in the image: {said}")


def _user(user: str, host: Host, engine: EngineFacts) -> tuple[str | None, str | None, Reason]:
    """Who runs inside (None: the image's own user), the user namespace, and why."""
    caller = host.caller
    if user == "image":
        return None, None, Reason("user", "the image's own", "asked for: `image`")
    if user == "root":
        return "0:0", None, Reason("user", "0:0", "asked for: `root`")
    if user != "caller":
        who = user if ":" in user else f"{user}:{user}"
        return who, None, Reason("user", who, f"asked for: `{user}`")
    who = f"{caller.uid}:{caller.gid}"
    if not engine.rootless or caller.uid == 0:
        return who, None, Reason("user", who, "the caller, so that files in /workspace are the caller's")
    if engine.kind == "podman":
        return who, "keep-id", Reason("user", who, "the caller, by keep-id the same inside as outside")
    return "0:0", None, Reason("user", "0:0", f"root in rootless docker is the caller ({who}) outside")


def _by_variable(
    chosen: Sequence[Gpu], passed: Sequence[Gpu], visible: str
) -> tuple[tuple[int, ...] | None, tuple[tuple[str, str], ...], tuple[Reason, ...]]:
    """The one visibility variable that makes a subset where devices cannot; nothing where all are chosen."""
    if len(chosen) == len(passed):
        return None, (), ()
    indices = tuple(place for place, gpu in enumerate(passed) if gpu in chosen)
    name = VISIBLE[visible]
    uuids = [gpu.uuid for gpu in passed]
    by_uuid = visible == "rocr" and all(gpu.uuid and uuids.count(gpu.uuid) == 1 for gpu in chosen)
    value = ",".join(gpu.uuid or "" for gpu in chosen) if by_uuid else ",".join(map(str, indices))
    how = "by UUID" if by_uuid else "counted among the passed GPUs, in KFD order"
    return (
        indices,
        ((name, value),),
        (Reason(f"env {name}", value, f"chooses among the passed GPUs, {how}; the one variable set"),),
    )
