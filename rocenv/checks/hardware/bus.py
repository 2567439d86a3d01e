"""AMD's GPUs on the PCI bus and who drives them."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import gpus_of, named, on_wsl
from rocenv.model.host import DisplayDevice, Host
from rocenv.rules.absent import FREE_FROM_VFIO


@check(
    id="pci.gpu",
    layer="hardware",
    severity="fail",
    title="an AMD GPU is on the PCI bus",
    reads="/sys/bus/pci/devices/*/{vendor,class}; /proc/cpuinfo and DMI for a virtual machine",
    why="without one nothing else matters; Instinct GPUs are processing accelerators (class 1200), not VGA",
    source="amd/MxGPU-Virtualization#21; legacy-rocm-build#1626",
)
def gpu(facts: Facts) -> Answer:
    """Any of AMD's display or accelerator devices, used or not."""
    host = facts.need_host()
    if on_wsl(host):
        return skip("WSL2 shows no PCI devices: `wsl.detect` looks at /dev/dxg")
    found = gpus_of(host)
    if found:
        return ok("; ".join(found[:8]) + (f"; and {len(found) - 8} more" if len(found) > 8 else ""))  # noqa: PLR2004
    others = ", ".join(f"{one.bdf} {one.pci_id}" for one in host.other_displays[:4]) or "no other display either"
    evidence = f"no device of vendor 1002 and class 0300, 0302, 0380 or 1200 ({others})"
    if host.environment == "vm":
        by = f" ({host.virtualization})" if host.virtualization else ""
        return fail(
            evidence,
            f"no AMD PCI device in this VM{by}: the hypervisor passes none through",
            "pass the GPU through in the hypervisor's settings of this machine, or work on its host",
            needs="reboot",
        )
    return fail(
        evidence,
        "there is no AMD GPU in this machine, or its slot is off in the firmware",
        "`--cpu` runs without a GPU, on purpose; for one that should be here: `lspci -d 1002:`",
    )


@check(
    id="driver.bound",
    layer="hardware",
    severity="fail",
    title="each AMD GPU is bound to amdgpu",
    reads="/sys/bus/pci/devices/*/driver",
    why="a GPU that another driver holds, or that is kept for a virtual machine, is on the bus and of no use here",
    source="ROCm/k8s-gpu-dra-driver#49",
    after=("pci.gpu", "driver.loaded"),
)
def bound(facts: Facts) -> Answer:
    """The worst of: left alone by the loaded driver, held by another one, kept for a virtual machine."""
    host = facts.need_host()
    if on_wsl(host):
        return skip("WSL2 shows no PCI devices")
    alone = _with(host, "no-driver")
    if alone and host.driver.loaded:
        return fail(
            f"{named(alone)}: no `driver` link, though amdgpu is loaded",
            "amdgpu is loaded and has not taken this GPU",
            "`sudo dmesg | grep -i amdgpu` says why",
            verify=f"ls -l /sys/bus/pci/devices/{alone[0].bdf}/driver",
        )
    kept = _with(host, "vfio-pci")
    if kept:
        return warn(
            f"{named(kept)}: driver vfio-pci",
            "it is reserved for a virtual machine, on purpose: it is left alone",
            FREE_FROM_VFIO.format(bdf=kept[0].bdf) + " gives it back to this host",
        )
    held = _with(host, "other-driver")
    if held:
        return warn(
            f"{named(held)}: driver {held[0].driver}",
            "another driver than amdgpu holds it, and ROCm reaches GPUs through amdgpu alone",
            f"`lspci -nnk -s {held[0].bdf}` shows which drivers know it; blacklist `{held[0].driver}`",
            needs="reboot",
        )
    return ok(f"{len(gpus_of(host))} bound to amdgpu") if not alone else skip("amdgpu is not loaded")


def _with(host: Host, reason: str) -> list[DisplayDevice]:
    return [device for device in host.unusable if device.reason == reason]
