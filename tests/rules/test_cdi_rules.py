"""Names, counting, files that contradict each other, and what of a specification is not so any more."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hosts import builder
from plan.made import gpu, host, node

from rocenv.host import read_host
from rocenv.model.health import CdiNode, CdiSpec
from rocenv.model.host import DisplayDevice, Host, Partition
from rocenv.rules import cdi

# A device's name by SPEC.md of container-device-interface: letters, digits, `_`, `-`, `.`, `:`; its ends alphanumeric.
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")
UUID = "GPU-00000000000000aa"


def cut(count: int = 2, **facts: Any) -> Host:
    """One GPU in parts that share a UUID, as older drivers tell it, and a whole one before it on the bus."""
    parts = [
        gpu(index, bdf="0000:20:00.0", unique_id=UUID[4:], partition=Partition("CPX", "NPS1", index, count))
        for index in range(count)
    ]
    return host([*parts, gpu(count, bdf="0000:03:00.0", unique_id=None)], **facts)


def test_names_of_partitions_and_of_the_gpu_that_they_are_parts_of() -> None:
    told = {name: [one.index for one in gpus] for name, gpus in cdi.meant(cut()).items()}
    assert told == {
        "0": [2], "1": [0], "2": [1],  # by the bus, as AMD's tool counts; KFD has the whole one last
        "0000:03:00.0": [2],
        "0000:20:00.0_0": [0], "0000:20:00.0_1": [1], "0000:20:00.0": [0, 1], UUID: [0, 1],
        "all": [2, 0, 1],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["mi300x-cpx", "mi300a-tpx-high-bits", "mi300a-domains", "raven-one-node"])
def test_every_name_is_one_by_the_grammar(name: str, tmp_path: Any) -> None:
    builder.build(builder.describe(name), tmp_path / name)
    for one in cdi.meant(read_host(str(tmp_path / name))):
        assert NAME.fullmatch(one), one


def test_bus_order_is_not_kfd_s(tmp_path: Any) -> None:
    builder.build(builder.describe("mi210-hives"), tmp_path / "h")
    found = {number: one.bdf for number, one in cdi.numbered(read_host(str(tmp_path / "h")))}
    assert found == {0: "0000:03:00.0", 1: "0000:43:00.0", 2: "0000:63:00.0", 3: "0000:e3:00.0"}


def test_what_kfd_refuses_is_not_counted_and_what_has_no_node_leaves_a_gap() -> None:
    refused = DisplayDevice("0000:0f:00.0", "1002:6798", "amdgpu", reason="refused-by-kfd")
    seen = host([gpu(0), gpu(1)], unusable=(refused,), devices=[node("/dev/kfd"), node("/dev/dri/renderD129")])
    assert set(cdi.meant(seen)) == {"1", "0000:11:00.0", "GPU-0000000000000002", "all"}


def test_a_gpu_that_cannot_be_used_has_no_name() -> None:
    dead = node("/dev/dri/renderD129", refused_by="EIO", accessible=False)
    names = cdi.meant(host([gpu(0), gpu(1)], devices=[node("/dev/kfd"), node("/dev/dri/renderD128"), dead]))
    assert set(names) == {"0", "0000:10:00.0", "GPU-0000000000000001", "all"}
    assert cdi.meant(host([])) == {}


def spec(file: str = "/etc/cdi/rocenv.json", /, **devices: list[CdiNode]) -> CdiSpec:
    return CdiSpec(file, cdi.KIND, {name: (CdiNode("/dev/kfd"), *nodes) for name, nodes in devices.items()})


FIRST, SECOND = CdiNode("/dev/dri/renderD128"), CdiNode("/dev/dri/renderD129")
CARD = CdiNode("/dev/dri/card0")


def test_a_later_folder_counts_more_and_two_files_of_one_folder_contradict_each_other() -> None:
    low, high = spec("/etc/cdi/a.json", x=[FIRST], y=[FIRST]), spec("/var/run/cdi/a.json", x=[SECOND])
    found = cdi.found((low, high))
    assert [(one.name, one.spec.file) for one in found.devices] == [("x", high.file), ("y", low.file)]
    assert [(one.name, one.spec.file) for one in found.shadowed] == [("x", low.file)]
    twice = cdi.found((low, spec("/etc/cdi/b.json", y=[FIRST])))
    assert twice.conflicts == {"y": ("/etc/cdi/a.json", "/etc/cdi/b.json")}
    assert [one.name for one in twice.devices] == ["x"]


def test_only_folders_that_are_read_and_amd_s_kind_count() -> None:
    elsewhere, nvidia = spec("/home/u/.config/cdi/a.json", x=[FIRST]), spec(x=[FIRST])._replace(kind="nvidia.com/gpu")
    assert cdi.found((elsewhere, nvidia)) == cdi.Found((), {}, ())
    assert [one.name for one in cdi.found((elsewhere,), ("/home/u/.config/cdi/",)).devices] == ["x"]
    assert cdi.found((spec("/run/cdi/a.json", x=[FIRST]),), ("/var/run/cdi",)).devices


def test_a_device_is_known_by_its_nodes_and_named_by_its_most_lasting_name() -> None:
    one = gpu(0)
    nodes = {"1": [FIRST, CARD], "0": [SECOND], "all": [FIRST, SECOND], "GPU-0000000000000001": [FIRST]}

    def name(**devices: list[CdiNode]) -> str | None:
        found = cdi.device_for(one, cdi.found((spec("/etc/cdi/rocenv.json", **devices),)).devices)
        return found.name if found else None

    assert name(**{"1": [FIRST, CARD], "0": [SECOND]}) == "1", "another tool's number 0 is another GPU"
    assert name(**nodes) == "GPU-0000000000000001"
    assert name(**nodes, **{"0000:10:00.0": [FIRST]}) == "0000:10:00.0"
    assert name(all=[FIRST, SECOND], x=[FIRST, CdiNode("/dev/sda")]) is None
    assert name(**{"x y": [FIRST], "-x": [FIRST], "x\n": [FIRST]}) is None, "no engine takes these for a device"
    without_kfd = CdiSpec("/etc/cdi/a.json", cdi.KIND, {"0": (FIRST,)})
    assert cdi.device_for(one, cdi.found((without_kfd,)).devices) is None


WELL = host([gpu(0), gpu(1)])


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ({"0": [FIRST], "all": [FIRST, SECOND]}, []),
        ({"a": [CdiNode("/dev/dri/renderD200")], "b": [CdiNode("/dev/dri/renderD200")]},
         ["/dev/dri/renderD200 is not there (devices a, b)"]),
        ({"a": [CdiNode("/dev/dri/renderD128", 226, 130)]}, ["/dev/dri/renderD128 is 226:128, not 226:130 (device a)"]),
        ({"a": [CdiNode("/dev/dri/renderD128", gid=44)]},
         ["/dev/dri/renderD128 belongs to gid 109, not 44 (device a)"]),
        ({"a": [CdiNode("/dev/dri/renderD128", 226, 128, 0o660, 109)]}, []),
        ({"all": [FIRST]}, ["`all` lacks /dev/dri/renderD129"]),
        ({"0000:10:00.0": [SECOND]}, ["0000:10:00.0 is /dev/dri/renderD128 now, not /dev/dri/renderD129"]),
        ({"GPU-0000000000000002": [FIRST]},
         ["GPU-0000000000000002 is /dev/dri/renderD129 now, not /dev/dri/renderD128"]),
        ({"1": [FIRST]}, []),  # another tool's numbers may count otherwise
        ({"1": [FIRST], "0000:10:00.0": [FIRST]}, ["1 is /dev/dri/renderD129 now, not /dev/dri/renderD128"]),
        ({"a": [CdiNode("/dev/dri/card77")]}, []),
    ],
)  # fmt: skip
def test_what_is_not_so_any_more(devices: dict[str, list[CdiNode]], words: list[str]) -> None:
    assert cdi.stale(spec("/etc/cdi/rocenv.json", **devices), WELL) == words


def test_kfd_s_number_is_the_kernel_s_own_word_where_it_is_known() -> None:
    written = CdiSpec("/etc/cdi/a.json", cdi.KIND, {"x": (CdiNode("/dev/kfd", 511, 0), FIRST)})
    assert cdi.stale(written, WELL, (511, 0)) == []
    assert cdi.stale(written, WELL, (510, 0)) == ["/dev/kfd is 510:0, not 511:0 (device x)"]


EDITS: dict[str, Any] = {"deviceNodes": [{"path": "/dev/kfd", "gid": 9, "fileMode": 432}]}


# pkg/cdi/version.go of container-device-interface: what each version brought.
@pytest.mark.parametrize(
    ("version", "device", "common"),
    [
        ("0.3.0", {"name": "gpu0"}, {}),
        ("0.4.0", {"name": "gpu0"}, {"mounts": [{"hostPath": "/a", "containerPath": "/a", "type": "bind"}]}),
        ("0.5.0", {"name": "0"}, {}),
        ("0.5.0", {"name": "gpu0"}, {"deviceNodes": [{"path": "/dev/kfd", "hostPath": "/dev/other"}]}),
        ("0.6.0", {"name": "gpu0", "annotations": {"a": "b"}}, {}),
        ("0.7.0", {"name": "gpu0"}, {"additionalGids": [109]}),
    ],
)
def test_the_oldest_version_that_knows_what_is_in_it(version: str, device: dict[str, Any], common: Any) -> None:
    made = {"kind": "amd.com/gpu", "devices": [{**device, "containerEdits": EDITS}], "containerEdits": common}
    assert cdi.version_of(made) == version
    assert cdi.version_of({**made, "kind": "amd.com/gpu.x"}) == max(version, "0.6.0")
