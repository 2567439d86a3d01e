"""What kind of place a host is: the first that holds of WSL 2, container, virtual machine, bare metal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocenv.host import read_host
from rocenv.host.environment import allocation

Build = Callable[..., Path]
VM = {"/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor"}


@pytest.mark.parametrize(
    ("files", "kind", "named"),
    [
        ({}, "bare-metal", None),
        (VM, "vm", None),
        ({**VM, "/sys/class/dmi/id/product_name": "KVM Virtual Machine"}, "vm", "kvm"),
        ({**VM, "/sys/class/dmi/id/sys_vendor": "DigitalOcean"}, "vm", "kvm"),
        ({"/sys/class/dmi/id/sys_vendor": "QEMU"}, "vm", "qemu"),  # no flag on Arm
        ({"/sys/class/dmi/id/sys_vendor": "Supermicro"}, "bare-metal", None),
        (
            {"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/class/dmi/id/product_name": "g4ad.xlarge"},
            "vm",
            "amazon",
        ),
        (
            {"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/class/dmi/id/product_name": "c5.metal"},
            "bare-metal",
            None,
        ),
        ({**VM, "/.dockerenv": ""}, "container", "docker"),
        ({"/run/.containerenv": ""}, "container", "podman"),
        ({"/run/systemd/container": "systemd-nspawn"}, "container", "systemd-nspawn"),
        ({"/proc/1/environ": "HOME=/\0container=lxc\0"}, "container", "lxc"),
        ({"/proc/1/environ": "HOME=/\0mycontainer=lxc\0"}, "bare-metal", None),
        ({"/proc/1/cgroup": "0::/kubepods.slice/pod1/cri-containerd-1"}, "container", "kubernetes"),
        ({"/proc/1/cgroup": "12:pids:/docker/0123\n1:name=systemd:/docker/0123"}, "container", "docker"),
        ({"/proc/1/cgroup": "0::/init.scope"}, "bare-metal", None),
    ],
)
def test_kind_of_place(built: Build, files: dict[str, str], kind: str, named: str | None) -> None:
    host = read_host(str(built("rx7900xtx", files=files)))
    assert (host.environment, host.virtualization) == (kind, named)


def test_wsl_comes_before_its_container(built: Build) -> None:
    assert read_host(str(built("wsl2", files={"/.dockerenv": ""}))).environment == "wsl2"
    assert read_host(str(built("no-gpu", kernel="4.4.0-19041-Microsoft"))).environment == "wsl2"
    assert read_host(str(built("wsl2", kernel="6.6.0-of-my-own"))).environment == "wsl2", "by /dev/dxg alone"


@pytest.mark.parametrize(
    ("map_of_ids", "inside"),
    [("         0          0 4294967295", False), ("0 1000 1\n1 100000 65536", True), ("", None)],
)
def test_user_namespace(built: Build, map_of_ids: str, inside: bool | None) -> None:
    assert read_host(str(built("no-gpu", files={"/proc/self/uid_map": map_of_ids}))).user_namespace is inside


def test_cgroup_version_1(built: Build) -> None:
    assert read_host(str(built("no-gpu", folders=["/sys/fs/cgroup/memory"]))).cgroup_version == 1


def test_os_release_as_the_shell_reads_it(built: Build) -> None:
    told = {"ID": "'x'", "VERSION_ID": "7", "PRETTY_NAME": '"A \\"quoted\\" \\$5 name"'}
    release = read_host(str(built("no-gpu", os=told))).os
    assert (release.id, release.version_id, release.pretty_name) == ("x", "7", 'A "quoted" $5 name')


def test_os_release_of_usr_lib(built: Build) -> None:
    folder = built("no-gpu", files={"/usr/lib/os-release": "ID=vendor"}, remove=["/etc/os-release"])
    assert read_host(str(folder)).os.id == "vendor"


@pytest.mark.parametrize(
    ("variables", "by", "job"),
    [
        ({"SLURM_JOB_ID": "7", "CI": "1"}, "slurm", "7"),
        ({"PBS_JOBID": "12.server.example"}, "pbs", "12"),
        ({"CI": "true", "GITLAB_CI": "true"}, "gitlab", None),
        ({"CI": "true"}, "ci", None),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes", None),
    ],
)
def test_who_gave_an_allocation(variables: dict[str, str], by: str, job: str | None) -> None:
    found = allocation(variables)
    assert found is not None
    assert (found.by, found.job, found.visible) == (by, job, ())


def test_an_inherited_list_alone_is_worth_telling() -> None:
    found = allocation({"HIP_VISIBLE_DEVICES": ""})
    assert found is not None
    assert (found.by, found.visible) == (None, (("HIP_VISIBLE_DEVICES", ""),))
    assert allocation({}) is None
