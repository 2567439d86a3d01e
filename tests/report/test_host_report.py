"""`rocenv detect` for people and for programs, whole answers by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import builder

from rocenv.host import read_host, read_links
from rocenv.report.host import host_json
from rocenv.report.host_text import host_text, ranges

Build = Callable[[str], Path]


@pytest.fixture
def built(tmp_path: Path) -> Build:
    return lambda name: builder.build(builder.describe(name), tmp_path / name)


def text(folder: Path, *, links: bool = False) -> str:
    return host_text(read_host(str(folder), chips=True), read_links(str(folder)) if links else None)


def test_partitions_are_folded_under_their_gpu(built: Build) -> None:
    assert (
        text(built("mi300x-cpx"))
        == """\
mi300x-cpx: bare metal, Ubuntu 22.04.5 LTS, Linux 5.15.0-139-generic

GPU    TARGET  BDF           RENDER NODE     VRAM        CUS     MODE      NUMA  NAME             UUID
0-7    gfx942  0000:05:00.0  renderD128-135  8 × 24 GiB  8 × 38  CPX/NPS1  0     Instinct MI300X  GPU-a1b2c3d4e5f60001
8-15   gfx942  0000:27:00.0  renderD136-143  8 × 24 GiB  8 × 38  CPX/NPS1  0     Instinct MI300X  GPU-a1b2c3d4e5f60002
16-23  gfx942  0000:47:00.0  renderD144-151  8 × 24 GiB  8 × 38  CPX/NPS1  0     Instinct MI300X  GPU-a1b2c3d4e5f60003
24-31  gfx942  0000:65:00.0  renderD152-159  8 × 24 GiB  8 × 38  CPX/NPS1  0     Instinct MI300X  GPU-a1b2c3d4e5f60004
32-39  gfx942  0000:85:00.0  renderD160-167  8 × 24 GiB  8 × 38  CPX/NPS1  1     Instinct MI300X  GPU-a1b2c3d4e5f60005
40-47  gfx942  0000:a7:00.0  renderD168-175  8 × 24 GiB  8 × 38  CPX/NPS1  1     Instinct MI300X  GPU-a1b2c3d4e5f60006
48-55  gfx942  0000:c7:00.0  renderD176-183  8 × 24 GiB  8 × 38  CPX/NPS1  1     Instinct MI300X  GPU-a1b2c3d4e5f60007
56-62  gfx942  0000:e5:00.0  renderD184-190  7 × 24 GiB  7 × 38  CPX/NPS1  1     Instinct MI300X  GPU-a1b2c3d4e5f60008

driver  amdgpu 6.12.12, AMD's (DKMS, release 6.4)
ROCm    6.4.1 in /opt/rocm-6.4.1 (default)
access  /dev/kfd and renderD128-190: open to uid 1000 (group render)
other   0000:c3:00.0 1a03:2000 (ast)

note: 0000:e5:00.0 shows 7 of 8 partitions"""
    )


def test_a_desktop_fits_a_terminal(built: Build) -> None:
    shown = text(built("rx7900xtx"))
    assert (
        shown
        == """\
rx7900xtx: bare metal, Ubuntu 24.04.3 LTS, Linux 6.8.0-60-generic

GPU  TARGET   BDF           RENDER NODE  VRAM    CUS  NAME                UUID
0    gfx1100  0000:03:00.0  renderD128   24 GiB  96   Radeon RX 7900 XTX  GPU-7cf529dea4b33bad

driver  amdgpu, the kernel's own
ROCm    not on this host, and containers bring their own
access  /dev/kfd and renderD128: closed to uid 1000 (mode 0660, group render)"""
    )
    assert max(map(len, shown.splitlines())) <= 100


def test_what_cannot_be_used_is_told_apart(built: Build) -> None:
    shown = text(built("no-driver"))
    assert "No AMD GPU here that ROCm could use:" in shown
    assert "0000:03:00.0  1002:744c  -       no driver holds it" in shown
    assert "0000:05:00.0  1002:67df  radeon  its driver is not amdgpu" in shown
    assert "access  there is no /dev/kfd" in shown


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("container-masked", "note: 2 KFD nodes may not be read: GPUs not given to this container or job"),
        ("kfd-refuses", "access  /dev/kfd: opening it answers ENOMEM"),
        ("broken-topology", "note: 6 KFD nodes make no sense (3, 4, 5, 6, 8, 11)"),
        ("duplicated-node", "note: KFD shows one GPU more than once (gpu_id 13261)"),
        ("duplicated-node", "\n1    gfx900  0000:19:00.0  renderD129"),
        ("no-kfd", "note: amdgpu is loaded without KFD"),
        ("wsl2", "note: WSL 2 shows its GPU through /dev/dxg alone"),
        (
            "strix-halo",
            "note: GPU 0 is an APU: 512 MiB are set apart for it, and it can use 62.5 GiB of the host's memory",
        ),
        ("mi25-old-kernel", "note: this kernel tells no gfx target: gfx900 is by the device id"),
        ("unknown-old-gpu", "note: GPU 0 has an unknown gfx target (1002:fffe)"),
        ("slurm-job", "note: this process runs in an allocation of slurm 4711"),
        ("slurm-job", "note: ROCR_VISIBLE_DEVICES=0 is inherited"),
        ("fedora-rootless", "note: SELinux is enforcing"),
        ("fedora-rootless", "note: this is inside a user namespace"),
        ("fedora-rootless", "renderD128: open to uid 1000 (acl user)"),
        ("container-without-node", "no render node in /dev for GPU 0"),
        ("no-gpu", "No AMD GPU here that ROCm could use, and none on the PCI bus."),
        ("intel-first", "Vega 20 [Radeon Pro VII/Radeon Instinct"),  # pci.ids' name of a chip, for people alone
        ("rocm-side-by-side", "6.4.1 in /opt/rocm-6.4.1 (default)"),
        ("rocm-cores", "        10.1.0 in /opt/rocm/core-10.1 (default)"),
    ],
)
def test_what_is_odd_is_told(name: str, words: str, built: Build) -> None:
    assert words in text(built(name))


def test_links_are_shown_where_asked_for(built: Build) -> None:
    assert "BANDWIDTH" not in text(built("rx9070xt-igpu"))
    assert text(built("rx9070xt-igpu"), links=True).endswith("""\
FROM   TO      LINK  WEIGHT  BANDWIDTH   ATOMICS
GPU 0  node 0  pcie  20      63015 MB/s  yes
GPU 1  node 0  pcie  20      63015 MB/s  yes""")


def test_pci_ids_never_name_a_gpu_in_json(built: Build) -> None:
    host = read_host(str(built("intel-first")), chips=True)
    assert host.chips["1002:66a1"]
    answer = host_json(host)
    assert "Vega 20" not in str(answer)


def test_json_links_are_null_unless_asked_for(built: Build) -> None:
    folder = str(built("rx9070xt-igpu"))
    assert host_json(read_host(folder))["links"] is None
    assert host_json(read_host(folder), read_links(folder))["links"] == [
        {"from": node, "to": 0, "type": "pcie", "weight": 20, "min_bandwidth": None, "max_bandwidth": 63015,
         "no_atomics": False}
        for node in (1, 2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "words"), [([3], "3"), ([0, 1, 2, 3, 6], "0-3,6"), ([9, 1, 2, 1], "1-2,9"), ([], "")]
)
def test_ranges(numbers: list[int], words: str) -> None:
    assert ranges(numbers) == words


def keys_of(answer: object) -> set[str]:
    if isinstance(answer, dict):
        return set(answer) | {key for value in answer.values() for key in keys_of(value)}
    if isinstance(answer, list):
        return {key for value in answer for key in keys_of(value)}
    return set()


def test_every_key_is_explained(built: Build) -> None:
    manual = (Path(__file__).parents[2] / "docs/detect.md").read_text(encoding="utf-8")
    found: set[str] = set()
    for name in ("slurm-job", "vfio", "broken-topology", "rocm-cores"):
        folder = str(built(name))
        found |= keys_of(host_json(read_host(folder), read_links(folder)))
    found -= {"ROCR_VISIBLE_DEVICES"}  # a variable, within `visible`
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", manual))))
    assert sorted(found - words) == []
