"""What a capture leaves out of the files that were read, and what it puts in place of ids.

Files whose other lines tell of people or of the machine's use keep the lines that were looked for; all else that is
read (sysfs, version files) is kept as it is. Serial numbers, MAC addresses and host names are in no file that is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rocenv.model.host import Host

_HOME = re.compile(r"^((?:\.\./)*/?home/)[^/]+")
_IDS = re.compile(rb"^(unique_id|hive_id) ([1-9]\d{0,19})$", re.MULTILINE)
_UUID = re.compile(r"GPU-[0-9a-fA-F]{16}")
# Variables of which it only matters that they are set: their values name servers.
_FLAGS = ("KUBERNETES_SERVICE_HOST", "JENKINS_URL", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CI")


@dataclass(frozen=True, slots=True)
class Kept:
    """The lines that are kept of files that hold more than was looked for."""

    groups: Mapping[int, str]  # the groups that own device nodes, render and video: no person's
    devices: frozenset[str]  # PCI ids of display devices

    @classmethod
    def of(cls, host: Host) -> Kept:
        """What this host's answer is made of."""
        groups = {device.gid: device.group for device in host.devices if device.group}
        named = {"render": host.group_render, "video": host.group_video}
        groups.update({number: name for name, number in named.items() if number is not None})
        ids = {gpu.pci_id for gpu in host.gpus}
        ids |= {device.pci_id for device in (*host.unusable, *host.other_displays)}
        return cls(groups, frozenset(ids))

    def part(self, path: str, data: bytes) -> bytes:
        """The part of a file that is kept."""
        trim = _TRIMS.get(path) or (_TRIMS["amdgpu.ids"] if path.endswith("/amdgpu.ids") else None)
        trim = trim or (_TRIMS["pci.ids"] if path.endswith("/pci.ids") else None)
        trim = trim or (_modprobe if "/modprobe.d/" in path else None)
        trim = trim or (_seccomp if path.startswith("/proc/") and path.endswith("/status") else None)
        return data if trim is None else trim(self, data)


def _groups(kept: Kept, data: bytes) -> bytes:
    """The lines of the groups that matter, without their members."""
    wanted = {(str(number).encode(), name.encode()) for number, name in kept.groups.items()}
    lines = [[*line.split(b":"), b"", b""][:3] for line in data.splitlines()]
    return _joined(b":".join((name, secret, number, b"")) for name, secret, number in lines if (number, name) in wanted)


def _libdrm_names(kept: Kept, data: bytes) -> bytes:
    """The lines of this host's devices."""
    wanted = {pci_id.partition(":")[2] for pci_id in kept.devices}
    return _joined(
        line for line in data.splitlines() if line.split(b",")[0].strip().lower().decode(errors="replace") in wanted
    )


def _pci_names(kept: Kept, data: bytes) -> bytes:
    """The blocks of this host's vendors, with its devices alone."""
    found, vendor = [], ""
    for line in data.decode(errors="replace").splitlines():
        if re.match(r"[0-9a-f]{4}  ", line):
            vendor = line[:4]
            if any(pci_id.startswith(vendor) for pci_id in kept.devices):
                found.append(line)
        elif re.match(r"\t[0-9a-f]{4}  ", line) and f"{vendor}:{line[1:5]}" in kept.devices:
            found.append(line)
    return b"\n" + _joined(line.encode() for line in found)


def _lines(pattern: bytes) -> Callable[[Kept, bytes], bytes]:
    """A trim that keeps whatever matches a pattern, a line each."""
    wanted = re.compile(pattern, re.MULTILINE)
    return lambda _, data: _joined(match.group(0) for match in wanted.finditer(data))


def _joined(lines: Iterable[bytes]) -> bytes:
    """Lines with their ends."""
    return b"".join(line + b"\n" for line in lines)


def _init_environment(_: Kept, data: bytes) -> bytes:
    """The one variable of process 1 that names a container engine; the others may be secrets."""
    return b"\0".join(word for word in data.split(b"\0") if word.startswith(b"container="))


def _modprobe(_: Kept, data: bytes) -> bytes:
    """The lines about amdgpu and its memory managers, where they stand; the others left empty."""
    about = re.compile(rb"\s*(?:blacklist|install|options)\s+(?:amdgpu|ttm|amdttm)\b")
    return b"\n".join(line if about.match(line) else b"" for line in data.splitlines())


def _command_line(_: Kept, data: bytes) -> bytes:
    """The words of the kernel's command line that matter to GPUs; others name disks, addresses and people."""
    return b" ".join(word for word in data.split() if _KERNEL_WORDS.match(word))


def _no_names(_: Kept, data: bytes) -> bytes:
    """/etc/subuid and /etc/subgid without names: whose ranges they are is not told."""
    return _joined(b":".join((b"user", *line.split(b":")[1:])) for line in data.splitlines() if line)


def of_a_process(path: str, own: int) -> bool:
    """True for files of other processes than the first and one's own, and for what any of them is called."""
    match = re.match(r"/proc/(\d+)/(\w+)", path)
    return match is not None and (int(match.group(1)) not in (1, own) or match.group(2) == "stat")


_seccomp = _lines(rb"^Seccomp:.*$")
_KERNEL_WORDS = re.compile(
    rb"(?:modprobe\.blacklist|module_blacklist|nomodeset|amdgpu\.|amdttm\.|ttm\.|iommu|amd_iommu|intel_iommu|pci=)"
)
_TRIMS: dict[str, Callable[[Kept, bytes], bytes]] = {
    "/etc/group": _groups,
    "/etc/os-release": _lines(rb"^(ID|VERSION_ID|PRETTY_NAME)=.*$"),
    "/usr/lib/os-release": _lines(rb"^(ID|VERSION_ID|PRETTY_NAME)=.*$"),
    "/proc/1/environ": _init_environment,
    "/proc/1/cgroup": _lines(rb"kubepods|docker|libpod|containerd|lxc"),
    "/proc/cpuinfo": _lines(rb"^flags\s*:.*\bhypervisor\b"),
    "/proc/meminfo": _lines(rb"^MemTotal:.*$"),
    "/proc/cmdline": _command_line,
    "/etc/subuid": _no_names,
    "/etc/subgid": _no_names,
    "/var/lib/dpkg/status": _lines(rb"^Package: (?:amdgpu-dkms|linux-firmware)\n(?:[^\n]+\n)*?Version: .*$"),
    "amdgpu.ids": _libdrm_names,
    "pci.ids": _pci_names,
}


class Disguise:
    """Replaces names of people in paths, and under `anonymous` ids of GPUs: the same one by the same one."""

    def __init__(self, *, anonymous: bool) -> None:
        self._anonymous = anonymous
        self._ids: dict[int, int] = {}

    def path(self, path: str) -> str:
        """A path without the name of whose home it leads through."""
        return _HOME.sub(r"\1user", path)

    def content(self, data: bytes) -> bytes:
        """A file's content with its ids replaced."""
        if not self._anonymous:
            return data
        return _IDS.sub(lambda match: b"%s %d" % (match.group(1), self._id(int(match.group(2)))), data)

    def variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Inherited variables: of some it is only told that they are set."""
        return {
            name: "1" if name in _FLAGS else _UUID.sub(self._uuid, value) if self._anonymous else value
            for name, value in variables.items()
        }

    def _id(self, number: int) -> int:
        """What stands for an id: 1 for the first that is seen."""
        return self._ids.setdefault(number, len(self._ids) + 1)

    def _uuid(self, match: re.Match[str]) -> str:
        """The same for a UUID as ROCr writes it."""
        return f"GPU-{self._id(int(match.group(0)[4:], 16)):016x}"
