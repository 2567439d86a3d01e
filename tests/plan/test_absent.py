"""Hosts that cannot: each cause has its own words and its own mend."""

from __future__ import annotations

import pytest
from plan.made import gpu, host, node, plan, why

from rocenv.errors import HostError
from rocenv.model.host import DisplayDevice, Driver, Host, RocmDefault

NOT_LOADED = Driver(loaded=False, version=None, origin=None)
LOADED = Driver(loaded=True, version=None, origin="in-tree")


def amd(reason: str) -> DisplayDevice:
    return DisplayDevice("0000:03:00.0", "1002:744c", None, "AMD Radeon RX 7900 XTX", None, reason)


@pytest.mark.parametrize(
    ("where", "said", "mend"),
    [
        (host(driver=NOT_LOADED, kfd_sysfs=False), "no AMD GPU", "--cpu"),
        (host(driver=NOT_LOADED, kfd_sysfs=False, unusable=(amd("no-driver"),)), "not loaded", "sudo modprobe amdgpu"),
        (host(driver=LOADED, unusable=(amd("no-driver"),)), "no driver is bound", "dmesg"),
        (host(driver=LOADED, kfd_sysfs=False, unusable=(amd("no-kfd"),)), "no KFD", "CONFIG_HSA_AMD"),
        (host(driver=LOADED, unusable=(amd("refused-by-kfd"),)), "KFD does not support it", "--cpu"),
        (host(driver=LOADED, unusable=(amd("vfio-pci"),)), "vfio-pci", "driverctl unset-override 0000:03:00.0"),
        (host(driver=LOADED, unusable=(amd("masked"),), masked_nodes=(1, 2)), "2 GPU nodes", "scheduler"),
        (host(driver=LOADED, unusable=(amd("other-driver"),)), "another driver", "lspci"),
        (host(driver=NOT_LOADED, environment="wsl2"), "/dev/dxg", "wsl --update"),
    ],
)
def test_each_cause_has_its_words_and_its_mend(where: Host, said: str, mend: str) -> None:
    with pytest.raises(HostError) as caught:
        plan(where)
    assert said in caught.value.message
    assert mend in str(caught.value.hint)


def test_a_gpu_of_a_virtual_machine_is_never_told_to_be_loaded() -> None:
    with pytest.raises(HostError) as caught:
        plan(host(driver=NOT_LOADED, unusable=(amd("vfio-pci"),)))
    assert "modprobe" not in str(caught.value.hint)


def test_kfd_s_missing_or_refusing_node() -> None:
    with pytest.raises(HostError, match="/dev/kfd"):
        plan(host([gpu(0)], devices=[node("/dev/dri/renderD128")]))
    refusing = node("/dev/kfd", accessible=False, refused_by="ENOMEM")
    with pytest.raises(HostError, match="ENOMEM") as caught:
        plan(host([gpu(0)], devices=[refusing, node("/dev/dri/renderD128")]))
    assert "usermod" not in str(caught.value.hint)


WSL = host(driver=NOT_LOADED, kfd_sysfs=False, devices=[node("/dev/dxg", 0, 0o666)], environment="wsl2")._replace(
    rocm_default=RocmDefault("/opt/rocm", "/opt/rocm-7.2.1", "7.2.1"),
)


def test_wsl2_gives_dxg_and_its_libraries_and_no_kfd() -> None:
    made = plan(WSL)
    assert made.devices == ("/dev/dxg",)
    found = {(one.source, one.target, one.read_only) for one in made.mounts}
    assert ("/usr/lib/wsl/lib/libdxcore.so", "/usr/lib/libdxcore.so", True) in found
    assert ("/opt/rocm/lib/librocdxg.so", "/usr/lib/librocdxg.so", True) in found
    assert "HSA_ENABLE_DXG_DETECTION" not in made.env  # on by default from ROCm 7.13 on
    assert "unknown" in why(made, "image")


def test_wsl2_mounts_the_libraries_by_the_names_that_they_have() -> None:
    dxcore, bridge = "/usr/lib/wsl/lib/libdxcore.so", "/opt/rocm/lib/librocdxg.so.1"
    made = plan(WSL._replace(wsl_libraries=(dxcore, bridge)))
    sources = {mount.source: mount.target for mount in made.mounts if mount.read_only}
    assert sources == {dxcore: "/usr/lib/libdxcore.so", bridge: "/usr/lib/librocdxg.so.1"}


def test_wsl2_with_an_older_rocm_is_told_of() -> None:
    made = plan(WSL._replace(wsl_libraries=("/usr/lib/wsl/lib/libdxcore.so", "/opt/rocm/lib/libhsa-runtime64.so.1")))
    assert [mount.source for mount in made.mounts if mount.read_only] == ["/usr/lib/wsl/lib/libdxcore.so"]
    assert [one for one in made.warnings if "librocdxg.so" in one]


def test_older_images_on_wsl2_need_a_variable() -> None:
    from rocenv.model.wish import ImageWish

    assert plan(WSL, image=ImageWish("rocm/pytorch", rocm="7.2")).env["HSA_ENABLE_DXG_DETECTION"] == "1"


@pytest.mark.parametrize(("where", "words"), [(WSL, "0"), (WSL._replace(rocm_default=None), "auto")])
def test_wsl2_that_is_not_ready_or_cannot_choose(where: Host, words: str) -> None:
    with pytest.raises(HostError, match="WSL2"):
        plan(where, gpus=words)
