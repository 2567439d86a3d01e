"""How checks name things: GPUs, devices, lists; and the places where a check means nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocenv.model.health import Health
from rocenv.model.host import DisplayDevice, Gpu, Host

_SHOWN = 4


def gpus_of(host: Host) -> list[str]:
    """Every AMD GPU of a host by slot and name, used by ROCm or not, each card once."""
    found = {gpu.bdf: f"{gpu.bdf} {gpu.name}" for gpu in host.gpus}
    for device in host.unusable:
        found.setdefault(device.bdf, f"{device.bdf} {device.marketing_name or device.pci_id}")
    return list(found.values())


def named(devices: Sequence[DisplayDevice | Gpu]) -> str:
    """Devices by slot and name, the first few."""
    return listed(f"{one.bdf} ({one.marketing_name or one.pci_id})" for one in devices)


def listed(words: Iterable[str], most: int = _SHOWN) -> str:
    """The first few of several words, and how many more there are."""
    every = list(dict.fromkeys(words))
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def on_wsl(host: Host) -> bool:
    """True on WSL2, where neither PCI nor KFD is to be seen."""
    return host.environment == "wsl2"


def inside(host: Host) -> bool:
    """True where these facts are those of a container."""
    return host.environment == "container" and host.virtualization != "lxc"


def log_lines(health: Health, *words: str) -> list[str]:
    """The lines of the kernel log that hold one of these words, small letters or not."""
    wanted = [word.lower() for word in words]
    return [line for line in health.kernel_log or () if any(word in line.lower() for word in wanted)]
