"""Who uses which GPU at this moment: the processes that KFD knows, and the memory in use on each card.

/sys/class/kfd/kfd/proc/PID/vram_GPUID tells what a process holds on a GPU (Linux 5.9 and later,
drivers/gpu/drm/amd/amdkfd/kfd_process.c). The numbers are of the host's process namespace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from rocenv.host.source import Root
from rocenv.model.host import Gpu, Host

_PROC = "/sys/class/kfd/kfd/proc"
_MOST = 4096  # processes
_CONTAINER = re.compile(
    r"(?:docker|libpod|cri-containerd|crio)[-/]([0-9a-f]{64})|/([0-9a-f]{64})(?:\.scope)?$", re.MULTILINE
)
IDLE_VRAM = 512 << 20  # bytes: the driver and a desktop hold some; more is somebody's work


class Using(NamedTuple):
    """A process that has opened KFD; `vram` is what it holds by KFD's number of the GPU, in bytes."""

    pid: int
    command: str
    container: str | None  # the whole id, where its cgroup is a container's
    vram: Mapping[int, int]


def using(root: Root) -> tuple[Using, ...]:
    """The processes on a host's GPUs, by their numbers."""
    pids = sorted(int(name) for name in root.names(_PROC) if name.isdecimal())[:_MOST]
    return tuple(_using(root, pid) for pid in pids)


def vram_used(root: Root, gpu: Gpu) -> int | None:
    """The bytes in use on a GPU's card; None where the driver does not tell."""
    return root.number(f"/sys/bus/pci/devices/{gpu.bdf}/mem_info_vram_used")


def idle(root: Root, host: Host) -> frozenset[int]:
    """The indices of the GPUs on which no process holds memory, and whose card holds next to none.

    A part of a card that was cut is judged by its processes alone: what is in use is told of the whole card.
    """
    held = {number for one in using(root) for number, size in one.vram.items() if size > 0}
    return frozenset(
        gpu.index
        for gpu in host.gpus
        if gpu.kfd_gpu_id not in held
        and (gpu.partition.count > 1 or gpu.kind == "apu" or (vram_used(root, gpu) or 0) <= IDLE_VRAM)
    )


def _using(root: Root, pid: int) -> Using:
    folder = f"{_PROC}/{pid}"
    vram = {
        int(name.removeprefix("vram_")): root.number(f"{folder}/{name}") or 0
        for name in root.names(folder)
        if re.fullmatch(r"vram_[0-9]{1,10}", name)
    }
    cgroup = (root.data(f"/proc/{pid}/cgroup", quiet=True) or b"").decode(errors="replace")
    match = _CONTAINER.search(cgroup)
    return Using(pid, root.text(f"/proc/{pid}/comm", quiet=True) or "?", match and (match[1] or match[2]), vram)
