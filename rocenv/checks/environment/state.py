"""Caches, Python packages, HIP's own answer, and the nodes of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocenv.checks.catalogue import Answer, check, fail, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed

if TYPE_CHECKING:
    from rocenv.catalog.versions import Version


@check(
    id="env.cache-writable",
    layer="environment",
    severity="warn",
    title="the folders of kernel caches can be written",
    reads="~/.cache/miopen, ~/.config/miopen, ~/.triton and those that variables name",
    why="MIOpen fails with 'disk I/O error' on a database that it may not write; a run as root leaves such folders",
    source="ROCm/tensorflow-upstream#1419; actions/runner#434",
)
def caches(facts: Facts) -> Answer:
    """Those that are there and refuse the caller."""
    host, health = facts.need_host(), facts.need_health()
    closed = [one for one in health.caches if not one.writable]
    if not closed:
        return ok(f"{len(health.caches)} are there" if health.caches else "there is none yet")
    own = all(one.owner == host.caller.uid for one in closed)
    paths = " ".join(one.path for one in closed)
    return warn(
        listed(f"{one.path} of uid {one.owner}" for one in closed),
        "MIOpen and Triton cannot write their caches there"
        + ("" if own else ": another user's, as a run as root leaves"),
        f"`chmod -R u+rwX {paths}`" if own else f"`sudo chown -R $USER: {paths}`",
        verify=f"ls -ld {paths}",
    )


@check(
    id="libs.wheel-versions",
    layer="environment",
    severity="fail",
    title="ROCm's Python packages are of one version",
    reads="the installed distributions rocm, rocm-sdk-*",
    why="they link into each other: of two versions the links lead nowhere",
    source="ROCm/TheRock#1057",
)
def wheels(facts: Facts) -> Answer:
    """All of them against each other."""
    packages = facts.need_packages()
    ours = {name: version for name, version in packages.items() if name == "rocm" or name.startswith("rocm-sdk")}
    if not ours:
        return ok("none is installed")
    versions = set(ours.values())
    shown = listed((f"{name} {version}" for name, version in ours.items()), 8)
    if len(versions) == 1:
        return ok(shown)
    newest = ours.get("rocm") or max(versions, key=_numbers)
    words = " ".join(f"{name}=={newest}" for name in ours)
    return fail(
        shown, "they are of different builds, and their links lead nowhere", f"`pip install --force-reinstall {words}`"
    )


def _numbers(text: str) -> Version:
    """A version by its numbers; what is none comes before all."""
    from rocenv.catalog.versions import Version

    try:
        return Version.parse(text)
    except ValueError:
        return Version((0,))


@check(
    id="smoke.host",
    layer="hardware",
    severity="fail",
    title="HIP works on the host itself",
    reads="HIP's answer on the host against that in a container",
    why="a fault that the host has too is none of the container's: stale driver state asks for a reboot",
    source="ROCm/TheRock#7099, #3298",
    after=("kfd.topology", "kfd.open", "kfd.access"),
)
def smoke_host(facts: Facts) -> Answer:
    """Where both fail alike it is the host."""
    smoke = facts.smoke
    if smoke is None or smoke.host is None:
        return skip("HIP was not asked on the host")
    if smoke.host == "ok":
        return ok("HIP answers on the host")
    both = " and in the container" if smoke.container == smoke.host else ""
    return fail(
        f"on the host{both}: {smoke.host}",
        "the host itself has this fault though nodes and permissions are well: stale driver state",
        "`sudo reboot`",
        needs="reboot",
        verify="rocminfo",
    )


@check(
    id="smoke.count",
    layer="image",
    severity="fail",
    title="HIP in the container sees the GPUs that KFD shows",
    reads="hipGetDeviceCount in the container against KFD's GPUs",
    why="where KFD has GPUs and HIP has none, the image's user space is at fault and not the driver",
    source="AlphaMine-Tech/alpha-miner#4",
    after=("kfd.topology", "smoke.host"),
)
def smoke_count(facts: Facts) -> Answer:
    """None against some."""
    smoke, host = facts.smoke, facts.need_host()
    if smoke is None or smoke.count is None:
        return skip("HIP was not asked in a container (`rocenv test` does)")
    if smoke.count or not host.gpus:
        return ok(f"{smoke.count} of {len(host.gpus)}")
    return fail(
        f"hipGetDeviceCount: {smoke.count}; KFD: {len(host.gpus)} GPUs",
        "the driver is well and HIP finds nothing: the image's user space does not serve these GPUs",
        "take an image with another ROCm release; `rocenv plan PROFILE --refused` shows them",
        needs="container",
    )


@check(
    id="k8s.gid-uniform",
    layer="environment",
    severity="fail",
    title="the nodes of the cluster agree on the group of their GPUs",
    reads="the gid of /dev/kfd and the render nodes on each node",
    why="a pod names one number in supplementalGroups, wherever it runs",
    source="ROCm/k8s-device-plugin#39; kubeflow/kubeflow#7655",
)
def gid_uniform(facts: Facts) -> Answer:
    """One number for all."""
    if facts.cluster is None:
        return skip("no cluster was asked")
    gids = {gid for node in facts.cluster for gid in node.gids}
    shown = listed((f"{node.name}: {listed(map(str, node.gids))}" for node in facts.cluster), 8)
    if len(gids) < 2:  # noqa: PLR2004
        return ok(shown)
    return fail(
        shown,
        "the group's number differs between nodes: no one supplementalGroups opens the devices on all",
        "give render one number when nodes are set up, or on each a udev rule: "
        '`KERNEL=="kfd", MODE="0666"` and `KERNEL=="renderD*", MODE="0666"` (open to every user of the node)',
    )


@check(
    id="k8s.capacity",
    layer="environment",
    severity="fail",
    title="the cluster offers the GPUs that its nodes have",
    reads="capacity amd.com/gpu of each node against KFD's GPU nodes",
    why="a device plugin may see the partitions while the kubelet never hears of them",
    source="ROCm/k8s-device-plugin#184",
)
def capacity(facts: Facts) -> Answer:
    """Offered against there."""
    if facts.cluster is None:
        return skip("no cluster was asked")
    told = [node for node in facts.cluster if node.capacity is not None and node.gpus is not None]
    wrong = [
        f"{node.name}: amd.com/gpu {node.capacity}, KFD {node.gpus}" for node in told if node.capacity != node.gpus
    ]
    if not told:
        return skip("no node told both its capacity and its GPUs")
    if not wrong:
        return ok(listed(f"{node.name}: {node.capacity}" for node in told))
    return fail(
        listed(wrong),
        "the device plugin's list does not reach the kubelet",
        "`kubectl rollout restart daemonset -n kube-system amdgpu-device-plugin-daemonset`, or another release of it",
    )
