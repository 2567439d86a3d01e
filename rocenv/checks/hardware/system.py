"""What the host does to GPUs besides driving them: memory balancing, IOMMU, limits, stuck processes, known hazards."""

from __future__ import annotations

from rocenv.catalog import gpus as catalog
from rocenv.checks.catalogue import Answer, check, fail, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed
from rocenv.model.check import Finding
from rocenv.model.host import Host
from rocenv.report.text import size

_UNLIMITED = -1


@check(
    id="host.stuck-process",
    layer="hardware",
    severity="fail",
    title="no process is stuck in the driver",
    reads="/proc/*/stat, /proc/*/wchan",
    why="a process that sleeps in the driver for good cannot be killed, and takes its container along",
    source="ROCm/TheRock#7659",
)
def stuck(facts: Facts) -> Answer:
    """Processes in state D within amdgpu or KFD; nodes that did not even answer an open."""
    health = facts.need_health()
    found = [f"{one.name} ({one.pid}) in {one.where}" for one in health.stuck]
    found += [f"opening {one.path} did not return" for one in health.opens if one.errno == "TIMEOUT"]
    if not found:
        return ok("no process sleeps in amdgpu or KFD")
    return fail(
        f"state D: {listed(found)}",
        "the driver holds it and will not let go: no signal ends it, nor does the engine",
        "`sudo reboot`; until then give this machine no more jobs",
        needs="reboot",
        verify="ps -eo state,pid,comm,wchan | grep ^D",
    )


@check(
    id="host.numa-balancing",
    layer="hardware",
    severity="warn",
    title="the kernel does not move memory between NUMA nodes by itself",
    reads="/proc/sys/kernel/numa_balancing, /sys/devices/system/node",
    why="pages that are moved under a GPU's feet cost latency, on Instinct hosts with several NUMA nodes",
    source="ROCm/amdsmi#81; legacy-rocm-build#3964",
    after=("kfd.topology",),
)
def numa(facts: Facts) -> Answer:
    """Only where it matters: Instinct GPUs and more than one node."""
    host, health = facts.need_host(), facts.need_health()
    if not _instinct(host) or (host.numa_nodes or 1) < 2:  # noqa: PLR2004
        return skip("it matters on Instinct hosts of several NUMA nodes alone")
    if health.numa_balancing is None:
        return skip("/proc/sys/kernel/numa_balancing was not read")
    evidence = f"/proc/sys/kernel/numa_balancing is {health.numa_balancing}, {host.numa_nodes} NUMA nodes"
    if health.numa_balancing == 0:
        return ok(evidence)
    return warn(
        evidence,
        "the kernel moves memory between NUMA nodes by itself: slow spikes on GPUs",
        "`sudo sysctl -w kernel.numa_balancing=0`",
        verify="cat /proc/sys/kernel/numa_balancing",
    )


def _instinct(host: Host) -> bool:
    targets = [catalog.target(gpu.gfx) for gpu in host.gpus if gpu.gfx]
    return any(target is not None and "CDNA" in target.arch for target in targets)


@check(
    id="host.iommu-pt",
    layer="hardware",
    severity="warn",
    title="the IOMMU lets GPUs reach each other",
    reads="/proc/cmdline, /sys/class/iommu, the GPUs' iommu_group/type",
    why="an IOMMU that translates makes peer-to-peer transfers hang or fail: RCCL waits for ever",
    source="ROCm/rccl#1129",
    after=("kfd.topology",),
)
def iommu(facts: Facts) -> Answer:
    """Several discrete GPUs and an IOMMU that is on and does not pass through."""
    host, health = facts.need_host(), facts.need_health()
    cards = {gpu.bdf for gpu in host.gpus if gpu.kind == "dgpu"}
    if len(cards) < 2:  # noqa: PLR2004
        return skip("there is one discrete GPU at most")
    if health.iommus is None:
        return skip("/sys/class/iommu was not read")
    if health.iommus == 0:
        return ok("no IOMMU is on")
    types = {health.iommu_types[bdf] for bdf in cards if bdf in health.iommu_types}
    if types == {"identity"}:
        return ok("the GPUs' IOMMU groups are of type identity")
    if not types and health.cmdline is None:
        return skip("neither /proc/cmdline nor the types of the GPUs' IOMMU groups were read")
    words = (health.cmdline or "").split()
    if not types and any(word in ("iommu=pt", "iommu.passthrough=1") for word in words):
        return ok("/proc/cmdline: passthrough")
    kind = f"type {', '.join(sorted(types))}" if types else "no iommu=pt in /proc/cmdline"
    return warn(
        f"{len(cards)} discrete GPUs, {health.iommus} IOMMUs on, {kind}",
        "the IOMMU translates what GPUs send each other: transfers between them may hang",
        "add `iommu=pt` to GRUB_CMDLINE_LINUX in /etc/default/grub, then `sudo update-grub`",
        needs="reboot",
        verify="cat /proc/cmdline",
    )


@check(
    id="host.memlock",
    layer="hardware",
    severity="warn",
    title="memory may be pinned for RDMA",
    reads="RLIMIT_MEMLOCK, /sys/class/infiniband",
    why="verbs register memory, and fail or fall back to TCP in silence under a low limit; without RDMA it is no fault",
    source="vllm-project/vllm#42075",
)
def memlock(facts: Facts) -> Answer:
    """Only where RDMA is asked for."""
    if "rdma" not in facts.asked.loosen:
        return skip("RDMA is not asked for: a low limit is no fault")
    health = facts.need_health()
    if health.memlock is None:
        return skip("the limit was not read")
    if not health.infiniband:
        return warn(
            "no port below /sys/class/infiniband is active",
            "RDMA is asked for and no link is up: NCCL would take TCP without a word",
            "`ibv_devinfo` shows the ports; bring one up",
        )
    if health.memlock == _UNLIMITED:
        return ok(f"no limit; active: {listed(health.infiniband)}")
    return warn(
        f"RLIMIT_MEMLOCK is {size(health.memlock)}",
        "it is too low to register memory for RDMA",
        "`echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-rdma.conf`",
        needs="login",
        verify="ulimit -l",
    )


@check(
    id="host.hazard",
    layer="hardware",
    severity="warn",
    title="this kernel, firmware and driver are not known to break the GPUs",
    reads="the kernel's release, the version of linux-firmware, the driver, against the dated table of hazards",
    why="some releases are known to break a gfx target; nothing in a container mends that",
    source="rocenv/catalog/hazards.yaml, a source for each",
    after=("kfd.topology",),
)
def hazard(facts: Facts) -> Answer:
    """Each row of the table that holds for this host, as a finding of its own."""
    from rocenv.catalog import hazards

    host = facts.need_host()
    firmware = facts.health.firmware if facts.health else None
    targets = {gpu.gfx for gpu in host.gpus if gpu.gfx}
    if not targets:
        return skip("KFD shows no GPU")
    state = hazards.State(host.kernel, firmware, host.driver.origin)
    found: list[Finding] = []
    for row in hazards.hitting(targets, state):
        finding = warn(f"{row.seen}; {listed(sorted(targets & set(row.targets)))}", row.what, row.fix, needs=row.needs)
        found.append(finding._replace(source=f"{row.source} ({row.date})"))
    return found or ok(f"none of the {hazards.count()} known hazards holds for {listed(sorted(targets))} here")
