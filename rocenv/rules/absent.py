"""Hosts without a GPU to give: each cause in its own words, with the one command that mends it."""

from __future__ import annotations

from rocenv.errors import HostError
from rocenv.model.host import DisplayDevice, Host

NOT_LOADED = "the amdgpu driver is not loaded"
LOAD_DRIVER = "`sudo modprobe amdgpu`"
NO_KFD = "the kernel has no KFD (`/sys/class/kfd` is missing)"
KERNEL_WITH_KFD = "boot a kernel with CONFIG_HSA_AMD=y, or `sudo apt-get install amdgpu-dkms` from AMD's repository"
UNSUPPORTED = "KFD does not support it"
FREE_FROM_VFIO = "`sudo driverctl unset-override {bdf}`"
UPDATE_WSL = "`wsl --update` in Windows, with AMD's driver for WSL installed there"


def no_gpu(host: Host) -> HostError:
    """The error for a host where KFD shows no GPU that can be used."""
    if host.environment == "wsl2":
        return HostError(
            "this is WSL2 without `/dev/dxg`: Windows passes no GPU on",
            UPDATE_WSL,
        )
    reasons = {device.reason for device in host.unusable}
    if "no-driver" in reasons and not host.driver.loaded:
        return _error(host, "no-driver", NOT_LOADED, LOAD_DRIVER)
    if "no-driver" in reasons:
        return _error(host, "no-driver", "no driver is bound to it", "`sudo dmesg | grep amdgpu` says why")
    if "no-kfd" in reasons or (host.driver.loaded and not host.kfd_sysfs and host.unusable):
        return _error(host, "no-kfd", NO_KFD, KERNEL_WITH_KFD)
    if "refused-by-kfd" in reasons:
        return _error(
            host,
            "refused-by-kfd",
            UNSUPPORTED,
            "`--cpu` runs without a GPU; this GPU is not one that ROCm serves",
        )
    if "vfio-pci" in reasons:
        return _error(
            host,
            "vfio-pci",
            "it is reserved for a virtual machine (bound to vfio-pci)",
            f"{FREE_FROM_VFIO} gives it back to this host; or use it inside that machine",
        )
    if "masked" in reasons or host.masked_nodes:
        return HostError(
            f"{len(host.masked_nodes)} GPU nodes are there, and this process may read none of them",
            "ask the scheduler or container that this runs in for a GPU",
        )
    if "other-driver" in reasons:
        return _error(host, "other-driver", "another driver holds it", "`lspci -nnk -d 1002:` shows which")
    others = "; other GPUs: " + _names(host.other_displays) if host.other_displays else ""
    return HostError(f"there is no AMD GPU on this host{others}", "`--cpu` runs without a GPU, on purpose")


def _error(host: Host, reason: str, what: str, hint: str) -> HostError:
    found = [device for device in host.unusable if device.reason == reason] or list(host.unusable)
    bdf = found[0].bdf if found else "BDF"
    return HostError(f"the AMD GPU {_names(found)} cannot be used: {what}", hint.replace("{bdf}", bdf))


def _names(devices: tuple[DisplayDevice, ...] | list[DisplayDevice]) -> str:
    return ", ".join(f"{one.bdf} ({one.marketing_name or one.pci_id})" for one in list(devices)[:4])
