"""What is odd about a host, in sentences: facts that a reader of the tables would miss. Advice is doctor's business."""

from __future__ import annotations

from collections import Counter

from rocenv.model.host import Gpu, Host
from rocenv.report.text import size

_MAX_PROBLEMS = 8
_PARTS = {"DPX": 2, "TPX": 3, "QPX": 4}  # of compute modes; CPX has one for each XCC


def notes(host: Host) -> list[str]:
    """Each oddity in one sentence."""
    return [*_nodes(host), *_gpus(host), *_place(host), *_problems(host)]


def _nodes(host: Host) -> list[str]:
    """KFD nodes that are no GPUs though they might be."""
    found = []
    if host.masked_nodes:
        found.append(
            f"{_count(host.masked_nodes, 'KFD node')} may not be read: GPUs not given to this container or job"
        )
    if host.broken_nodes:
        numbers = ", ".join(map(str, host.broken_nodes))
        found.append(f"{_count(host.broken_nodes, 'KFD node')} make no sense ({numbers})")
    if host.driver.loaded and not host.kfd_sysfs:
        found.append("amdgpu is loaded without KFD: this kernel is built without HSA_AMD, or is no host for ROCm")
    if not host.gpus and host.kfd_sysfs and not host.unusable:
        found.append("KFD is there but shows no GPU")
    return found


def _gpus(host: Host) -> list[str]:
    """GPUs that are not what they look like."""
    found = [_apu(gpu) for gpu in host.gpus if gpu.kind == "apu" and gpu.gtt_bytes]
    by_table = [gpu for gpu in host.gpus if gpu.gfx_source == "device_id_table"]
    if by_table:
        found.append(f"this kernel tells no gfx target: {by_table[0].gfx} is by the device id")
    found += [f"GPU {gpu.index} has an unknown gfx target ({gpu.pci_id})" for gpu in host.gpus if gpu.gfx is None]
    twice = [number for number, count in Counter(gpu.kfd_gpu_id for gpu in host.gpus).items() if count > 1]
    if twice:
        found.append(f"KFD shows one GPU more than once (gpu_id {', '.join(map(str, twice))})")
    return found + [f"{bdf} shows {count} of {most} partitions" for bdf, count, most in short_of_partitions(host)]


def _apu(gpu: Gpu) -> str:
    """An APU's two kinds of memory."""
    own, shared = size(gpu.vram_bytes), size(gpu.gtt_bytes)
    return f"GPU {gpu.index} is an APU: {own} are set apart for it, and it can use {shared} of the host's memory"


def short_of_partitions(host: Host) -> list[tuple[str, int, int]]:
    """GPUs that show fewer partitions than others of their mode, or than it has: (BDF, parts seen, parts expected).

    How many parts CPX has differs by GPU: there the most that one of them shows is what is expected.
    """
    counts = {gpu.bdf: (gpu.partition.compute, gpu.partition.count) for gpu in host.gpus}
    most = {mode: max(count for other, count in counts.values() if other == mode) for mode, _ in counts.values()}
    wanted = {mode: max(seen, _PARTS.get(mode or "", 0)) for mode, seen in most.items()}
    return [(bdf, count, wanted[mode]) for bdf, (mode, count) in counts.items() if mode and count < wanted[mode]]


def _place(host: Host) -> list[str]:
    """What the place does to GPUs."""
    found = []
    if host.environment == "wsl2":
        found.append("WSL 2 shows its GPU through /dev/dxg alone: rocminfo in a container with librocdxg names it")
    if host.selinux == "enforcing":
        found.append("SELinux is enforcing")
    if host.user_namespace:
        found.append("this is inside a user namespace: ids here are not the host's")
    if host.allocation is not None:
        given = " ".join(word for word in (host.allocation.by, host.allocation.job) if word)
        if given:
            found.append(f"this process runs in an allocation of {given}")
        found += [f"{name}={value} is inherited" for name, value in host.allocation.visible]
    return found


def _problems(host: Host) -> list[str]:
    """What could not be read."""
    found = [f"{problem.path}: {problem.what}" for problem in host.problems[:_MAX_PROBLEMS]]
    more = len(host.problems) - len(found)
    return [*found, *([f"{more} more such problems (see --json)"] if more else [])]


def _count(numbers: tuple[int, ...], what: str) -> str:
    """`1 KFD node`, `7 KFD nodes`."""
    return f"{len(numbers)} {what}{'' if len(numbers) == 1 else 's'}"
