"""The GPUs: KFD nodes joined with their PCI function, DRM nodes and names; and the AMD devices that are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rocenv.catalog import gpus as catalog
from rocenv.host import names, pci
from rocenv.host.source import Root
from rocenv.host.topology import Node, Topology, bank_bytes, cpu_node
from rocenv.model.host import DeviceNode, DisplayDevice, Gpu, Partition

_WHOLE = (None, "SPX")  # compute modes of a GPU that is in one piece


class _Place(NamedTuple):
    """Where a KFD node is on the bus: the slot that partitions share, the PCI function, and the part's number."""

    slot: tuple[int, int]  # domain, bus << 5 | device
    bdf: str
    part: int


def read_gpus(
    root: Root, topology: Topology, functions: Mapping[str, pci.Function], devices: Mapping[str, DeviceNode]
) -> tuple[Gpu, ...]:
    """Every usable GPU node, in numeric KFD order."""
    nodes = [node for node in topology.nodes if node.is_gpu]
    if not nodes:
        return ()
    places = [_place(node, functions) for node in nodes]
    memories = {place.bdf: pci.memory(root, place.bdf) for place in places}
    revisions = {bdf: function.revision for bdf, function in functions.items()}
    products = [(_pci_id(node), revisions.get(place.bdf)) for node, place in zip(nodes, places, strict=True)]
    called = names.marketing_names(root, products)
    cards = pci.cards(root)
    cpus = topology.cpus()
    parts: dict[tuple[int, int], set[int]] = {}
    for place in places:
        parts.setdefault(place.slot, set()).add(place.part)
    found = []
    for index, (node, place, product) in enumerate(zip(nodes, places, products, strict=True)):
        joined = _Joined(
            position=index,
            parts=len(parts[place.slot]),
            marketing_name=called[product],
            card_node=cards.get(node.get("drm_render_minor")),
            bank_bytes=bank_bytes(root, node),
            cpu_node=cpu_node(root, cpus, node),
        )
        found.append(_gpu(node, place, memories[place.bdf], devices, joined))
    return tuple(found)


class _Joined(NamedTuple):
    """What is found for one GPU outside of its node's properties and its PCI function."""

    position: int
    parts: int
    marketing_name: str | None
    card_node: str | None
    bank_bytes: int | None
    cpu_node: int | None


def _gpu(
    node: Node,
    place: _Place,
    memory: pci.Memory,
    devices: Mapping[str, DeviceNode],
    joined: _Joined,
) -> Gpu:
    """One GPU put together; no file is read here."""
    pci_id = _pci_id(node)
    gfx = catalog.gfx_name(node.get("gfx_target_version"))
    told = gfx is not None
    gfx = gfx or catalog.gfx_of(pci_id)
    minor = node.get("drm_render_minor")
    render = f"/dev/dri/renderD{minor}" if minor > 0 else None
    kfd_device, render_device = devices.get("/dev/kfd"), devices.get(render or "")
    unique = node.get("unique_id")
    in_parts = memory.compute_mode not in _WHOLE or joined.parts > 1
    return Gpu(
        index=joined.position,
        kfd_node=node.number,
        kfd_gpu_id=node.gpu_id,
        bdf=place.bdf,
        location_id=node.get("location_id"),
        pci_id=pci_id,
        gfx=gfx,
        gfx_source=None if gfx is None else "gfx_target_version" if told else "device_id_table",
        marketing_name=joined.marketing_name,
        product_name=memory.product_name,
        kind="apu" if catalog.is_apu(gfx, pci_id) else "dgpu",
        vram_bytes=joined.bank_bytes if in_parts or memory.vram_bytes is None else memory.vram_bytes,
        card_vram_bytes=memory.vram_bytes,
        gtt_bytes=memory.gtt_bytes,
        kfd_bank_bytes=joined.bank_bytes,
        compute_units=_compute_units(node),
        num_xcc=node.properties.get("num_xcc"),
        render_node=render,
        render_node_exists=render_device is not None,
        card_node=joined.card_node,
        unique_id=f"{unique:016x}" if unique > 0 else None,
        partition=Partition(memory.compute_mode, memory.memory_mode, place.part, joined.parts),
        numa_node=memory.numa_node,
        kfd_cpu_node=joined.cpu_node,
        can_open_kfd=kfd_device.accessible if kfd_device else None,
        can_open_render=render_device.accessible if render_device else None,
        hive_id=node.get("hive_id") or None,
    )


def _place(node: Node, functions: Mapping[str, pci.Function]) -> _Place:
    """Decode location_id. Its last bits are the PCI function where there is such a GPU, else the part's number.

    Some kernels write that number into the four highest bits instead.
    """
    location = node.get("location_id")
    domain, bus, device, last = node.get("domain"), location >> 8 & 0xFF, location >> 3 & 0x1F, location & 7
    stem = f"{domain & 0xFFFFFFFF:04x}:{bus:02x}:{device:02x}"
    function = functions.get(f"{stem}.{last}")
    is_function = function is not None and function.is_amd
    part = location >> 28 & 0xF or (0 if is_function else last)
    return _Place((domain, bus << 5 | device), f"{stem}.{last if is_function else 0}", part)


def _pci_id(node: Node) -> str:
    """`1002:744c` by KFD."""
    return f"{node.get('vendor_id') & 0xFFFF:04x}:{node.get('device_id') & 0xFFFF:04x}"


def _compute_units(node: Node) -> int | None:
    """SIMDs by SIMDs a CU; None where the kernel does not tell the latter."""
    per_unit = node.get("simd_per_cu")
    return node.get("simd_count") // per_unit if per_unit > 0 else None


def unusable(
    root: Root, functions: Mapping[str, pci.Function], gpus: tuple[Gpu, ...], topology: Topology
) -> tuple[DisplayDevice, ...]:
    """AMD's devices on the bus that are no GPU for ROCm, each with the reason."""
    used = {gpu.bdf for gpu in gpus}
    left = [function for bdf, function in functions.items() if function.is_amd and bdf not in used]
    called = names.marketing_names(root, [(function.pci_id, function.revision) for function in left])
    found = []
    for function in left:
        driver = pci.driver(root, function)
        found.append(
            DisplayDevice(
                bdf=function.bdf,
                pci_id=function.pci_id,
                driver=driver,
                marketing_name=called[(function.pci_id, function.revision)],
                render_node=pci.render_node(root, function),
                reason=_reason(driver, topology),
            )
        )
    return tuple(found)


def _reason(driver: str | None, topology: Topology) -> str:
    """Why an AMD device is no GPU for ROCm."""
    if driver is None:
        return "no-driver"
    if driver != "amdgpu":
        return "vfio-pci" if driver == "vfio-pci" else "other-driver"
    if not topology.present:
        return "no-kfd"
    return "masked" if topology.masked else "refused-by-kfd"


def other_displays(root: Root, functions: Mapping[str, pci.Function]) -> tuple[DisplayDevice, ...]:
    """Other vendors' display devices."""
    others = [function for function in functions.values() if not function.is_amd]
    return tuple(DisplayDevice(function.bdf, function.pci_id, pci.driver(root, function)) for function in others)
