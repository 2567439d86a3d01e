"""Opening /dev/kfd and the GPUs' render nodes: what the kernel answers, and what the permissions say."""

from __future__ import annotations

from collections.abc import Sequence

from rocenv.checks.access.errnos import answer_to
from rocenv.checks.access.who import groups_of, lxc_lines, nodes_of, numbers, renders, rootful, who, wrong_in_lxc
from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import inside, listed
from rocenv.model.check import Finding
from rocenv.model.host import DeviceNode
from rocenv.rules.nodes import KFD, for_groups, mend, opens, owned

_LIST = "ls -ln /dev/kfd /dev/dri"


@check(
    id="kfd.open",
    layer="access",
    severity="fail",
    title="/dev/kfd opens for reading and writing",
    reads="open(/dev/kfd, O_RDWR) in a short child process",
    why="mode bits tell half: a device cgroup, a dead driver or a security module refuse where the bits allow",
    source="legacy-rocm-build#1211, #5379; ROCm/AMDMIGraphX#3834",
    after=("kfd.present", "gpu.kfd-supported", "userns.device-gid"),
)
def kfd_open(facts: Facts) -> Answer:
    """Each errno on its own; plain permissions are `kfd.access`'s."""
    kfd = facts.need_host().device(KFD)
    return skip(f"{KFD} is not there") if kfd is None else _opened(facts, [kfd], "kfd.access")


@check(
    id="render.open",
    layer="access",
    severity="fail",
    title="the GPUs' render nodes open for reading and writing",
    reads="open(/dev/dri/renderD*, O_RDWR) in a short child process",
    why="HIP finds no device where kfd opens and a render node does not",
    source="ROCm/vllm#893; legacy-rocm-build#1482",
    after=("kfd.present", "userns.device-gid"),
)
def render_open(facts: Facts) -> Answer:
    """The same for the render nodes, the worst of them."""
    nodes = renders(facts.need_host())
    return _opened(facts, nodes, "render.access") if nodes else skip("there is no render node")


def _opened(facts: Facts, nodes: Sequence[DeviceNode], permissions: str) -> Answer:
    """What opening these nodes answered; nodes with one answer together."""
    host, health = facts.need_host(), facts.need_health()
    told = {opening.path: opening.errno for opening in health.opens}
    asked = [node for node in nodes if node.path in told]
    if not asked:
        return skip(health.missing.get("opens", "the nodes were not opened"))
    by_errno: dict[str, list[DeviceNode]] = {}
    for node in asked:
        number = told[node.path]
        if number is not None:
            by_errno.setdefault(number, []).append(node)
    denied = by_errno.get("EACCES", [])
    by_mode = [node for node in denied if not opens(node, host.caller.uid, groups_of(host))]
    if by_mode == denied and denied:
        del by_errno["EACCES"]
    found: list[Finding] = [answer_to(errno, refused, host, health) for errno, refused in by_errno.items()]
    if found:
        return found
    if denied:
        return skip(f"{listed(node.path for node in denied)}: its mode refuses, which `{permissions}` tells")
    return ok(f"{listed(node.path for node in asked)} opened")


@check(
    id="kfd.access",
    layer="access",
    severity="fail",
    title="the caller may open /dev/kfd",
    reads="stat and access list of /dev/kfd, the process's groups, /etc/group",
    why="the group that owns it differs by host (render by some number, or video), and by name by distribution",
    source="ROCm/ROCT-Thunk-Interface#36; RadeonOpenCompute/ROCm_Documentation#97",
    after=("kfd.present", "userns.device-gid", "groups.session", "kfd.open"),
)
def kfd_access(facts: Facts) -> Answer:
    """Permissions of /dev/kfd."""
    kfd = facts.need_host().device(KFD)
    return skip(f"{KFD} is not there") if kfd is None else _permitted(facts, [kfd])


@check(
    id="render.access",
    layer="access",
    severity="fail",
    title="the caller may open the GPUs' render nodes",
    reads="stat and access list of each GPU's render node, the process's groups, /etc/group",
    why="kfd and render nodes may belong to different groups: with one alone HIP finds no device",
    source="ROCm/vllm#893",
    after=("kfd.present", "userns.device-gid", "groups.session", "render.open"),
)
def render_access(facts: Facts) -> Answer:
    """Permissions of the render nodes."""
    nodes = renders(facts.need_host())
    return _permitted(facts, nodes) if nodes else skip("there is no render node")


def _permitted(facts: Facts, nodes: Sequence[DeviceNode]) -> Answer:
    """Whether mode, groups and access list let the caller in; nodes that are refused alike together."""
    host = facts.need_host()
    refused = [node for node in nodes if node.refused_by == "EACCES"]
    if not refused:
        shown = listed(f"{node.path} {owned(node)} by {node.granted_by or 'its mode'}" for node in nodes)
        return ok(shown)
    stale = {group.gid for group in (facts.health.groups if facts.health else ()) if group.member}
    if all(node.gid in stale for node in refused):
        return skip("`groups.session` tells why")
    alike = [node for node in refused if (node.gid, node.mode) == (refused[0].gid, refused[0].mode)]
    evidence = (
        f"{listed(f'{node.path} is {owned(node)}' for node in alike)}; uid {host.caller.uid} is in {numbers(host)}"
    )
    if rootful(facts) and for_groups(alike[0]):
        cause = f"containers of a rootful engine get its group by number; outside of them: {_mended(facts, alike)}"
        return info(evidence, cause)
    cause, fix, needs = _refusal(facts, alike)
    return fail(evidence, cause, fix, needs=needs, verify=_LIST)


def _refusal(facts: Facts, nodes: Sequence[DeviceNode]) -> tuple[str, str, str | None]:
    """Why these nodes refuse, what mends it, and what is needed then."""
    host, node = facts.need_host(), nodes[0]
    wrong = wrong_in_lxc(host) if host.virtualization == "lxc" else None
    if wrong is not None:
        cause = f"the node's gid {node.gid} is not render's in this guest, which is {wrong}"
        return cause, lxc_lines(nodes_of(host), wrong), "container"
    if inside(host):
        cause = f"the process in here is in no group {node.gid}, which owns it"
        return cause, _given(nodes), "container"
    if not for_groups(node):
        cause = "no group opens it: the udev rule that comes with AMD's driver packages is not here"
        return cause, _mended(facts, nodes), None
    if node.group is None:
        return f"its gid {node.gid} has no name in /etc/group here", _mended(facts, nodes), "login"
    return f"the caller is not in the group {node.group} ({node.gid}), which owns it", _mended(facts, nodes), "login"


def _given(nodes: Sequence[DeviceNode]) -> str:
    """What a container is started with so that its process may open these nodes."""
    gids = list(dict.fromkeys(node.gid for node in nodes if for_groups(node)))
    words = " ".join(f"--group-add={gid}" for gid in gids)
    return f"start the container with `{words}`" if gids else mend(nodes[0])


def _mended(facts: Facts, nodes: Sequence[DeviceNode]) -> str:
    return mend(nodes[0], who(facts.health))


@check(
    id="render.topology-match",
    layer="access",
    severity="warn",
    title="each GPU that KFD shows has its render node",
    reads="drm_render_minor of KFD's nodes against /dev/dri",
    why="with fewer nodes than KFD shows some releases of ROCm find no device at all",
    source="legacy-rocm-build#3144, #1482",
    after=("kfd.topology",),
)
def topology_match(facts: Facts) -> Answer:
    """GPUs without their node in /dev."""
    host = facts.need_host()
    if not host.gpus:
        return skip("KFD shows no GPU")
    lacking = [gpu for gpu in host.gpus if not gpu.render_node_exists]
    if not lacking:
        return ok(f"{len(host.gpus)} of {len(host.gpus)}")
    paths = listed(gpu.render_node or f"GPU {gpu.index}: none" for gpu in lacking)
    if inside(host):
        return warn(
            f"{paths}: not in /dev, of {len(host.gpus)} GPUs that KFD shows",
            "not every GPU was passed on, and no device cgroup hides them from KFD",
            "pass every render node and choose by `ROCR_VISIBLE_DEVICES`, or use a rootful engine",
            needs="container",
        )
    return warn(
        f"{paths}: not in /dev, of {len(host.gpus)} GPUs that KFD shows",
        "udev made no node for it",
        "`sudo udevadm trigger --subsystem-match=drm`",
        verify="ls -l /dev/dri",
    )
