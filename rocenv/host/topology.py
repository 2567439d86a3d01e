"""The KFD topology: one folder a node, CPUs and GPUs alike (linux/drivers/gpu/drm/amd/amdkfd/kfd_topology.c)."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocenv.host.source import SMALL, Root, parse_number
from rocenv.model.host import Link

NODES = "/sys/class/kfd/kfd/topology/nodes"
_LINE = re.compile(rb"^[ \t]*([A-Za-z_0-9]+)[ \t]+(-?\d{1,20})[ \t\r]*$", re.MULTILINE)
_FRAME_BUFFERS = (1, 2)  # heap types public and private
_NO_ATOMICS = 0b1100  # io_link flags: no 32-bit, no 64-bit atomics
# HSA_IOLINKTYPE_* of kfd_crat.h
_LINK_TYPES = {0: "undefined", 1: "hypertransport", 2: "pcie", 3: "amba", 4: "mipi", 5: "qpi", 11: "xgmi"}
Properties = dict[bytes, int]


@dataclass(frozen=True, slots=True)
class Node:
    """One healthy node. `gpu_id` 0 for a CPU."""

    number: int
    path: str
    gpu_id: int
    properties: Properties

    def get(self, key: str, default: int = 0) -> int:
        """A property, or the default where this kernel does not print it."""
        return self.properties.get(key.encode(), default)

    @property
    def is_gpu(self) -> bool:
        """True for a node with SIMDs and an id; old kernels have GPUs with CPU cores in the same node."""
        return self.gpu_id != 0 and self.get("simd_count") > 0


@dataclass(slots=True)
class Topology:
    """All nodes in numeric order; masked ones may not be read, broken ones make no sense."""

    present: bool
    nodes: list[Node] = field(default_factory=list)
    masked: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)


def parse_properties(data: bytes) -> Properties:
    """The lines `key integer`; others are passed over, the first of two equal keys holds."""
    found: Properties = {}
    for key, value in _LINE.findall(data):
        number = int(value)
        if key not in found and -(1 << 63) <= number < 1 << 64:
            found[key] = number
    return found


def read_topology(root: Root) -> Topology:
    """Every node that can be read, and the numbers of those that cannot."""
    base = root.resolve(NODES)
    topology = Topology(present=base is not None)
    for number in _numbered(root, base) if base is not None else ():
        path = f"{base}/{number}"
        if root.files.is_dir(path):
            _read_node(root, topology, number, path)
    return topology


def _numbered(root: Root, path: str) -> list[int]:
    """The entries of a folder that are plain numbers, ascending."""
    names = [name for name in root.names(path) if name.isascii() and name.isdecimal() and len(name) < 10]  # noqa: PLR2004
    return sorted({int(name) for name in names if str(int(name)) == name})


def _read_node(root: Root, topology: Topology, number: int, path: str) -> None:
    """Put one node where it belongs: refused reads mask it, all other faults break it."""
    answers: dict[str, bytes] = {}
    faults: dict[str, OSError] = {}
    for name in ("properties", "gpu_id"):
        try:
            answers[name] = root.files.read(f"{path}/{name}", SMALL)
        except OSError as error:
            faults[name] = error
    if any(error.errno in (errno.EPERM, errno.EACCES) for error in faults.values()):
        topology.masked.append(number)
        return
    properties = parse_properties(answers.get("properties", b""))
    gpu_id = parse_number(answers.get("gpu_id")) or 0
    node = Node(number, path, gpu_id, properties)
    wrong = _what_is_wrong(node, faults)
    if wrong is None:
        topology.nodes.append(node)
    else:
        topology.broken.append(number)
        root.problem(path, wrong)


def _what_is_wrong(node: Node, faults: dict[str, OSError]) -> str | None:
    """Why a node cannot be used, in words; None for a healthy one."""
    for name, error in faults.items():
        if name == "properties" or error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return f"`{name}` cannot be read: {error.strerror}"
    if not node.properties:
        return "`properties` holds no `key number` line"
    if node.get("simd_count") > 0 and node.gpu_id == 0:
        return "has SIMDs but no gpu_id: KFD did not take this GPU"
    if node.get("simd_count") <= 0 and node.get("cpu_cores_count") <= 0:
        return "has neither CPU cores nor SIMDs"
    return None


def bank_bytes(root: Root, node: Node) -> int | None:
    """The sizes of a node's frame buffer banks summed; None where it has none."""
    sizes = [
        bank.get(b"size_in_bytes", 0)
        for bank in _parts(root, node, "mem_banks")
        if bank.get(b"heap_type") in _FRAME_BUFFERS
    ]
    return sum(sizes) if sizes else None


def cpu_node(root: Root, topology: Topology, node: Node) -> int | None:
    """The node with CPU cores that the first such io_link leads to."""
    cpus = {other.number for other in topology.nodes if other.get("cpu_cores_count") > 0}
    for link in _parts(root, node, "io_links"):
        if link.get(b"node_to") in cpus:
            return link[b"node_to"]
    return None


def links(root: Root, topology: Topology) -> tuple[Link, ...]:
    """Every io_link of every GPU, in numeric order."""
    found = []
    for node in topology.nodes:
        if not node.is_gpu:
            continue
        for link in _parts(root, node, "io_links"):
            if b"node_to" not in link:
                continue
            kind = link.get(b"type", 0)
            found.append(
                Link(
                    node_from=link.get(b"node_from", node.number),
                    node_to=link[b"node_to"],
                    type=_LINK_TYPES.get(kind, str(kind)),
                    weight=link.get(b"weight", 0),
                    min_bandwidth=link.get(b"min_bandwidth"),
                    max_bandwidth=link.get(b"max_bandwidth"),
                    no_atomics=bool(link.get(b"flags", 0) & _NO_ATOMICS),
                )
            )
    return tuple(found)


def _parts(root: Root, node: Node, kind: str) -> Iterator[Properties]:
    """The properties of a node's numbered mem_banks or io_links, read one by one as they are asked for."""
    for number in _numbered(root, f"{node.path}/{kind}"):
        data = root.data(f"{node.path}/{kind}/{number}/properties", quiet=True)
        if data is not None:
            yield parse_properties(data)
