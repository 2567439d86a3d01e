"""What kind of place this is: bare metal, VM, container or WSL 2, its security module, cgroups and allocation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocenv.host.source import Root, parse_number
from rocenv.model.host import Allocation, OsRelease

_WSL_LIBRARIES = (
    "/usr/lib/wsl/lib/libdxcore.so",
    "/opt/rocm/lib/librocdxg.so",
    "/opt/rocm/lib/librocdxg.so.1",
    "/opt/rocm/lib/libhsa-runtime64.so.1",
)
_FIRST_CPU = 8192  # bytes of /proc/cpuinfo that hold its first processor
# Names of container engines in /proc/1/cgroup, and what they are called.
_ENGINES = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("containerd", "containerd"),
    ("lxc", "lxc"),
)
# DMI vendors and products of virtual machines, as systemd-detect-virt knows them.
_HYPERVISORS = (
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Amazon EC2", "amazon"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Oracle Corporation", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "microsoft"),
    ("Virtual Machine", "microsoft"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "google"),
    ("DigitalOcean", "kvm"),
)
_VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
# Who gives an allocation: (its name, a variable that it sets, does that hold the job's id).
_SCHEDULERS = (
    ("slurm", "SLURM_JOB_ID", True),
    ("pbs", "PBS_JOBID", True),
    ("lsf", "LSB_JOBID", True),
    ("github", "GITHUB_ACTIONS", False),
    ("gitlab", "GITLAB_CI", False),
    ("jenkins", "JENKINS_URL", False),
    ("buildkite", "BUILDKITE", False),
    ("ci", "CI", False),
    ("kubernetes", "KUBERNETES_SERVICE_HOST", False),
)


def environment(root: Root, kernel: str | None, *, dxg: bool) -> tuple[str, str | None]:
    """The kind of place, the first that holds of wsl2, container, vm and bare-metal; and what it calls itself."""
    if dxg or "microsoft" in (kernel or "").lower():
        return "wsl2", "wsl"
    container = _container(root)
    if container is not None:
        return "container", container or None
    machine = _virtual_machine(root)
    if machine is not None:
        return "vm", machine or None
    return "bare-metal", None


def _container(root: Root) -> str | None:
    """The container engine, empty for one without a name; None outside of containers."""
    named = root.text("/run/systemd/container")
    environ = root.data("/proc/1/environ", quiet=True) or b""
    own = next((word[10:] for word in environ.split(b"\0") if word.startswith(b"container=")), None)
    cgroup = (root.data("/proc/1/cgroup", quiet=True) or b"").decode(errors="replace")
    engine = next((name for word, name in _ENGINES if word in cgroup), None)
    docker = root.resolve("/.dockerenv") is not None
    podman = root.resolve("/run/.containerenv") is not None
    if named is None and own is None and engine is None and not docker and not podman:
        return None
    words = (
        named,
        (own or b"").decode(errors="replace"),
        engine,
        "docker" if docker else None,
        "podman" if podman else None,
    )
    return next((word for word in words if word), "")


def _virtual_machine(root: Root) -> str | None:
    """The hypervisor, empty for one without a name; None on bare metal."""
    first_cpu = (root.data("/proc/cpuinfo", _FIRST_CPU, quiet=True) or b"").decode(errors="replace")
    flagged = any(line.startswith("flags") and "hypervisor" in line.split() for line in first_cpu.splitlines())
    facts = [root.text(f"/sys/class/dmi/id/{name}", quiet=True) or "" for name in ("sys_vendor", "product_name")]
    named = next((name for word, name in _HYPERVISORS if any(fact.startswith(word) for fact in facts)), None)
    if named == "amazon" and facts[1].endswith(".metal"):
        named = None
    return (named or "") if flagged or named else None


def os_release(root: Root) -> OsRelease:
    """/etc/os-release, without its quotes."""
    found: dict[str, str] = {}
    for line in (root.text("/etc/os-release") or root.text("/usr/lib/os-release") or "").splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            found[key] = _unquoted(value.strip())
    return OsRelease(*(found.get(key) or None for key in ("ID", "VERSION_ID", "PRETTY_NAME")))


def _unquoted(value: str) -> str:
    """A value of os-release as the shell would read it: quotes off, backslashes before signs dropped."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return re.sub(r'\\(["$`\\])', r"\1", value[1:-1]) if value[0] == '"' else value[1:-1]
    return value


def selinux(root: Root) -> str | None:
    """The mode, enforcing or permissive; None where SELinux is not."""
    return {"1": "enforcing", "0": "permissive"}.get(root.text("/sys/fs/selinux/enforce") or "")


def selinux_devices(root: Root) -> bool | None:
    """Whether its boolean lets containers use devices; None where there is no such boolean."""
    current = (root.text("/sys/fs/selinux/booleans/container_use_devices") or "")[:1]
    return {"1": True, "0": False}.get(current)


def wsl_libraries(root: Root) -> tuple[str, ...]:
    """The libraries through which ROCm on WSL2 reaches Windows' driver, by the names that they have here."""
    return tuple(path for path in _WSL_LIBRARIES if root.resolve(path) is not None)


def cgroup_version(root: Root) -> int | None:
    """2 for the unified hierarchy, 1 for the old one or both; None where no cgroups are mounted."""
    if root.resolve("/sys/fs/cgroup/cgroup.controllers"):
        return 2
    return 1 if root.files.is_dir("/sys/fs/cgroup/memory") or root.files.is_dir("/sys/fs/cgroup/devices") else None


def user_namespace(root: Root) -> bool | None:
    """True inside a user namespace other than the first, whose map is the whole range."""
    fields = (root.text("/proc/self/uid_map") or "").split()
    return None if not fields else fields != ["0", "0", "4294967295"]


def memory_bytes(root: Root) -> int | None:
    """The host's memory as the kernel counts it."""
    words = (root.text("/proc/meminfo") or "").split(None, 3)
    kilobytes = parse_number(words[1]) if words[:1] == ["MemTotal:"] and words[2:3] == ["kB"] else None
    return None if kilobytes is None else kilobytes * 1024


def numa_nodes(root: Root) -> int | None:
    """How many NUMA nodes the kernel shows."""
    names = root.names("/sys/devices/system/node")
    return len([name for name in names if name.startswith("node") and name[4:].isdecimal()]) or None


def allocation(variables: Mapping[str, str]) -> Allocation | None:
    """What a scheduler or a CI service gave this process, and the visibility lists that it inherits."""
    giver = next(((name, variable, told) for name, variable, told in _SCHEDULERS if variables.get(variable)), None)
    visible = tuple((name, variables[name]) for name in _VISIBLE if name in variables)
    if giver is None and not visible:
        return None
    name, variable, told = giver or (None, "", False)
    job = variables[variable].partition(".")[0] if told else None  # PBS adds the name of its server
    return Allocation(by=name, job=job, visible=visible)
