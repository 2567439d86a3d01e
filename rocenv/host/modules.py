"""What keeps the amdgpu module from loading, and which one is loaded: DKMS, blacklists, Secure Boot, versions."""

from __future__ import annotations

import re

from rocenv.host.source import LARGE, Root
from rocenv.model.health import DkmsTree

DKMS = "/var/lib/dkms/amdgpu"
_MODPROBE = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_EFI_BYTES = 5  # four of attributes, then the value
_KEPT_OUT = re.compile(r"\s*(?:blacklist\s+amdgpu\s*$|install\s+amdgpu\s+(?:/\S*/)?(?:false|true)\b)")


def blacklists(root: Root, cmdline: str | None) -> tuple[str, ...]:
    """Each place that keeps amdgpu from loading by itself, as `FILE:LINE` or the word of the command line."""
    words = [word for word in (cmdline or "").split() if _names_amdgpu(word)]
    found = [f"/proc/cmdline: {word}" for word in words]
    seen: set[str] = set()
    for folder in _MODPROBE:
        for name in sorted(root.names(folder)):
            if name.endswith(".conf") and name not in seen:  # a file of the same name further up takes its place
                seen.add(name)
                text = root.text(f"{folder}/{name}", quiet=True) or ""
                lines = enumerate(text.splitlines(), 1)
                found += [f"{folder}/{name}:{number}" for number, line in lines if _KEPT_OUT.match(line)]
    return tuple(found)


def _names_amdgpu(word: str) -> bool:
    key, _, value = word.partition("=")
    return key in ("modprobe.blacklist", "module_blacklist", "rd.driver.blacklist") and "amdgpu" in value.split(",")


def secure_boot(root: Root) -> bool | None:
    """Whether the firmware lets signed modules in alone; None where it does not tell."""
    data = root.data(_SECURE_BOOT, quiet=True)
    if data is not None and len(data) >= _EFI_BYTES:
        return data[_EFI_BYTES - 1] == 1
    live_without_efi = root.source.name is None and not root.files.is_dir("/sys/firmware/efi")
    return False if live_without_efi else None


def dkms(root: Root) -> tuple[DkmsTree, ...]:
    """The versions of amdgpu in DKMS: a link of the kernel's name stands for installed, a module file for built."""
    if not root.files.is_dir(DKMS):
        return ()
    names = sorted(root.names(DKMS))
    links = [(root.files.target(f"{DKMS}/{name}") or "").rstrip("/") for name in names if name.startswith("kernel-")]
    installed = {tuple(link.split("/")[-3:-1]) for link in links}
    return tuple(_tree(root, name, installed) for name in names if name[:1].isdigit())


def _tree(root: Root, version: str, installed: set[tuple[str, ...]]) -> DkmsTree:
    kernels: dict[str, str] = {}
    for kernel in sorted(root.names(f"{DKMS}/{version}")):
        if not kernel[:1].isdigit():
            continue
        if (version, kernel) in installed:
            kernels[kernel] = "installed"
        elif any(
            name.startswith("amdgpu.ko")
            for machine in root.names(f"{DKMS}/{version}/{kernel}")
            for name in root.names(f"{DKMS}/{version}/{kernel}/{machine}/module")
        ):
            kernels[kernel] = "built"
    return DkmsTree(version, kernels)


def dkms_status(text: str) -> tuple[DkmsTree, ...]:
    """The same from what `dkms status` prints: `amdgpu/VERSION, KERNEL, MACHINE: installed`, or `…: added`."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        match = re.match(r"amdgpu(?:/|, )([^,:\s]+)(?:, ([^,:\s]+), [^,:\s]+)?: (\w+)", line.strip())
        if match:
            kernels = found.setdefault(match.group(1), {})
            if match.group(2):
                kernels[match.group(2)] = match.group(3)
    return tuple(DkmsTree(version, kernels) for version, kernels in found.items())


def installed_srcversion() -> str | None:
    """The srcversion of the module that is installed for this kernel, by modinfo."""
    return _asked(["modinfo", "-F", "srcversion", "amdgpu"])


def firmware(root: Root) -> str | None:
    """The version of the package linux-firmware: by dpkg's list, by pacman's folders, or, live, by rpm."""
    status = b"\n" + (root.data("/var/lib/dpkg/status", LARGE, quiet=True) or b"")
    start = status.find(b"\nPackage: linux-firmware\n")
    if start >= 0:
        entry = status[start:].split(b"\n\n", 1)[0].decode(errors="replace")
        return next((line[9:].strip() for line in entry.splitlines() if line.startswith("Version: ")), None)
    for name in sorted(root.names("/var/lib/pacman/local")):
        match = re.match(r"linux-firmware(?:-amdgpu)?-(\d[^-]*)-", name)
        if match:
            return match.group(1)
    if root.source.name is None and root.files.is_dir("/var/lib/rpm"):
        return _asked(["rpm", "-q", "--queryformat", "%{VERSION}", "linux-firmware"])
    return None


def _asked(argv: list[str]) -> str | None:
    from rocenv import process

    try:
        done = process.run(argv, seconds=5)
    except (process.ProgramMissingError, process.GivenUpError):
        return None
    return done.stdout.strip() or None if done.status == 0 else None
