"""More of a host, for the doctor alone: what costs more to read, and opening device nodes for real."""

from __future__ import annotations

import os
import re
import stat

from rocenv.host import cdi, log, modules
from rocenv.host.source import LARGE, Root, parse_number
from rocenv.model.health import CacheFolder, Group, Health, Opening, Stuck, SubIds
from rocenv.model.host import Host

KFD = "/dev/kfd"
_IN_DRIVER = ("amdgpu", "kfd", "kgd", "drm_sched", "ttm_", "dma_fence")
_AGAIN = 0.5  # seconds between two looks at a process that sleeps in the driver
_OWN_GROUPS = ("render", "video", "docker")
_CACHES = ("~/.cache/miopen", "~/.config/miopen", "~/.triton", "~/.cache/comgr")
_CACHE_VARIABLES = ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR", "TRITON_CACHE_DIR")
_WSL_LIBRARIES = ("libdxcore.so", "librocdxg.so", "libhsa-runtime64.so")


def read_health(root: Root, host: Host) -> Health:
    """All of it. Never raises for what files hold; what cannot be read is None, with the reason where one is known."""
    live = root.source.name is None
    cmdline = root.text("/proc/cmdline", quiet=True)
    user = root.source.caller_name()
    lines, unread = log.read_log(root) if host.gpus or host.unusable else (None, "there is no GPU for it to speak of")
    wsl = host.environment == "wsl2"
    return Health(
        system=os.uname().sysname if live else "Linux",
        user=user,
        opens=_opens(host, live=live),
        cmdline=cmdline,
        blacklists=modules.blacklists(root, cmdline),
        secure_boot=modules.secure_boot(root),
        dkms=modules.dkms(root),
        kernel_log=lines,
        numa_balancing=root.number("/proc/sys/kernel/numa_balancing"),
        iommus=_count(root, "/sys/class/iommu", live=live),
        iommu_types=_iommu_types(root, host),
        memlock=_memlock() if live else None,
        stuck=stuck(root),
        groups=_groups(root, host, user),
        subuid=_ranges(root, "/etc/subuid", user, host.caller.uid),
        subgid=_ranges(root, "/etc/subgid", user, host.caller.uid),
        page_limits=_page_limits(root),
        module_loaded=root.text("/sys/module/amdgpu/srcversion", quiet=True),
        module_installed=modules.installed_srcversion() if live and host.driver.origin == "dkms" else None,
        cdi=cdi.read_specs(root),
        kfd_number=_numbers(root.text("/sys/class/kfd/kfd/dev", quiet=True)),
        infiniband=_ports(root),
        selinux_dri=_boolean(root.text("/sys/fs/selinux/booleans/container_use_dri_devices", quiet=True)),
        firmware=_firmware(root, host),
        windows_gpu=_windows_gpu(root, live=live) if wsl else None,
        dxg_ids=_dxg_ids(root) if wsl else None,
        libraries=_wsl_libraries(root) if wsl else (),
        caches=_caches() if live else (),
        shm_bytes=_shm() if live else None,
        seccomp=_seccomp(root),
        missing={"kernel_log": unread} if unread else {},
        impostor=_impostor(root, live=live),
    )


def _impostor(root: Root, *, live: bool) -> str | None:
    """What is at the node's place and no device. It is not opened: that would wake a GPU."""
    if not live:
        return "folder" if root.files.is_dir(KFD) else None
    try:
        mode = os.stat(KFD).st_mode
    except OSError:
        return None
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else None


def _opens(host: Host, *, live: bool) -> tuple[Opening, ...]:
    """The nodes opened for real; in a capture what its faults and its permissions answer."""
    wanted = [KFD, *(gpu.render_node for gpu in host.gpus if gpu.render_node)]
    nodes = [node for path in dict.fromkeys(wanted) if (node := host.device(path)) is not None]
    if not live or not nodes:
        return tuple(Opening(node.path, node.refused_by) for node in nodes)
    from rocenv.host.opens import open_nodes

    return open_nodes([node.path for node in nodes])


def _count(root: Root, folder: str, *, live: bool) -> int | None:
    """How many entries a folder has; none at all in a capture says nothing."""
    if root.files.is_dir(folder):
        return len(root.names(folder))
    return 0 if live else None


def _iommu_types(root: Root, host: Host) -> dict[str, str]:
    """The type of each GPU's IOMMU group, where it tells one."""
    files = {gpu.bdf: f"/sys/bus/pci/devices/{gpu.bdf}/iommu_group/type" for gpu in host.gpus}
    told = {bdf: root.text(path, quiet=True) for bdf, path in files.items()}
    return {bdf: kind for bdf, kind in told.items() if kind}


def _memlock() -> int:
    import resource

    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return -1 if soft == resource.RLIM_INFINITY else soft


def _shm() -> int | None:
    try:
        disk = os.statvfs("/dev/shm")  # noqa: S108 (looked at, not written to)
    except OSError:
        return None
    return disk.f_blocks * disk.f_frsize


def _seccomp(root: Root) -> int | None:
    text = root.text("/proc/self/status", quiet=True) or ""
    line = next((line for line in text.splitlines() if line.startswith("Seccomp:")), "")
    return parse_number(line.partition(":")[2].strip())


def stuck(root: Root) -> tuple[Stuck, ...]:
    """Processes that sleep in the driver and are not woken. Live they are looked at twice: a short sleep is normal."""
    found = _sleeping(root)
    if not found or root.source.name is not None:
        return tuple(found)
    import time

    switches = {one.pid: _switches(root, one.pid) for one in found}
    time.sleep(_AGAIN)
    return tuple(one for one in _sleeping(root) if one in found and _switches(root, one.pid) == switches[one.pid])


def _sleeping(root: Root) -> list[Stuck]:
    found = []
    for name in root.names("/proc"):
        if not name.isdecimal():
            continue
        try:
            line = root.files.read(f"/proc/{name}/stat", 512).decode(errors="replace")
        except OSError:
            continue  # it ended meanwhile
        head, _, rest = line.rpartition(")")
        if rest.split()[:1] != ["D"]:
            continue
        where = root.text(f"/proc/{name}/wchan", quiet=True) or ""
        if any(word in where for word in _IN_DRIVER):
            found.append(Stuck(int(name), head.partition("(")[2][:64], where[:64]))
    return found


def _switches(root: Root, pid: int) -> str | None:
    """How often a process has been woken so far."""
    text = root.text(f"/proc/{pid}/status", quiet=True) or ""
    return next((line for line in text.splitlines() if line.startswith("voluntary_ctxt_switches")), None)


def _groups(root: Root, host: Host, user: str | None) -> tuple[Group, ...]:
    """The lines of /etc/group that matter to GPUs: those of their nodes, and those that grant access by custom."""
    wanted = {node.gid for node in host.devices}
    found = []
    for line in (root.data("/etc/group", LARGE) or b"").decode(errors="replace").splitlines():
        name, _, rest = line.partition(":")
        fields = rest.split(":")
        gid = parse_number(fields[1]) if len(fields) > 2 else None  # noqa: PLR2004
        if gid is not None and (gid in wanted or name in _OWN_GROUPS):
            found.append(Group(name, gid, user is not None and user in fields[2].split(",")))
    return tuple(found)


def _ranges(root: Root, file: str, user: str | None, uid: int) -> tuple[SubIds, ...] | None:
    """The caller's ranges; None where the file cannot be read, or the caller's name is unknown."""
    data = root.data(file, LARGE, quiet=True)
    if data is None:
        return () if root.source.name is None and root.resolve(file) is None else None
    found = []
    for line in data.decode(errors="replace").splitlines():
        owner, first, count = (*line.strip().split(":"), "", "", "")[:3]
        if owner in (user, str(uid)) and first.isdecimal() and count.isdecimal():
            found.append(SubIds(int(first), int(count)))
    return tuple(found)


def _page_limits(root: Root) -> dict[str, int]:
    """The limits of the two modules that may manage a GPU's memory: the kernel's and DKMS's."""
    told = {name: root.number(f"/sys/module/{name}/parameters/pages_limit") for name in ("ttm", "amdttm")}
    return {name: pages for name, pages in told.items() if pages is not None}


def _numbers(text: str | None) -> tuple[int, int] | None:
    major, _, minor = (text or "").partition(":")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None


def _ports(root: Root) -> tuple[str, ...]:
    """InfiniBand's and RoCE's ports that are active."""
    base = "/sys/class/infiniband"
    ports = [f"{device}/{port}" for device in root.names(base) for port in root.names(f"{base}/{device}/ports")]
    states = {name: root.text(f"{base}/{name.replace('/', '/ports/')}/state", quiet=True) or "" for name in ports}
    return tuple(sorted(name for name, state in states.items() if "ACTIVE" in state))


def _boolean(text: str | None) -> bool | None:
    return {"1": True, "0": False}.get((text or "")[:1])


def _firmware(root: Root, host: Host) -> str | None:
    """The firmware package's version, only where a hazard of these GPUs asks for it: dpkg's list is large."""
    targets = {gpu.gfx for gpu in host.gpus if gpu.gfx}
    if not targets:
        return None
    from rocenv.catalog import hazards

    return modules.firmware(root) if hazards.of_firmware(targets) else None


def _windows_gpu(root: Root, *, live: bool) -> str | None:
    """The PCI id of Windows' GPU, AMD's first: a capture's own file, or what Windows answers. Not proven on one."""
    if not live:
        return root.text("/captures/windows-gpu", quiet=True)
    from rocenv import process

    question = "(Get-CimInstance Win32_VideoController).PNPDeviceID"
    try:
        done = process.run(["powershell.exe", "-NoProfile", "-Command", question], seconds=10)
    except (process.ProgramMissingError, process.GivenUpError):
        return None
    found = [f"{vendor}:{device}".lower() for vendor, device in re.findall(r"VEN_(\w{4})&DEV_(\w{4})", done.stdout)]
    return next((one for one in found if one.startswith("1002:")), next(iter(found), None))


def _dxg_ids(root: Root) -> tuple[str, ...] | None:
    text = root.text("/opt/rocm/share/rocdxg/dids.conf", quiet=True)
    return None if text is None else tuple(match.lower() for match in re.findall(r"0x([0-9a-fA-F]{4})\b", text))


def _wsl_libraries(root: Root) -> tuple[str, ...]:
    names = [*root.names("/usr/lib/wsl/lib"), *root.names("/opt/rocm/lib")]
    return tuple(sorted(name for name in names if name.startswith(_WSL_LIBRARIES)))


def _caches() -> tuple[CacheFolder, ...]:
    """The caches of ROCm's libraries that are there, by their usual places and by the variables that move them."""
    paths = [os.path.expanduser(path) for path in _CACHES]
    paths += [os.environ[name] for name in _CACHE_VARIABLES if os.environ.get(name)]
    found = []
    for path in dict.fromkeys(paths):
        try:
            owner = os.stat(path).st_uid
        except OSError:
            continue
        found.append(CacheFolder(path, owner, os.access(path, os.W_OK | os.X_OK)))
    return tuple(found)
