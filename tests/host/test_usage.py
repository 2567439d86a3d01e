"""Who uses which GPU: KFD's files of processes, described on built hosts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocenv.host import read_host, read_usage, with_idle

ID = "5f" * 32
PROC = "root/sys/class/kfd/kfd/proc"
GIB = 1 << 30
Build = Callable[..., Path]


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def eight(built: Build) -> Path:
    """Eight MI300X: a training in a container on the first two, nothing else but a probe that holds nothing."""
    folder = built("mi300x-spx")
    ids = [gpu.kfd_gpu_id for gpu in read_host(str(folder)).gpus]
    for number, held in ((ids[0], 150 * GIB), (ids[1], 4096), (ids[2], 0)):
        write(folder / f"{PROC}/4242/vram_{number}", f"{held}\n")
    write(folder / f"{PROC}/4242/pasid", "32770\n")
    write(folder / f"{PROC}/77/vram_{ids[3]}", "0\n")
    write(folder / "root/proc/4242/comm", "python3\n")
    write(folder / "root/proc/4242/cgroup", f"0::/system.slice/docker-{ID}.scope\n")
    return folder


def test_processes_with_what_they_hold_and_their_container(eight: Path) -> None:
    host, found, _ = read_usage(str(eight))
    assert [(one.pid, one.command, one.container) for one in found] == [(77, "?", None), (4242, "python3", ID)]
    held = {gpu.index: found[1].vram.get(gpu.kfd_gpu_id) for gpu in host.gpus}
    assert held == {0: 150 * GIB, 1: 4096, 2: 0, 3: None, 4: None, 5: None, 6: None, 7: None}


def test_idle_is_what_no_process_holds_anything_of(eight: Path) -> None:
    assert with_idle(read_host(str(eight)), "idle", str(eight)).idle == frozenset({2, 3, 4, 5, 6, 7})


def test_memory_that_nobody_tells_of_is_somebody_s(eight: Path) -> None:
    """Programs that draw, or run in another process namespace's driver, are unknown to KFD."""
    host = read_host(str(eight))
    write(eight / f"root/sys/bus/pci/devices/{host.gpus[5].bdf}/mem_info_vram_used", f"{9 * GIB}\n")
    write(eight / f"root/sys/bus/pci/devices/{host.gpus[6].bdf}/mem_info_vram_used", f"{300 << 20}\n")
    assert with_idle(host, "idle=2", str(eight)).idle == frozenset({2, 3, 4, 6, 7})
    assert read_usage(str(eight))[2][5] == 9 * GIB


@pytest.mark.parametrize(
    ("line", "container"),
    [
        (f"0::/system.slice/docker-{ID}.scope", ID),
        (f"12:devices:/docker/{ID}", ID),
        (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container", ID),
        (f"0::/machine.slice/libpod-{ID}.scope", ID),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope", ID),
        ("0::/user.slice/user-1000.slice/session-2.scope", None),
        ("0::/", None),
    ],
)
def test_a_container_is_known_by_its_cgroup(eight: Path, line: str, container: str | None) -> None:
    write(eight / "root/proc/4242/cgroup", line + "\n")
    assert read_usage(str(eight))[1][1].container == container


def test_it_is_looked_for_only_where_it_is_asked_for(eight: Path) -> None:
    assert with_idle(read_host(str(eight)), "auto", str(eight)).idle is None


def test_a_host_without_kfd_has_no_users(built: Build) -> None:
    assert read_usage(str(built("no-gpu")))[1] == ()
