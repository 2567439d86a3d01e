"""KFD: the kernel's compute interface, the GPUs that it took, and how they are cut."""

from __future__ import annotations

from collections import Counter

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import gpus_of, inside, listed, log_lines, named, on_wsl
from rocenv.model.host import Gpu, Host
from rocenv.report.host_notes import short_of_partitions
from rocenv.report.text import size
from rocenv.rules.absent import FREE_FROM_VFIO, KERNEL_WITH_KFD, LOAD_DRIVER, NO_KFD, NOT_LOADED, UNSUPPORTED

KFD = "/dev/kfd"
_MINORS = 64  # of DRM's render nodes, in all
_GIB_PAGES = 262144  # pages of 4 KiB
_KEPT_BY_OTHERS = "`--cpu` runs without a GPU; this GPU is not one that ROCm serves"


@check(
    id="pci.atomics",
    layer="hardware",
    severity="fail",
    title="the slot carries PCIe atomics",
    reads="the kernel log",
    why="KFD passes over a GPU whose slot, board or hypervisor does not route PCIe atomics, while graphics works",
    source="legacy-rocm-build#1214, #910; ROCm/amdgpu#26",
    after=("pci.gpu",),
)
def atomics(facts: Facts) -> Answer:
    """The kernel's own words; only a warning where other GPUs are there."""
    host, health = facts.need_host(), facts.need_health()
    if health.kernel_log is None:
        return skip(health.missing.get("kernel_log", "the kernel log was not read"))
    lines = log_lines(health, "pci rejects atomics")
    if not lines:
        return ok("the kernel log tells of no GPU without atomics")
    machine = "give it a PCIe root port with atomics in the hypervisor, " if host.environment == "vm" else ""
    say = warn if host.gpus else fail
    return say(
        lines[0],
        "the platform does not route PCIe atomics to this GPU's slot, so KFD passes it over",
        f"{machine}move the card to a slot that hangs on the CPU itself; GPUs from gfx9 on do without in newer kernels",
        needs="reboot",
        verify="sudo dmesg | grep 'rejects atomics'",
    )


@check(
    id="gpu.kfd-supported",
    layer="hardware",
    severity="fail",
    title="KFD knows the GPU",
    reads="the kernel log, what amdgpu drives and KFD does not show",
    why="amdgpu drives graphics of GPUs that ROCm never served, or that this kernel is too old for",
    source="legacy-rocm-build#2232",
    after=("pci.gpu", "driver.loaded", "pci.atomics"),
)
def supported(facts: Facts) -> Answer:
    """GPUs that amdgpu drives and KFD refuses; of no matter beside GPUs that it took."""
    host = facts.need_host()
    refused = [device for device in host.unusable if device.reason == "refused-by-kfd"]
    lines = log_lines(facts.health, "not supported in kfd") if facts.health else []
    if not refused:
        return ok("KFD refuses none")
    evidence = lines[0] if lines else f"{named(refused)}: driven by amdgpu, and no node of KFD's is it"
    if host.gpus:
        return info(evidence, f"{UNSUPPORTED}; the others are served")
    return fail(evidence, f"{UNSUPPORTED}: too old for ROCm, or too new for this kernel", _KEPT_BY_OTHERS)


@check(
    id="kfd.present",
    layer="hardware",
    severity="fail",
    title="/dev/kfd is there",
    reads="/dev/kfd, /sys/class/kfd, /sys/module/amdgpu",
    why="every ROCm process opens it; 'adding custom device \"/dev/kfd\": no such file or directory' means it is not",
    source="AUTOMATIC1111/stable-diffusion-webui#6837; flatcar/scripts#4053",
    after=("pci.gpu",),
)
def present(facts: Facts) -> Answer:
    """The node, or which of: WSL2, not passed on, no driver, kept for a VM, a kernel without KFD."""
    host = facts.need_host()
    if on_wsl(host):
        return skip("WSL2 has no /dev/kfd: the GPU is reached through /dev/dxg")
    if host.device(KFD) is not None:
        return ok(f"{KFD} is there")
    impostor = facts.health.impostor if facts.health else None
    if impostor is not None:
        remove = "rmdir" if impostor == "folder" else "rm"
        return fail(
            f"{KFD} is a {impostor}, and no device",
            f"an engine makes a folder where a mount (`-v {KFD}:{KFD}`) names what is not there; the driver's own node "
            "cannot take its place ('not a device node')",
            f"`sudo {remove} {KFD} && sudo modprobe amdgpu`; pass it by `--device={KFD}`",
            verify=f"ls -l {KFD}",
        )
    cause, fix = _absent(host)
    return fail(f"{KFD}: no such file", cause, fix, verify=f"ls -l {KFD}")


def _absent(host: Host) -> tuple[str, str]:
    """Why there is no /dev/kfd, and what mends it."""
    if inside(host):
        return "the container was started without it", f"start the container with `--device={KFD}`"
    reasons = {device.reason for device in host.unusable}
    if not host.driver.loaded and reasons != {"vfio-pci"}:
        return f"{NOT_LOADED}, which makes it", LOAD_DRIVER
    if reasons == {"vfio-pci"}:
        free = FREE_FROM_VFIO.format(bdf=host.unusable[0].bdf)
        return "every AMD GPU is reserved for a virtual machine", f"{free} gives one back to this host"
    if not host.kfd_sysfs:
        return NO_KFD, KERNEL_WITH_KFD
    return "KFD is there and its device node is not: udev did not make it", "`sudo udevadm trigger`"


@check(
    id="kfd.topology",
    layer="hardware",
    severity="fail",
    title="KFD shows every AMD GPU",
    reads="/sys/class/kfd/kfd/topology/nodes/*/{properties,gpu_id} against the PCI bus",
    why="what KFD does not show, no ROCm process sees",
    source="linux: drivers/gpu/drm/amd/amdkfd/kfd_topology.c",
    after=("pci.gpu", "driver.loaded", "pci.atomics", "gpu.kfd-supported", "kfd.present"),
)
def topology(facts: Facts) -> Answer:
    """GPU nodes; none is a failure, broken ones a warning, masked ones what a scheduler or container gave."""
    host = facts.need_host()
    if on_wsl(host):
        return skip("WSL2 has no KFD")
    kinds = Counter(gpu.gfx or "unknown target" for gpu in host.gpus)
    shown = ", ".join(f"{count} × {gfx}" for gfx, count in kinds.items())
    masked = f"; {len(host.masked_nodes)} nodes may not be read here" if host.masked_nodes else ""
    if not host.gpus and host.masked_nodes:
        return fail(
            f"{len(host.masked_nodes)} nodes answer EPERM",
            "GPUs are there, and this container or job was given none of them",
            "ask for a GPU: `--device=/dev/dri/renderD…` for a container, `--gres=gpu:1` in Slurm",
        )
    if not host.gpus:
        return fail(
            f"no GPU node; on the bus: {listed(gpus_of(host))}",
            "KFD took none of them",
            "`sudo dmesg | grep -iE 'kfd|amdgpu'` says why",
        )
    if host.broken_nodes:
        return warn(
            f"{shown}; nodes {listed(map(str, host.broken_nodes))} make no sense{masked}",
            "KFD could not bring these GPUs up",
            "`sudo dmesg | grep -iE 'kfd|amdgpu'` says why",
        )
    return ok(f"{shown}{masked}")


@check(
    id="gpu.partition",
    layer="hardware",
    severity="fail",
    title="partitions are whole",
    reads="current_compute_partition of each GPU, KFD's GPU nodes, /dev/dri/renderD*",
    why="after a change of mode tools may show a mode that the driver did not take, or parts without a render node",
    source="ROCm/amdsmi#100; ROCm/k8s-device-plugin#167; legacy-rocm-build#4261",
    after=("kfd.topology",),
)
def partition(facts: Facts) -> Answer:
    """GPU nodes against GPUs × parts of their mode, against render nodes, against the mode that is expected."""
    host, wanted = facts.need_host(), facts.asked.partition
    if not host.gpus:
        return skip("KFD shows no GPU")
    cards = {gpu.bdf: gpu.partition for gpu in host.gpus}
    nodes = sum(gpu.render_node is not None for gpu in host.gpus)
    modes = Counter(f"{part.compute or 'whole'}/{part.memory or '-'}" for part in cards.values())
    renders = sum(gpu.render_node is not None or gpu.partition.compute is None for gpu in host.gpus)
    parts = ", ".join(f"{count} in {mode}" for mode, count in modes.items())
    evidence = f"{len(host.gpus)} GPU nodes on {len(cards)} GPUs ({parts}), {nodes} render nodes"
    other = [bdf for bdf, part in cards.items() if wanted and (part.compute or "SPX") != wanted.upper()]
    if wanted and other:
        return fail(
            f"{evidence}; {listed(other)} in {cards[other[0]].compute or 'no mode at all'}",
            f"{wanted.upper()} is expected, and the driver did not take it",
            f"`sudo amd-smi set --gpu all --compute-partition {wanted.upper()}` while no job runs",
            verify=f"cat /sys/bus/pci/devices/{other[0]}/current_compute_partition",
        )
    short = short_of_partitions(host)
    if not short and renders == len(host.gpus):
        return ok(evidence)
    lost = "; ".join(f"{bdf} shows {count} of {most}" for bdf, count, most in short) or "a part has no render node"
    if len(host.gpus) + len(host.other_displays) >= _MINORS - 1:
        cause = f"DRM has {_MINORS} render nodes in all, and another display takes some: a part is lost to that"
        return warn(
            f"{evidence}; {lost}", cause, "take a mode of fewer parts, or turn the other display off in the BIOS"
        )
    return fail(
        f"{evidence}; {lost}",
        "the driver made fewer parts than the mode has",
        "`sudo modprobe -r amdgpu && sudo modprobe amdgpu` makes them anew, while no job runs",
    )


@check(
    id="gpu.igpu-mix",
    layer="hardware",
    severity="warn",
    title="no integrated GPU stands beside discrete ones",
    reads="KFD's GPU nodes",
    why="a Ryzen's integrated GPU counts as a ROCm device, often as number 0, and crashes what picks it",
    source="oobabooga/textgen#7319; containers/ramalama#525",
    after=("kfd.topology",),
)
def mix(facts: Facts) -> Answer:
    """Both kinds at once."""
    host = facts.need_host()
    own = [gpu for gpu in host.gpus if gpu.kind == "apu"]
    discrete = [gpu for gpu in host.gpus if gpu.kind == "dgpu"]
    if not own or not discrete:
        return ok("all of one kind") if host.gpus else skip("KFD shows no GPU")
    value = ",".join(gpu.uuid or str(gpu.index) for gpu in discrete)
    return warn(
        f"integrated: {_called(own)}; discrete: {_called(discrete)}",
        "rocenv leaves the integrated one out by itself; other tools may take it, as HIP counts it too",
        f"`export ROCR_VISIBLE_DEVICES={value}` for what runs without rocenv",
    )


def _called(gpus: list[Gpu]) -> str:
    return listed(f"{gpu.index} {gpu.gfx or gpu.pci_id} {gpu.bdf}" for gpu in gpus)


@check(
    id="apu.gtt",
    layer="hardware",
    severity="warn",
    title="an integrated GPU may use enough of the memory",
    reads="mem_info_vram_total, mem_info_gtt_total, ttm's and amdttm's pages_limit",
    why="what an APU can use is its carve-out and the GTT limit, not the memory that is built in",
    source="legacy-rocm-build#5595, #5444",
    after=("kfd.topology",),
)
def gtt(facts: Facts) -> Answer:
    """The budget against what is wanted (`--want-gpu-mem`); without a wish, told."""
    host = facts.need_host()
    found = [gpu for gpu in host.gpus if gpu.kind == "apu" and gpu.gtt_bytes]
    if not found:
        return skip("there is no integrated GPU that tells its GTT size")
    gpu = found[0]
    budget = (gpu.vram_bytes or 0) + (gpu.gtt_bytes or 0)
    limits = facts.health.page_limits if facts.health else {}
    pages = "".join(f", {module}.pages_limit {count}" for module, count in limits.items())
    evidence = f"GPU {gpu.index}: {size(gpu.vram_bytes)} set apart and {size(gpu.gtt_bytes)} GTT{pages}"
    wanted = facts.asked.gpu_memory
    if wanted is None:
        return info(evidence, "`--want-gpu-mem GIB` computes the setting for more")
    if budget >= wanted:
        return ok(evidence)
    count = (wanted >> 30) * _GIB_PAGES
    module = "amdttm" if "amdttm" in limits else "ttm"
    old = " (and take amdgpu.gttsize off the kernel's command line)" if _sized(facts) else ""
    return warn(
        evidence,
        f"{size(wanted)} are wanted, and the limit is {size(budget)}",
        f"`printf 'options ttm pages_limit={count}\\noptions amdttm pages_limit={count}\\n' | "
        f"sudo tee /etc/modprobe.d/rocm-gtt.conf && sudo update-initramfs -u`{old}",
        needs="reboot",
        verify=f"cat /sys/module/{module}/parameters/pages_limit",
    )


def _sized(facts: Facts) -> bool:
    return facts.health is not None and "amdgpu.gttsize" in (facts.health.cmdline or "")
