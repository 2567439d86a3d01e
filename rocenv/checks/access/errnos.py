"""What each errno of opening a device node means, and what mends it; on a host and inside a container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rocenv.checks.catalogue import fail
from rocenv.checks.words import inside, listed, log_lines
from rocenv.model.check import Finding
from rocenv.model.health import Health
from rocenv.model.host import DeviceNode, Host
from rocenv.rules.nodes import owned

_RELOAD = "`sudo modprobe -r amdgpu && sudo modprobe amdgpu`, or a reboot"
_LOG = "`sudo dmesg | grep -iE 'kfd|amdgpu'` says why"


class _Meaning(NamedTuple):
    """`fix` may hold {device}: the flag that passes the nodes to a container."""

    cause: str
    fix: str
    needs: str | None = None


_ON_HOST = {
    "EACCES": _Meaning(
        "its mode and groups allow it, and a security module (SELinux, AppArmor) refuses",
        "`sudo dmesg | grep -iE 'avc|apparmor'` names the rule",
    ),
    "EPERM": _Meaning(
        "mode and groups are not what refuses: a device cgroup does, or a driver that is half installed",
        "`sudo apt-get install --reinstall amdgpu-dkms`; in a scheduler's job ask it for the GPU",
        "reboot",
    ),
    "ENOENT": _Meaning("it is gone since it was listed", _RELOAD),
    "ENXIO": _Meaning("no driver is behind the node: amdgpu went, or took the GPU not", _RELOAD),
    "ENODEV": _Meaning("no driver is behind the node: amdgpu went, or took the GPU not", _RELOAD),
    "ENOMEM": _Meaning(
        "KFD brought no GPU up: the hardware is one that it does not support, or its memory could not be had",
        "`--cpu` runs without a GPU; `sudo dmesg | grep -i 'not supported in kfd'` names the GPU",
    ),
    "EINVAL": _Meaning(
        "the driver refused (EINVAL), not the permissions: its state, or a user space too far from it in age",
        _LOG,
    ),
    "EBUSY": _Meaning(
        "another process holds it alone (a profiler, a debugger, a virtual machine)", "`sudo fuser -v /dev/kfd`"
    ),
    "TIMEOUT": _Meaning("opening it does not return: the driver hangs", "`sudo reboot`", "reboot"),
}
_INSIDE = {
    "EPERM": _Meaning(
        "the device cgroup refuses: the node is here by `-v` or in the image, and was not passed as a device",
        "start the container with `{device}`",
        "container",
    ),
    "ENXIO": _Meaning(
        "the node's numbers are those of another boot: the driver has others now",
        "make the container anew with `{device}`",
        "container",
    ),
    "EACCES": _Meaning(
        "mode and groups allow it, and SELinux or AppArmor refuses",
        "start the container with `--security-opt=label=disable`, or `sudo setsebool -P container_use_devices on`",
        "container",
    ),
    "ENODEV": _Meaning(
        "the node's numbers are those of another boot: the driver has others now",
        "make the container anew with `{device}`",
        "container",
    ),
}


def answer_to(errno: str, nodes: Sequence[DeviceNode], host: Host, health: Health) -> Finding:
    """The finding for nodes that all answer with one errno."""
    unknown = _Meaning(f"opening it fails with {errno}, which is no matter of permissions", _LOG)
    known = {**_ON_HOST, **_INSIDE} if inside(host) else _ON_HOST
    meaning = known.get(errno, unknown)
    paths = listed(f"{node.path} ({owned(node)})" for node in nodes)
    said = log_lines(health, "not supported in kfd") if errno == "ENOMEM" else []
    return fail(
        f"open({paths}): {errno}" + (f"; {said[0]}" if said else ""),
        meaning.cause,
        meaning.fix.replace("{device}", " ".join(f"--device={node.path}" for node in nodes)),
        needs=meaning.needs,
        verify=f"python3 -c 'import os; os.open(\"{nodes[0].path}\", os.O_RDWR)'",
    )
