"""The KFD topology: one folder a node, CPUs and GPUs alike (linux/drivers/gpu/drm/amd/amdkfd/kfd_topology.c)."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from typing import NamedTuple

from rocenv.host.source import SMALL, Root, file_number
from rocenv.model.host import Link

NODES = "/sys/class/kfd/kfd/topology/nodes"
_LINE = re.compile(r"^[ \t]*(\w+)[ \t]+(-?\d{1,20})[ \t\r]*$", re.MULTILINE | re.ASCII)
_FRAME_BUFFERS = (1, 2)  # heap types public and private
_NO_ATOMICS = 0b1100  # io_link flags: no 32-bit, no 64-bit atomics
# HSA_IOLINKTYPE_* of kfd_crat.h
_LINK_TYPES = {0: "undefined", 1: "hypertransport", 2: "pcie", 3: "amba", 4: "mipi", 5: "qpi", 11: "xgmi"}
Properties = dict[str, int]


class Node(NamedTuple):
    """One healthy node. `gpu_id` 0 for a CPU."""

    number: int
    path: str
    gpu_id: int
    properties: Properties

    def get(self, key: str) -> int:
        """A property, or 0 where this kernel does not print it."""
        return self.properties.get(key, 0)

    @property
    def is_gpu(self) -> bool:
        """True for a node with SIMDs and an id; old kernels have GPUs with CPU cores in the same node."""
        return self.gpu_id != 0 and self.get("simd_count") > 0


class Topology:
    """All nodes in numeric order; masked ones may not be read, broken ones make no sense."""

    def __init__(self, *, present: bool) -> None:
        self.present = present
        self.nodes: list[Node] = []
        self.masked: list[int] = []
        self.broken: list[int] = []

    def cpus(self) -> frozenset[int]:
        """The nodes with CPU cores."""
        return frozenset(node.number for node in self.nodes if node.get("cpu_cores_count") > 0)


def parse_properties(data: bytes) -> Properties:
    """The lines `key integer`; others are passed over, the first of two equal keys holds."""
    found: Properties = {}
    for key, value in _LINE.findall(data.decode("ascii", "replace")):
        if key not in found:
            number = int(value)
            if -(1 << 63) <= number < 1 << 64:
                found[key] = number
    return found


def read_topology(root: Root) -> Topology:
    """Every node that can be read, and the numbers of those that cannot."""
    base = root.resolve(NODES)
    topology = Topology(present=base is not None)
    for number in _numbered(root, base) if base is not None else ():
        _read_node(root, topology, number, f"{base}/{number}")
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
    if not answers and not root.files.is_dir(path):
        return
    properties = parse_properties(answers.get("properties", b""))
    gpu_id = file_number(answers.get("gpu_id")) or 0
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
        bank.get("size_in_bytes", 0)
        for bank in _parts(root, node, "mem_banks")
        if bank.get("heap_type") in _FRAME_BUFFERS
    ]
    return sum(sizes) if sizes else None


def cpu_node(root: Root, cpus: frozenset[int], node: Node) -> int | None:
    """The node with CPU cores, one of `cpus`, that the first such io_link leads to."""
    for link in _parts(root, node, "io_links"):
        if link.get("node_to") in cpus:
            return link["node_to"]
    return None


def links(root: Root, topology: Topology) -> tuple[Link, ...]:
    """Every io_link of every GPU, in numeric order."""
    found = []
    for node in topology.nodes:
        if not node.is_gpu:
            continue
        for link in _parts(root, node, "io_links"):
            if "node_to" not in link:
                continue
            kind = link.get("type", 0)
            found.append(
                Link(
                    node_from=link.get("node_from", node.number),
                    node_to=link["node_to"],
                    type=_LINK_TYPES.get(kind, str(kind)),
                    weight=link.get("weight", 0),
                    min_bandwidth=link.get("min_bandwidth"),
                    max_bandwidth=link.get("max_bandwidth"),
                    no_atomics=bool(link.get("flags", 0) & _NO_ATOMICS),
                )
            )
    return tuple(found)


def _parts(root: Root, node: Node, kind: str) -> Iterator[Properties]:
    """The properties of a node's numbered mem_banks or io_links, read one by one as they are asked for.

    Number 0 comes before the listing: a GPU's first link mostly is the one that is looked for, of hundreds.
    """
    base = f"{node.path}/{kind}"
    first = root.data(f"{base}/0/properties", quiet=True)
    if first is not None:
        yield parse_properties(first)
    for number in _numbered(root, base):
        data = root.data(f"{base}/{number}/properties", quiet=True) if number > 0 else None
        if data is not None:
            yield parse_properties(data)
