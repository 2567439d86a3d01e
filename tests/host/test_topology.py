"""The KFD topology: properties, banks and links of a node, and its place on the bus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocenv.host import read_host, read_links
from rocenv.host.topology import parse_properties

Build = Callable[..., Path]
NODE = "/sys/devices/virtual/kfd/kfd/topology/nodes"
GPU = {"model": "rx7900xtx", "at": "0000:03:00.0"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"a 1\nb -2\n", {"a": 1, "b": -2}),
        (b"a 1", {"a": 1}),  # no newline at the end
        (b"a 1\na 2\n", {"a": 1}),  # the first of two
        (b"a 18446744073709551615\nb 18446744073709551616\nc 5", {"a": 2**64 - 1, "c": 5}),
        (b"a 18446744073709551616\na 3", {"a": 3}),
        (b"junk line 3\na x\n b\t7 \r\n\n=\nc 1 2\nd 0x10\ne 1.5\n", {"b": 7}),
        (b"\xff\xfe 1\na\x00 2\nb 3\n", {"b": 3}),
        (b"a " + b"9" * 9999, {}),
        (b"", {}),
    ],
)
def test_properties(text: bytes, found: dict[str, int]) -> None:
    assert parse_properties(text) == found


def banks(*entries: tuple[int, int]) -> dict[str, str]:
    return {
        f"{NODE}/1/mem_banks/{number}/properties": f"heap_type {heap}\nsize_in_bytes {size}"
        for number, (heap, size) in enumerate(entries)
    }


@pytest.mark.parametrize(
    ("entries", "total"),
    [
        ([(1, 100), (2, 20)], 120),  # public and private frame buffer
        ([(0, 7), (2, 20), (3, 9), (4, 9), (5, 9)], 20),  # system, GDS, LDS and scratch are none
        ([(0, 7)], None),
    ],
)
def test_frame_buffer_banks(built: Build, entries: list[tuple[int, int]], total: int | None) -> None:
    gpu = read_host(str(built("rx7900xtx", gpus=[GPU], files=banks(*entries)))).gpus[0]
    assert gpu.kfd_bank_bytes == total


def link(number: int, to: int, flags: int = 1) -> dict[str, str]:
    text = f"type 11\nnode_from 2\nnode_to {to}\nweight 15\nmin_bandwidth 50000\nmax_bandwidth 64000\nflags {flags}"
    return {f"{NODE}/2/io_links/{number}/properties": text}


def test_the_first_link_to_a_cpu_in_numeric_order(built: Build) -> None:
    gpus = [{**GPU, "node": 2}, {**GPU, "at": "0000:04:00.0", "node": 3}]
    files = link(0, 3) | link(9, 1) | link(10, 0)
    host = read_host(str(built("rx7900xtx", cpus=2, gpus=gpus, files=files)))
    assert host.gpus[0].kfd_cpu_node == 1


def test_links_of_every_gpu(built: Build) -> None:
    gpus = [{**GPU, "node": 2}, {**GPU, "at": "0000:04:00.0", "node": 3}]
    files = link(0, 3, flags=0b0101) | link(2, 1, flags=0b1001) | link(10, 0)
    files[f"{NODE}/2/io_links/11/properties"] = "type 99\nnode_from 2\nnode_to 7"
    files[f"{NODE}/2/io_links/12/properties"] = "type 2\nnode_from 2"
    links = read_links(str(built("rx7900xtx", cpus=2, gpus=gpus, files=files)))
    shown = [(one.node_from, one.node_to, one.type, one.no_atomics) for one in links]
    assert shown == [
        (2, 3, "xgmi", True),
        (2, 1, "xgmi", True),
        (2, 0, "xgmi", False),
        (2, 7, "99", False),
        (3, 0, "pcie", False),
    ]
    assert (links[0].weight, links[0].min_bandwidth, links[0].max_bandwidth) == (15, 50000, 64000)


def test_another_vendors_function_is_no_function_of_the_gpu(built: Build) -> None:
    gpu = {"model": "mi300x", "at": "0000:05:00.0", "mode": "DPX/NPS1", "partitions": 2}
    other = {"at": "0000:05:00.1", "id": "1a03:2000"}
    host = read_host(str(built("no-gpu", gpus=[gpu], displays=[other])))
    assert [(part.bdf, part.partition.index, part.partition.count) for part in host.gpus] == [
        ("0000:05:00.0", 0, 2),
        ("0000:05:00.0", 1, 2),
    ]


def test_partitions_of_one_location_in_two_domains_are_kept_apart(built: Build) -> None:
    gpus = [
        {"model": "mi300x", "at": "0000:05:00.0", "mode": "CPX/NPS1", "partitions": 3},
        {"model": "mi300x", "at": "0001:05:00.0", "mode": "CPX/NPS1", "partitions": 8},
    ]
    host = read_host(str(built("no-gpu", gpus=gpus)))
    assert [part.partition.count for part in host.gpus] == [3] * 3 + [8] * 8
    assert [part.bdf for part in host.gpus[2:4]] == ["0000:05:00.0", "0001:05:00.0"]


@pytest.mark.parametrize(
    ("location", "bdf"),
    [(0xC100, "0000:c1:00.0"), (0xC1F8, "0000:c1:1f.0"), (0x0F0, "0000:00:1e.0"), (0, "0000:00:00.0")],
)
def test_location_id(built: Build, location: int, bdf: str) -> None:
    gpu = {**GPU, "properties": {"location_id": location}}
    assert read_host(str(built("rx7900xtx", gpus=[gpu]))).gpus[0].bdf == bdf


def test_a_share_without_a_bank_is_unknown(built: Build) -> None:
    gpu = {"model": "mi300x", "at": "0000:05:00.0", "mode": "CPX/NPS1"}
    folder = built("no-gpu", gpus=[gpu], remove=[f"{NODE}/1/mem_banks"])
    found = read_host(str(folder)).gpus[0]
    assert (found.vram_bytes, found.card_vram_bytes) == (None, 206141652992)


def test_without_a_pci_function_the_bank_tells(built: Build) -> None:
    folder = built("rx7900xtx", gpus=[GPU], links={}, files={}, remove=["/sys/bus/pci/devices/0000:03:00.0"])
    found = read_host(str(folder)).gpus[0]
    assert (found.vram_bytes, found.card_vram_bytes, found.gtt_bytes) == (25753026560, None, None)
    assert (found.marketing_name, found.partition.compute, found.numa_node) == (None, None, None)
