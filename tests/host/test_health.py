"""What the doctor reads beyond a host: from files of a capture, and of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocenv.host import cdi, examine, log, modules
from rocenv.host.modules import dkms_status
from rocenv.model.health import CdiNode, DkmsTree, Health, Opening, Stuck, SubIds

Build = Callable[..., Path]
KERNEL = "6.8.0-60-generic"
NODES = {"containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD128", "major": 226, "minor": 128}]}}
SPEC = {
    "cdiVersion": "0.5.0",
    "kind": "amd.com/gpu",
    "containerEdits": {"deviceNodes": [{"path": "/dev/kfd", "hostPath": "/dev/kfd"}]},
    "devices": [{"name": "0", **NODES}, {"name": "all", **NODES}],
}


@pytest.fixture
def seen(built: Build) -> Callable[..., Health]:
    """The health of a described host with files of its own."""

    def look(**changed: Any) -> Health:
        return examine(str(built("rx7900xtx", kernel=KERNEL, **changed)))[1]

    return look


def test_what_keeps_the_driver_from_loading(seen: Callable[..., Health]) -> None:
    health = seen(
        files={
            "/proc/cmdline": "BOOT_IMAGE=/vmlinuz modprobe.blacklist=nouveau,amdgpu quiet",
            "/etc/modprobe.d/a.conf": "# blacklist amdgpu\n\n blacklist amdgpu\nblacklist amdgpu_extra",
            "/etc/modprobe.d/b.txt": "blacklist amdgpu",
            "/usr/lib/modprobe.d/a.conf": "blacklist amdgpu",
            "/usr/lib/modprobe.d/c.conf": "install amdgpu /bin/false",
        }
    )
    assert health.blacklists == (
        "/proc/cmdline: modprobe.blacklist=nouveau,amdgpu",
        "/etc/modprobe.d/a.conf:3",
        "/usr/lib/modprobe.d/c.conf:1",
    )


@pytest.mark.parametrize(("last", "told"), [("\x01", True), ("\x00", False)])
def test_secure_boot_is_the_fifth_byte(built: Build, last: str, told: bool) -> None:
    place = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    host = built("rx7900xtx")
    path = host / "root" / place.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x06\x00\x00\x00" + last.encode())
    assert examine(str(host))[1].secure_boot is told


def test_a_capture_without_efi_does_not_tell(seen: Callable[..., Health]) -> None:
    assert seen().secure_boot is None


def test_dkms_is_told_by_its_trees(seen: Callable[..., Health]) -> None:
    health = seen(
        folders=["/var/lib/dkms/amdgpu/6.8.5/source", f"/var/lib/dkms/amdgpu/6.16.13/{KERNEL}/x86_64/module"],
        files={f"/var/lib/dkms/amdgpu/6.12.12/{KERNEL}/x86_64/module/amdgpu.ko.zst": ""},
        links={f"/var/lib/dkms/amdgpu/kernel-{KERNEL}-x86_64": f"6.16.13/{KERNEL}/x86_64"},
    )
    assert health.dkms == (
        DkmsTree("6.12.12", {KERNEL: "built"}),
        DkmsTree("6.16.13", {KERNEL: "installed"}),
        DkmsTree("6.8.5", {}),
    )


def test_dkms_is_told_by_its_own_words() -> None:
    text = f"amdgpu/6.10.5-2084815.24.04, {KERNEL}, x86_64: installed\namdgpu, 4.3-59: added\nzfs/2.1, x, y: built"
    assert dkms_status(text) == (
        DkmsTree("6.10.5-2084815.24.04", {KERNEL: "installed"}),
        DkmsTree("4.3-59", {}),
    )


def test_the_kernel_log_is_what_speaks_of_gpus(seen: Callable[..., Health]) -> None:
    text = "[1.0] usb 1-1: new device\n[2.0] amdgpu 0000:03:00.0: enabling\n[3.0] KFD: skipped\n[4.0] Key was rejected"
    assert seen(files={"/captures/dmesg.txt": text}).kernel_log == (
        "[2.0] amdgpu 0000:03:00.0: enabling",
        "[3.0] KFD: skipped",
        "[4.0] Key was rejected",
    )


def test_a_capture_without_a_kernel_log_says_so(seen: Callable[..., Health]) -> None:
    health = seen()
    assert health.kernel_log is None
    assert "no kernel log" in health.missing["kernel_log"]


def test_records_of_kmsg_lose_their_heads() -> None:
    data = b"6,1,100,-;amdgpu: one\n SUBSYSTEM=pci\n DEVICE=amdgpu\n4,2,200,-;other\n"
    assert log._kept(data, log._RECORD_TEXT) == ("amdgpu: one",)


def test_a_process_in_the_driver_is_stuck_and_another_is_not(seen: Callable[..., Health]) -> None:
    health = seen(
        files={
            "/proc/4242/stat": "4242 (roc) info) D 1 2",
            "/proc/4242/wchan": "amdgpu_vm_wait_idle",
            "/proc/7/stat": "7 (dd) D 1 2",
            "/proc/7/wchan": "io_schedule",
            "/proc/8/stat": "8 (python) S 1 2",
            "/proc/8/wchan": "amdgpu_vm_wait_idle",
        }
    )
    assert health.stuck == (Stuck(4242, "roc) info", "amdgpu_vm_wait_idle"),)


def test_what_concerns_the_caller_in_files_of_names(seen: Callable[..., Health]) -> None:
    health = seen(
        run_as={"uid": 1000, "gid": 1000, "groups": [1000], "name": "u"},
        files={
            "/etc/group": "root:x:0:\nrender:x:109:other,u\nvideo:x:44:v\nwheel:x:10:u",
            "/etc/subgid": "v:1:2\nu:100000:65536\n1000:109:1\nu:junk:1",
            "/etc/subuid": "",
        },
    )
    assert {(group.name, group.gid, group.member) for group in health.groups} == {
        ("render", 109, True),
        ("video", 44, False),
    }
    assert health.subgid == (SubIds(100000, 65536), SubIds(109, 1))
    assert health.subuid == ()


def test_settings_of_the_kernel(seen: Callable[..., Health]) -> None:
    health = seen(
        files={
            "/proc/sys/kernel/numa_balancing": "2",
            "/sys/module/amdttm/parameters/pages_limit": "4063000",
            "/sys/fs/selinux/booleans/container_use_dri_devices": "1 1",
            "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
            "/sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN",
            "/sys/class/kfd/kfd/dev": "511:0",
            "/proc/self/status": "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1",
        },
        folders=["/sys/class/iommu/ivhd0", "/sys/class/iommu/ivhd1"],
    )
    assert (health.numa_balancing, health.iommus, health.seccomp) == (2, 2, 2)
    assert (health.page_limits, health.infiniband) == ({"amdttm": 4063000}, ("mlx5_0/1",))
    assert (health.selinux_dri, health.kfd_number) == (True, (511, 0))


def test_opens_of_a_capture_are_its_faults(seen: Callable[..., Health]) -> None:
    health = seen(kfd={"fault": "EINVAL"}, run_as={"uid": 0, "gid": 0, "groups": [0]})
    assert health.opens == (Opening("/dev/kfd", "EINVAL"), Opening("/dev/dri/renderD128", None))


@pytest.mark.parametrize("name", ["amd.json", "amd.yaml"])
def test_a_cdi_specification(seen: Callable[..., Health], name: str) -> None:
    both = (CdiNode("/dev/kfd"), CdiNode("/dev/dri/renderD128", 226, 128))
    (spec,) = seen(files={f"/etc/cdi/{name}": json.dumps(SPEC), "/etc/cdi/nvidia.json": "{}"}).cdi
    assert (spec.file, spec.kind, spec.devices) == (f"/etc/cdi/{name}", "amd.com/gpu", {"0": both, "all": both})


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"devices": [1]}', '{"devices": [{"name": 0, "containerEdits": {"deviceNodes": [{}]}}]}']
)
def test_a_broken_cdi_specification_is_told(text: str) -> None:
    assert cdi.parse("/etc/cdi/a.json", text.encode()).problem is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: amd.com/gpu\na: &a [x]\nb: &b [*a, *a, *a]\ndevices: [*b, *b]\n", "alias"),
        ('kind: amd.com/gpu\nx: !!int ""\n', "no CDI"),
        ("kind: amd.com/gpu\nx: !!bool xx\n", "no CDI"),
        ("kind: amd.com/gpu\nx: !!timestamp xx\n", "no CDI"),
        ("kind: amd.com/gpu\nx: !!python/object/apply:os.system [id]\n", "no CDI"),
    ],
)
def test_a_cdi_specification_of_tricks_is_told(text: str, words: str) -> None:
    assert words in str(cdi.parse("/etc/cdi/a.yaml", text.encode()).problem)


def test_what_a_cdi_device_brings_beside_nodes() -> None:
    common = {"deviceNodes": [{"path": "/dev/kfd"}], "env": ["A=b"], "mounts": [], "additionalGids": [1]}
    hooked = {"name": "0", "containerEdits": {"hooks": [{"hookName": "prestart", "path": "/bin/true"}]}}
    told = {"cdiVersion": "0.7.0", "kind": "amd.com/gpu", "devices": [hooked, {"name": "1"}], "containerEdits": common}
    spec = cdi.parse("/etc/cdi/a.json", json.dumps(told).encode())
    assert (spec.version, spec.more) == ("0.7.0", {"0": ("env", "hooks"), "1": ("env",)})


def test_odd_numbers_of_a_cdi_specification_are_none() -> None:
    node = "{path: /dev/kfd, major: 2001-01-01, minor: yes}"
    text = f"kind: amd.com/gpu\ndevices: [{{name: 1, containerEdits: {{deviceNodes: [{node}]}}}}]\n"
    assert cdi.parse("/etc/cdi/a.yaml", text.encode()).devices == {"1": (CdiNode("/dev/kfd", None, None),)}


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"/var/lib/dpkg/status": "Package: a\nVersion: 1\n\nPackage: linux-firmware\nStatus: ok\nVersion: 20240318"},
         "20240318"),
        ({"/var/lib/pacman/local/linux-firmware-amdgpu-20251125-2/desc": ""}, "20251125"),
        ({}, None),
    ],
)  # fmt: skip
def test_the_firmware_package_s_version(built: Build, files: dict[str, str], version: str | None) -> None:
    from rocenv.host import open_source
    from rocenv.host.source import Root

    assert modules.firmware(Root(open_source(str(built("strix-halo", files=files))))) == version


def test_hostile_files_cost_no_more_than_their_own_facts(seen: Callable[..., Health]) -> None:
    health = seen(
        files={
            "/captures/dmesg": "\x1b[31mamdgpu\x1b[0m " + "x" * 100_000 + "\n" + "amdgpu line\n" * 5000,
            "/etc/cdi/a.json": '{"kind": "amd.com/gpu", ' + "[" * 5000,
            "/proc/9/stat": "no such shape",
            "/etc/subgid": ":::::\n" * 1000,
        }
    )
    assert health.kernel_log is not None
    assert len(health.kernel_log) <= 2000
    assert max(map(len, health.kernel_log)) <= 400
    assert health.cdi[0].problem is not None


def test_this_machine_can_be_examined() -> None:
    host, health = examine()
    assert host.live
    assert health.system == os.uname().sysname
    assert health.cmdline is not None


@pytest.mark.parametrize("word", ["module_blacklist=amdgpu", "rd.driver.blacklist=amdgpu,nouveau"])
def test_each_word_that_keeps_a_module_out(seen: Callable[..., Health], word: str) -> None:
    assert seen(files={"/proc/cmdline": f"ro {word}"}).blacklists == (f"/proc/cmdline: {word}",)
