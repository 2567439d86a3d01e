"""The amdgpu kernel driver: loaded or not, AMD's (DKMS) or the kernel's own, and which release of AMD's."""

from __future__ import annotations

from rocenv.host.source import LARGE, Root
from rocenv.model.host import Driver

MODULE = "/sys/module/amdgpu"
_DKMS = "/var/lib/dkms/amdgpu"
_DPKG = "/var/lib/dpkg/status"


def read_driver(root: Root) -> Driver:
    """The driver as it is loaded. A module with a version is AMD's: the kernel's own prints none."""
    if not root.files.is_dir(MODULE):
        return Driver(loaded=False, version=None, origin=None)
    version = root.text(f"{MODULE}/version")
    if version is None:
        return Driver(loaded=True, version=None, origin="in-tree")
    return Driver(loaded=True, version=version, origin="dkms", release=_release(root, version))


def _release(root: Root, version: str) -> str | None:
    """AMD's driver release: exactly by the package's version or build, else the series that shares the module version.

    A package of another module version is not the one that runs (a reboot is due), so it says nothing.
    """
    from rocenv.catalog import drivers

    told = [_package_version(root.data(_DPKG, LARGE, quiet=True) or b"")]
    if root.files.is_dir(_DKMS):
        told += sorted(root.names(_DKMS))
    ours = [text for text in told if text.startswith((f"{version}.", f"{version}-"))]
    return next((release for text in ours if (release := drivers.release_of(text))), None) or drivers.series_of(version)


def _package_version(status: bytes) -> str:
    """The version of amdgpu-dkms in dpkg's list, without its epoch; empty where it is not in there."""
    start = (b"\n" + status).find(b"\nPackage: amdgpu-dkms\n")
    if start < 0:
        return ""
    entry = status[start:].split(b"\n\n", 1)[0].decode(errors="replace")
    version = next((line for line in entry.splitlines() if line.startswith("Version: ")), "")
    return version.removeprefix("Version: ").rpartition(":")[2].strip()
