"""Checks of the machine and its driver: each verdict by facts that give it."""

from __future__ import annotations

from typing import Any

import pytest
from checks.seen import (
    CONTAINER,
    IN_TREE,
    NO_DRIVER,
    TWO,
    WELL,
    WSL,
    asked,
    facts,
    found,
    health,
    image,
)  # fmt: skip
from plan.made import gpu, host, node

from rocenv.model.health import DkmsTree, Opening, Smoke, Stuck
from rocenv.model.host import DisplayDevice, Driver, Partition


def amd(reason: str, driver: str | None = None) -> DisplayDevice:
    return DisplayDevice("0000:03:00.0", "1002:744c", driver, "Radeon", None, reason)


BARE = host(driver=NO_DRIVER, kfd_sysfs=False, devices=[])
UNLOADED = BARE._replace(unusable=(amd("no-driver"),))
VFIO = BARE._replace(unusable=(amd("vfio-pci", "vfio-pci"),))
LOADED = host(driver=IN_TREE, devices=[node("/dev/kfd")])
REFUSED = LOADED._replace(unusable=(amd("refused-by-kfd", "amdgpu"),))
NO_KFD = host(driver=IN_TREE, kfd_sysfs=False, devices=[], unusable=(amd("no-kfd", "amdgpu"),))
STRIX = gpu(0, "gfx1151", kind="apu", pci_id="1002:1586", vram_bytes=512 << 20, gtt_bytes=16 << 30)
APU = host([STRIX], driver=IN_TREE)
CPX = [
    gpu(number, bdf="0000:26:00.0", partition=Partition("CPX", "NPS4", number, 8), unique_id="1") for number in range(8)
]
DKMS = (DkmsTree("6.16.13", {"6.8.0-60-generic": "installed"}), DkmsTree("6.10.5"))

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("pci.gpu", {}, "ok", "AMD GPU gfx942"),
    ("pci.gpu", {"host": BARE}, "fail", "no AMD GPU in this machine"),
    ("pci.gpu", {"host": BARE._replace(environment="vm", virtualization="vmware")}, "fail", "VM (vmware)"),
    ("pci.gpu", {"host": WSL}, "skip", "WSL2"),
    ("driver.bound", {}, "ok", "bound to amdgpu"),
    ("driver.bound", {"host": VFIO}, "warn", "driverctl unset-override 0000:03:00.0"),
    ("driver.bound", {"host": LOADED._replace(unusable=(amd("no-driver"),))}, "fail", "has not taken this GPU"),
    ("driver.bound", {"host": LOADED._replace(unusable=(amd("other-driver", "radeon"),))}, "warn", "radeon"),
    ("driver.bound", {"host": UNLOADED}, "skip", "driver.loaded"),
    ("driver.bound", {"host": WSL}, "skip", "WSL2"),
    ("driver.secureboot", {}, "ok", "loaded"),
    ("driver.secureboot", {"host": UNLOADED, "health": health(secure_boot=True, dkms=DKMS)}, "fail", "mokutil"),
    ("driver.secureboot", {"host": UNLOADED, "health": health(kernel_log=("Key was rejected by service",))}, "fail",
     "Key was rejected"),
    ("driver.secureboot", {"host": UNLOADED, "health": health(secure_boot=False, dkms=DKMS)}, "ok", "off"),
    ("driver.secureboot", {"host": UNLOADED}, "skip", "does not tell"),
    ("driver.dkms-kernel", {}, "skip", "not in DKMS"),
    ("driver.dkms-kernel", {"health": health(dkms=DKMS)}, "ok", "left over: 6.10.5"),
    ("driver.dkms-kernel", {"host": UNLOADED, "health": health(dkms=DKMS[1:])}, "fail", "make.log"),
    ("driver.dkms-kernel", {"host": WELL._replace(driver=IN_TREE), "health": health(dkms=DKMS[1:])}, "warn",
     "dkms autoinstall -k 6.8.0-60-generic"),
    ("driver.dkms-kernel", {"host": UNLOADED, "health": health(dkms=(DkmsTree("6", {"6.8.0-60-generic": "built"}),))},
     "warn", "built"),
    ("driver.dkms-kernel", {"host": CONTAINER, "health": health(dkms=DKMS)}, "skip", "container"),
    ("driver.dkms-kernel", {"host": WELL._replace(kernel=None), "health": health(dkms=DKMS)}, "skip", "unknown"),
    ("driver.nomodeset", {}, "ok", "does not say so"),
    ("driver.nomodeset", {"health": health(cmdline="ro nomodeset")}, "ok", "all the same"),
    ("driver.nomodeset", {"host": UNLOADED, "health": health(cmdline="ro nomodeset")}, "fail", "update-grub"),
    ("driver.nomodeset", {"health": health(cmdline=None)}, "skip", "not read"),
    ("driver.blacklist", {}, "ok", "no line"),
    ("driver.blacklist", {"host": UNLOADED, "health": health(blacklists=("/etc/modprobe.d/a.conf:3",))}, "warn",
     "/etc/modprobe.d/a.conf:3"),
    ("driver.blacklist", {"health": health(blacklists=("/etc/modprobe.d/a.conf:3",))}, "info", "on purpose"),
    ("driver.firmware", {}, "ok", "no missing firmware"),
    ("driver.firmware", {"host": UNLOADED, "health": health(kernel_log=(
        "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/x.bin failed with error -2",))}, "fail", "x.bin"),
    ("driver.firmware", {"health": health(kernel_log=None)}, "skip", "not read"),
    ("driver.firmware", {"host": UNLOADED, "health": health(kernel_log=("amdgpu: Found VCN firmware 1.24",))}, "ok",
     "no missing"),
    ("driver.firmware", {"health": health(kernel_log=("amdgpu: failed to load firmware x",))}, "ok", "no missing"),
    ("driver.loaded", {}, "ok", "/sys/module/amdgpu"),
    ("driver.loaded", {"host": UNLOADED}, "fail", "sudo modprobe amdgpu"),
    ("driver.loaded", {"host": VFIO}, "skip", "virtual machine"),
    ("driver.loaded", {"host": WSL}, "skip", "Windows"),
    ("driver.loaded", {"host": CONTAINER._replace(driver=NO_DRIVER)}, "ok", "devices are there"),
    ("driver.loaded", {"host": UNLOADED._replace(environment="container")}, "fail", "on the host, not in here"),
    ("driver.stale-module", {"health": health(module_loaded="A", module_installed="A")}, "ok", "A both"),
    ("driver.stale-module", {"health": health(module_loaded="A", module_installed="B")}, "warn", "reboot"),
    ("driver.stale-module", {}, "skip", "not to be had"),
    ("driver.version", {}, "info", "30.30.4"),
    ("driver.version", {"host": WELL._replace(driver=IN_TREE)}, "info", "in-tree driver of kernel 6.8.0-60-generic"),
    ("driver.version", {"host": VFIO}, "skip", "no driver"),
    ("gpu.reset", {}, "ok", "no reset"),
    ("gpu.reset", {"health": health(kernel_log=("amdgpu: GPU reset begin!",))}, "warn", "stale"),
    ("gpu.reset", {"health": health(kernel_log=("amdgpu: MES failed to respond to msg=MISC",))}, "warn", "stale"),
    ("gpu.reset", {"health": health(kernel_log=None, missing={"kernel_log": "may not be read"})}, "skip", "may not"),
    ("pci.atomics", {}, "ok", "no GPU without atomics"),
    ("pci.atomics", {"host": REFUSED, "health": health(kernel_log=("kfd: skipped device, PCI rejects atomics",))},
     "fail", "a slot that hangs on the CPU"),
    ("pci.atomics", {"health": health(kernel_log=("kfd: skipped device, PCI rejects atomics",))}, "warn", "passes it"),
    ("pci.atomics", {"host": REFUSED._replace(environment="vm"), "health": health(kernel_log=(
        "PCI rejects atomics",))}, "fail", "hypervisor"),
    ("pci.atomics", {"health": health(kernel_log=None)}, "skip", "not read"),
    ("gpu.kfd-supported", {}, "ok", "none"),
    ("gpu.kfd-supported", {"host": REFUSED, "health": health(kernel_log=("PITCAIRN not supported in kfd",))}, "fail",
     "PITCAIRN"),
    ("gpu.kfd-supported", {"host": WELL._replace(unusable=(amd("refused-by-kfd"),))}, "info", "others are served"),
    ("kfd.present", {}, "ok", "is there"),
    ("kfd.present", {"host": UNLOADED}, "fail", "sudo modprobe amdgpu"),
    ("kfd.present", {"host": VFIO}, "fail", "reserved for a virtual machine"),
    ("kfd.present", {"host": NO_KFD}, "fail", "CONFIG_HSA_AMD"),
    ("kfd.present", {"host": WELL._replace(devices=())}, "fail", "udevadm trigger"),
    ("kfd.present", {"host": UNLOADED, "health": health(impostor="folder")}, "fail", "sudo rmdir /dev/kfd"),
    ("kfd.present", {"host": CONTAINER._replace(devices=())}, "fail", "--device=/dev/kfd"),
    ("kfd.present", {"host": WSL}, "skip", "/dev/dxg"),
    ("kfd.topology", {"host": TWO}, "ok", "2 × gfx942"),
    ("kfd.topology", {"host": LOADED._replace(unusable=(amd("other-driver", "radeon"),))}, "fail", "took none"),
    ("kfd.topology", {"host": LOADED._replace(unusable=(amd("masked"),), masked_nodes=(1, 2))}, "fail", "given none"),
    ("kfd.topology", {"host": WELL._replace(broken_nodes=(3,))}, "warn", "make no sense"),
    ("kfd.topology", {"host": WSL}, "skip", "WSL2"),
    ("gpu.partition", {"host": host(CPX)}, "ok", "8 GPU nodes on 1 GPUs (1 in CPX/NPS4), 8 render nodes"),
    ("gpu.partition", {"asked": asked(partition="cpx")}, "fail", "CPX is expected"),
    ("gpu.partition", {"host": host([gpu(0, partition=Partition("DPX", "NPS1", 0, 1))])}, "fail", "shows 1 of 2"),
    ("gpu.partition", {"host": host([gpu(n, bdf=f"0000:{n // 8:02x}:00.0", partition=Partition(
        "CPX", "NPS1", n % 8, 7 if n > 55 else 8)) for n in range(63)])._replace(
            other_displays=(amd("none"),))}, "warn",
     "DRM has 64"),
    ("gpu.partition", {"host": LOADED}, "skip", "because"),
    ("gpu.igpu-mix", {}, "ok", "one kind"),
    ("gpu.igpu-mix", {"host": host([gpu(0, "gfx1100"), gpu(1, "gfx1036", kind="apu", unique_id=None)])}, "warn",
     "ROCR_VISIBLE_DEVICES=GPU-0000000000000001"),
    ("apu.gtt", {}, "skip", "no integrated GPU"),
    ("apu.gtt", {"host": APU}, "info", "16 GiB GTT"),
    ("apu.gtt", {"host": APU, "asked": asked(gpu_memory=8 << 30)}, "ok", "GTT"),
    ("apu.gtt", {"host": APU, "asked": asked(gpu_memory=96 << 30), "health": health(page_limits={"amdttm": 1})}, "warn",
     "options amdttm pages_limit=25165824"),
    ("apu.gtt", {"host": APU, "asked": asked(gpu_memory=96 << 30), "health": health(cmdline="amdgpu.gttsize=9")},
     "warn",     "take amdgpu.gttsize off"),
    ("host.stuck-process", {}, "ok", "no process"),
    ("host.stuck-process", {"health": health(stuck=(Stuck(7, "rocminfo", "amdgpu_wait"),))}, "fail", "rocminfo"),
    ("host.stuck-process", {"health": health(opens=(Opening("/dev/kfd", "TIMEOUT"),))}, "fail", "did not return"),
    ("host.numa-balancing", {"host": TWO, "health": health(numa_balancing=2)}, "warn", "kernel.numa_balancing=0"),
    ("host.numa-balancing", {"host": TWO, "health": health(numa_balancing=0)}, "ok", "is 0"),
    ("host.numa-balancing", {"host": TWO}, "skip", "not read"),
    ("host.numa-balancing", {"health": health(numa_balancing=1)}, "skip", "several NUMA nodes"),
    ("host.iommu-pt", {"host": TWO}, "ok", "no IOMMU"),
    ("host.iommu-pt", {"host": TWO, "health": health(iommus=4)}, "warn", "iommu=pt"),
    ("host.iommu-pt", {"host": TWO, "health": health(iommus=4, cmdline="ro iommu=pt")}, "ok", "passthrough"),
    ("host.iommu-pt", {"host": TWO, "health": health(iommus=4, iommu_types={
        "0000:10:00.0": "identity", "0000:11:00.0": "identity"})}, "ok", "identity"),
    ("host.iommu-pt", {"host": TWO, "health": health(iommus=4, cmdline="iommu=pt", iommu_types={
        "0000:10:00.0": "DMA-FQ"})}, "warn", "DMA-FQ"),
    ("host.iommu-pt", {"host": TWO, "health": health(iommus=None)}, "skip", "not read"),
    ("host.iommu-pt", {"host": TWO, "health": health(iommus=4, cmdline=None)}, "skip", "neither"),
    ("host.iommu-pt", {}, "skip", "one discrete GPU"),
    ("host.memlock", {}, "skip", "not asked for"),
    ("host.memlock", {"asked": asked(loosen=("rdma",)), "health": health(memlock=65536)}, "warn", "no port"),
    ("host.memlock", {"asked": asked(loosen=("rdma",)), "health": health(memlock=65536, infiniband=("mlx5_0/1",))},
     "warn", "memlock unlimited"),
    ("host.memlock", {"asked": asked(loosen=("rdma",)), "health": health(memlock=-1, infiniband=("mlx5_0/1",))}, "ok",
     "mlx5_0/1"),
    ("host.memlock", {"asked": asked(loosen=("rdma",))}, "skip", "not read"),
    ("host.hazard", {}, "ok", "none of the"),
    ("host.hazard", {"host": APU._replace(kernel="6.18.9"), "health": health(firmware="20251125-1")}, "warn",
     "linux-firmware 20251125-1"),
    ("host.hazard", {"host": APU._replace(kernel="6.14.0-29-generic")}, "warn", "6.18.4"),
    ("host.hazard", {"host": APU._replace(kernel="6.17.0-1028-oem")}, "ok", "none of the"),
    ("host.hazard", {"host": APU._replace(kernel="6.17.0-1028-oem", driver=Driver(
        loaded=True, version="6.16.6", origin="dkms"))}, "warn", "amdgpu-dkms"),
    ("host.hazard", {"host": host([gpu(0, None)])}, "skip", "no GPU"),
    ("wsl.detect", {"host": WSL}, "warn", "/dev/dxg"),
    ("wsl.detect", {"host": WSL._replace(devices=())}, "fail", "wsl --update"),
    ("wsl.detect", {}, "skip", "not WSL2"),
    ("wsl.gpu-supported", {"host": WSL, "health": health(windows_gpu="1002:67df")}, "fail", "unsupported on WSL"),
    ("wsl.gpu-supported", {"host": WSL, "health": health(windows_gpu="10de:2684")}, "fail", "not AMD's"),
    ("wsl.gpu-supported", {"host": WSL, "health": health(windows_gpu="1002:744c", dxg_ids=("67df",))}, "fail",
     "not in librocdxg's"),
    ("wsl.gpu-supported", {"host": WSL, "health": health(windows_gpu="1002:744c", dxg_ids=("744c",))}, "ok", "in lib"),
    ("wsl.gpu-supported", {"host": WSL, "health": health(windows_gpu="1002:744c")}, "ok", "1002:744c"),
    ("wsl.gpu-supported", {"host": WSL, "health": health(windows_gpu="1002:ffff")}, "skip", "unknown"),
    ("wsl.gpu-supported", {"host": WSL}, "skip", "did not tell"),
    ("wsl.rocdxg-abi", {"host": WSL}, "fail", "libdxcore"),
    ("wsl.rocdxg-abi", {"host": WSL, "health": health(libraries=("libdxcore.so",))}, "fail", "amdrocm-wsl"),
    ("wsl.rocdxg-abi", {"host": WSL, "health": health(libraries=("libdxcore.so", "libhsa-runtime64.so.1"))}, "warn",
     "older ROCm for WSL"),
    ("wsl.rocdxg-abi", {"host": WSL, "health": health(libraries=("libdxcore.so", "librocdxg.so"))}, "info",
     "HSA_ENABLE_DXG_DETECTION"),
    ("wsl.rocdxg-abi", {"host": WSL, "health": health(libraries=("libdxcore.so", "librocdxg.so")), "image": image(
        rocm="7.14")}, "ok", "7.14"),
    ("wsl.rocdxg-abi", {"host": WSL, "health": health(libraries=("libdxcore.so", "librocdxg.so")), "image": None},
     "info", "before ROCm 7.13"),
    ("smoke.host", {}, "skip", "not asked"),
    ("smoke.host", {"smoke": Smoke(host="ok")}, "ok", "answers"),
    ("smoke.host", {"smoke": Smoke(host="OUT_OF_RESOURCES", container="OUT_OF_RESOURCES")}, "fail",
     "on the host and in the container"),
    ("smoke.host", {"smoke": Smoke(host="OUT_OF_RESOURCES", container="ok")}, "fail", "on the host: OUT"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "given", "verdict", "words"), CASES)
def test_a_check_of_the_machine(check: str, given: dict[str, Any], verdict: str, words: str) -> None:
    finding = found(check, facts(**given))
    assert finding.verdict == verdict, finding
    assert words in " ".join(filter(None, (finding.evidence, finding.cause, finding.fix))), finding


def test_no_modprobe_is_advised_for_a_gpu_of_a_virtual_machine() -> None:
    for check in ("driver.bound", "driver.loaded", "kfd.present"):
        assert "modprobe" not in (found(check, facts(host=VFIO)).fix or "")
