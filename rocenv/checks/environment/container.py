"""What a container is given beside its devices, and whether the profile can be planned at all."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import inside, listed
from rocenv.report.text import size

_LAYERS = {"host": "hardware", "engine": "engine", "image": "image"}
_SMALL = 1 << 30  # bytes of /dev/shm: less stops RCCL between GPUs and data loaders
_FILTER = 2  # /proc/self/status, Seccomp: a filter is on


@check(
    id="container.shm",
    layer="environment",
    severity="warn",
    title="the container's shared memory is large enough",
    reads="statvfs of /dev/shm",
    why="the engine's 64 MiB stop data loaders and RCCL between GPUs: a bus error, posix_fallocate, or a hang",
    source="vllm-project/vllm#1710; pytorch/pytorch#40632; NVIDIA/nccl#525",
)
def shm(facts: Facts) -> Answer:
    """Only inside a container: the host's is half its memory."""
    host, health = facts.need_host(), facts.need_health()
    if not inside(host):
        return skip("this is no container")
    if health.shm_bytes is None:
        return skip("its size was not read")
    evidence = f"/dev/shm: {size(health.shm_bytes)}"  # noqa: S108 (a path in a message)
    if health.shm_bytes >= _SMALL:
        return ok(evidence)
    return warn(
        evidence,
        "it is the engine's default, or little more: several GPUs or a data loader need gigabytes",
        "start the container with `--shm-size=16g` (`rocenv up` gives min(16 GiB, half the memory))",
        needs="container",
        verify="df -h /dev/shm",
    )


@check(
    id="seccomp.mempolicy",
    layer="environment",
    severity="info",
    title="whether NUMA policies may be set in the container",
    reads="/proc/self/status: Seccomp, the NUMA nodes",
    why="the engine's filter refuses set_mempolicy and mbind without CAP_SYS_NICE; ROCm goes on without them",
    source="moby/moby#37241; ROCm/ROCm-docker#61",
)
def mempolicy(facts: Facts) -> Answer:
    """Told where it may matter."""
    host, health = facts.need_host(), facts.need_health()
    if not inside(host) or health.seccomp != _FILTER or (host.numa_nodes or 1) < 2:  # noqa: PLR2004
        return skip("it matters in containers with a filter, on hosts of several NUMA nodes")
    return info(f"a filter is on, {host.numa_nodes} NUMA nodes", "`--loosen numa` gives CAP_SYS_NICE for NUMA policies")


@check(
    id="profile.plan",
    layer="environment",
    severity="fail",
    title="the profile can be planned on this host",
    reads="everything that `rocenv plan PROFILE` decides",
    why="what stands in the way of `rocenv up PROFILE`, in its own words",
    source="rocenv plan",
    after=(
        "pci.gpu", "driver.loaded", "kfd.present", "kfd.topology", "kfd.open", "kfd.access", "render.access",
        "userns.device-gid", "engine.desktop", "engine.same-kernel", "engine.rootless-gid", "image.arch",
    ),
)  # fmt: skip
def plan(facts: Facts) -> Answer:
    """The plan's own error, in the layer that it is of."""
    if facts.plan_error is not None:
        error = facts.plan_error
        found = fail(f"rocenv plan {facts.asked.profile or ''}".rstrip(), error.message, error.hint or "see above")
        return found._replace(layer=_LAYERS.get(error.kind, "environment"))
    if facts.plan is None:
        return skip("no profile was named")
    gpus = listed(str(gpu.index) for gpu in facts.plan.gpus) or "none"
    return ok(f"{facts.plan.profile}: {facts.plan.image.reference}, GPUs {gpus}")
