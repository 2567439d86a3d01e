"""Display and accelerator functions on the PCI bus, and the DRM nodes that stand beside them."""

from __future__ import annotations

from typing import NamedTuple

from rocenv.host.source import Root

DEVICES = "/sys/bus/pci/devices"
DRM = "/sys/class/drm"
AMD = 0x1002
_BDF = frozenset("0123456789abcdef:.")
_DISPLAY, _ACCELERATOR = 0x03, 0x12  # PCI base classes


class Function(NamedTuple):
    """One PCI function of class display or accelerator."""

    bdf: str
    vendor: int
    device: int
    revision: int | None
    base_class: int

    @property
    def path(self) -> str:
        """Its folder in sysfs."""
        return f"{DEVICES}/{self.bdf}"

    @property
    def pci_id(self) -> str:
        """`1002:744c`."""
        return f"{self.vendor:04x}:{self.device:04x}"

    @property
    def is_amd(self) -> bool:
        """True for AMD's GPUs, be they of class display or accelerator."""
        return self.vendor == AMD


class Memory(NamedTuple):
    """What amdgpu says of a whole PCI function: bytes, partition modes, NUMA node, product name of the board."""

    vram_bytes: int | None
    gtt_bytes: int | None
    compute_mode: str | None
    memory_mode: str | None
    numa_node: int | None
    product_name: str | None


def scan(root: Root) -> dict[str, Function]:
    """Every AMD display or accelerator function, and every other vendor's display function, by BDF, in its order."""
    found: dict[str, Function] = {}
    for name in sorted(root.names(DEVICES)):
        function = _function(root, name) if _is_bdf(name) else None
        if function is not None:
            found[name] = function
    return found


def _is_bdf(name: str) -> bool:
    """True for `dddd:bb:dd.f` in lower-case hex; domains may have more digits."""
    words = name.replace(".", ":").split(":")
    return [len(word) for word in words[1:]] == [2, 2, 1] and 4 <= len(words[0]) <= 8 and set(name) <= _BDF  # noqa: PLR2004


def _function(root: Root, bdf: str) -> Function | None:
    """The function, or None for one of another class (most of a server's are)."""
    path = f"{DEVICES}/{bdf}"
    base_class = (root.number(f"{path}/class") or 0) >> 16
    if base_class not in (_DISPLAY, _ACCELERATOR):
        return None
    vendor, device = root.number(f"{path}/vendor"), root.number(f"{path}/device")
    if vendor is None or device is None or (base_class == _ACCELERATOR and vendor != AMD):
        return None
    return Function(bdf, vendor, device, root.number(f"{path}/revision"), base_class)


def memory(root: Root, bdf: str) -> Memory:
    """What amdgpu says of a PCI function; all None for one that is not on the bus."""
    path = f"{DEVICES}/{bdf}"
    numa = root.number(f"{path}/numa_node")
    return Memory(
        vram_bytes=root.number(f"{path}/mem_info_vram_total"),
        gtt_bytes=root.number(f"{path}/mem_info_gtt_total"),
        compute_mode=root.text(f"{path}/current_compute_partition"),
        memory_mode=root.text(f"{path}/current_memory_partition"),
        numa_node=numa if numa is not None and numa >= 0 else None,
        product_name=root.text(f"{path}/product_name"),
    )


def driver(root: Root, function: Function) -> str | None:
    """The kernel driver that holds a function, by its link; None where there is none."""
    if root.files.target(f"{function.path}/driver") is None:
        return None
    target = root.resolve(f"{function.path}/driver")
    return target.rpartition("/")[2] if target else None


def render_node(root: Root, function: Function) -> str | None:
    """The lowest render node below a function, whether /dev has it or not."""
    if not root.files.is_dir(f"{function.path}/drm"):
        return None
    render = lowest(root.names(f"{function.path}/drm"), "renderD")
    return f"/dev/dri/{render}" if render else None


def cards(root: Root) -> dict[int, str]:
    """The card node beside each render node, by the render node's minor: the one under the same DRM parent.

    Never by counting: the numbers of the two may cross, and other vendors' cards stand between.
    """
    beside: dict[str, list[str]] = {}
    for name in root.names(DRM):
        target = root.files.target(f"{DRM}/{name}") if name.startswith(("card", "renderD")) else None
        if target is not None:
            beside.setdefault(target.rpartition("/")[0], []).append(name)
    found = {}
    for names in beside.values():
        card, render = lowest(names, "card"), lowest(names, "renderD")
        if card is not None and render is not None:
            found[int(render.removeprefix("renderD"))] = f"/dev/dri/{card}"
    return found


def lowest(names: list[str], start: str) -> str | None:
    """The name `start` + number with the lowest number; card1-DP-1 is a connector and none of these."""
    rests = [name[len(start) :] for name in names if name.startswith(start)]
    numbers = [int(rest) for rest in rests if rest.isascii() and rest.isdecimal() and len(rest) < 10]  # noqa: PLR2004
    return f"{start}{min(numbers)}" if numbers else None
