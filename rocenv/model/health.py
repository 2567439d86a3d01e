"""What a doctor looks at beyond a Host: facts without opinions, unknown is None. Sizes are bytes.

A Host is what every command needs; these cost more to read and are read for the doctor alone. Named tuples, for that
many classes are made each time the doctor starts, and dataclasses of this shape take ten times as long to make. For
the same reason annotations are what they name, not texts that would be compiled one by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Opening(NamedTuple):
    """What opening a device node for reading and writing answered: an errno's name, TIMEOUT, or None: it opened."""

    path: str
    errno: str | None


class DkmsTree(NamedTuple):
    """One version of amdgpu in DKMS, and how far it has come for each kernel: added | built | installed."""

    version: str
    kernels: Mapping[str, str] = _NOTHING


class Stuck(NamedTuple):
    """A process in uninterruptible sleep and the kernel function that it sleeps in."""

    pid: int
    name: str
    where: str


class Group(NamedTuple):
    """A line of /etc/group; `member`: the caller is named in it."""

    name: str
    gid: int
    member: bool


class SubIds(NamedTuple):
    """A range of /etc/subuid or /etc/subgid that the caller may map."""

    first: int
    length: int


class CdiNode(NamedTuple):
    """A device node that a CDI device passes on, with its numbers, mode and group where the spec names them."""

    path: str
    major: int | None = None
    minor: int | None = None
    mode: int | None = None
    gid: int | None = None


class CdiSpec(NamedTuple):
    """A CDI specification; `problem` where it cannot be read as one."""

    file: str
    kind: str | None
    devices: Mapping[str, tuple[CdiNode, ...]] = _NOTHING
    problem: str | None = None
    version: str | None = None  # of CDI, as the file says it
    more: Mapping[str, tuple[str, ...]] = _NOTHING  # what a device brings beside nodes: mounts, hooks, env …


class CacheFolder(NamedTuple):
    """A folder that ROCm's libraries write to, by the user who owns it."""

    path: str
    owner: int
    writable: bool


class Health(NamedTuple):
    """More of a host. `missing` says of a field that is None, and could be read by somebody else, who that is."""

    system: str = "Linux"
    user: str | None = None  # the caller's name
    opens: tuple[Opening, ...] = ()  # /dev/kfd and the render nodes
    cmdline: str | None = None
    blacklists: tuple[str, ...] = ()  # `FILE:LINE` of each line that keeps amdgpu from loading
    secure_boot: bool | None = None
    dkms: tuple[DkmsTree, ...] = ()
    kernel_log: tuple[str, ...] | None = None  # its lines that speak of GPUs, their driver, or a module refused
    numa_balancing: int | None = None
    iommus: int | None = None
    iommu_types: Mapping[str, str] = _NOTHING  # BDF → DMA | DMA-FQ | identity
    memlock: int | None = None  # the soft limit; -1: none
    stuck: tuple[Stuck, ...] = ()
    groups: tuple[Group, ...] = ()
    subuid: tuple[SubIds, ...] | None = None
    subgid: tuple[SubIds, ...] | None = None
    page_limits: Mapping[str, int] = _NOTHING  # of ttm, amdttm: pages of 4 KiB
    module_loaded: str | None = None  # srcversion of the amdgpu that runs
    module_installed: str | None = None  # and of the one that is installed for this kernel
    cdi: tuple[CdiSpec, ...] = ()
    kfd_number: tuple[int, int] | None = None
    infiniband: tuple[str, ...] = ()  # ports that are active
    selinux_dri: bool | None = None  # the boolean container_use_dri_devices
    firmware: str | None = None  # the version of the package linux-firmware
    windows_gpu: str | None = None  # on WSL2: the PCI id of the GPU that Windows drives
    dxg_ids: tuple[str, ...] | None = None  # device ids that librocdxg knows
    libraries: tuple[str, ...] = ()  # of WSL: those of dxcore, rocdxg and hsa-runtime that are there
    caches: tuple[CacheFolder, ...] = ()
    shm_bytes: int | None = None
    seccomp: int | None = None  # of this process: 0 none, 1 strict, 2 a filter
    missing: Mapping[str, str] = _NOTHING
    impostor: str | None = None  # what stands at /dev/kfd and is no device: folder | file


class Store(NamedTuple):
    """A folder in which an engine keeps images."""

    path: str
    engine: str
    bytes: int | None = None
    holds: bool | None = None  # whether there are images in it; None where that may not be read


class OwnContainer(NamedTuple):
    """A container of rocenv's and the device numbers that it was made with."""

    name: str
    running: bool
    devices: tuple[CdiNode, ...] = ()


class EngineHealth(NamedTuple):
    """More of an engine, also of one that does not answer."""

    kind: str = "docker"
    program: str | None = None  # the client, through all links
    podman_shim: bool = False  # `docker` is podman
    endpoint: str | None = None
    context: str | None = None
    socket: str | None = None  # the errno that connecting to it answers; None: somebody listens
    said: str | None = None  # why the engine did not answer
    hint: str | None = None
    name: str | None = None  # the engine's own host name
    free_bytes: int | None = None
    free_inodes: int | None = None
    stores: tuple[Store, ...] = ()
    cdi_devices: tuple[str, ...] | None = None
    containers: tuple[OwnContainer, ...] | None = None


class ImageView(NamedTuple):
    """What is known of an image, whoever told it: the catalog, its registry, a local copy, or a look inside."""

    reference: str
    state: str = "unknown"  # local | found | no-tag | no-repository | refused | busy | unreachable | unknown
    said: str | None = None
    nearest: tuple[str, ...] = ()  # references that do exist, the best first
    machines: tuple[str, ...] = ()  # amd64 …
    rocm: str | None = None
    gfx: tuple[str, ...] | None = None
    gfx_source: str | None = None
    gfx_verified: bool = True
    compiler: bool = False
    moving: bool = False
    compressed_bytes: int | None = None
    unpacked_bytes: int | None = None
    inodes: int | None = None
    user: str | None = None
    env: Mapping[str, str] = _NOTHING
    groups: Mapping[str, int] | None = None
    torch: str | None = None  # its version
    hip: str | None = None  # torch.version.hip of that torch
    pythons: Mapping[str, str | None] = _NOTHING  # path → torch.version.hip seen by it
    programs: tuple[str, ...] | None = None
    identity: str | None = None  # a digest: the engine's id of a local image, else the manifest's


class Asked(NamedTuple):
    """What the person who asks wants to do."""

    profile: str | None = None
    gpus: str = "auto"
    targets: tuple[str, ...] = ()  # gfx targets named instead of a host's
    loosen: tuple[str, ...] = ()
    partition: str | None = None  # the compute mode that is expected
    gpu_memory: int | None = None
    strict: bool = False


@dataclass(frozen=True)  # a tuple has a `count` of its own
class Smoke:
    """What HIP answered: how many devices, or an error; on the host and in a container."""

    host: str | None = None
    container: str | None = None
    count: int | None = None


class ClusterNode(NamedTuple):
    """A node of a Kubernetes cluster: the groups that own its GPU nodes, and what it offers against what it has."""

    name: str
    gids: tuple[int, ...] = ()
    capacity: int | None = None
    gpus: int | None = None


class Document(NamedTuple):
    """A text to be read for faults: a compose file, a Dockerfile, or a command line (argv)."""

    kind: str  # compose | dockerfile | argv
    name: str  # the file as it was named
    text: str
