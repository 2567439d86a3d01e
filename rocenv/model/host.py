"""What was seen on a host: facts without opinions. Sizes are bytes, ids lower-case text, unknown is None.

The meaning of each fact and when it is None: docs/detect.md.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Partition(NamedTuple):
    """How a GPU is cut: compute mode (SPX, CPX …), memory mode (NPS1 …), this part's number, parts seen."""

    compute: str | None
    memory: str | None
    index: int  # type: ignore[assignment]
    count: int  # type: ignore[assignment]


class Gpu(NamedTuple):
    """One KFD GPU node that can be used: a whole GPU, or one partition of it."""

    index: int  # type: ignore[assignment]  # position in numeric KFD order, from 0: ROCr's and HIP's order without any *_VISIBLE_DEVICES
    kfd_node: int
    kfd_gpu_id: int
    bdf: str  # dddd:bb:dd.f of the PCI function; partitions share it
    location_id: int
    pci_id: str  # vvvv:dddd
    gfx: str | None
    gfx_source: str | None
    marketing_name: str | None
    product_name: str | None
    kind: str  # dgpu | apu
    vram_bytes: int | None
    card_vram_bytes: int | None
    gtt_bytes: int | None
    kfd_bank_bytes: int | None
    compute_units: int | None
    num_xcc: int | None
    render_node: str | None
    render_node_exists: bool
    card_node: str | None
    unique_id: str | None  # 16 hex digits
    partition: Partition
    numa_node: int | None
    kfd_cpu_node: int | None
    can_open_kfd: bool | None
    can_open_render: bool | None
    hive_id: int | None = None

    @property
    def uuid(self) -> str | None:
        """GPU-<16 hex digits> as ROCr writes it, or None: a GPU without a unique_id has no UUID."""
        return None if self.unique_id is None else f"GPU-{self.unique_id}"

    @property
    def name(self) -> str:
        """What people call it."""
        return self.product_name or self.marketing_name or f"AMD GPU {self.gfx or self.pci_id}"


class Link(NamedTuple):
    """One KFD io_link between two nodes; bandwidths in MB/s as KFD gives them, type by its KFD number."""

    node_from: int
    node_to: int
    type: str  # pcie | xgmi | qpi | …, or the number where it has no name
    weight: int
    min_bandwidth: int | None
    max_bandwidth: int | None
    no_atomics: bool


class DeviceNode(NamedTuple):
    """A device node and what the caller may do with it; `mode` holds the permission bits."""

    path: str
    major: int
    minor: int
    mode: int
    uid: int
    gid: int
    group: str | None  # the gid's name in the host's /etc/group
    accessible: bool  # read and write for the caller
    granted_by: str | None = None  # root | owner | group NAME | acl user | acl group NAME | everyone | kernel
    refused_by: str | None = None  # the errno's name: EACCES by its mode, or what opening it answers


class Caller(NamedTuple):
    """Who asks: ids as the kernel sees them; `groups` are the supplementary ones in the order given."""

    uid: int
    gid: int
    groups: tuple[int, ...]


class OsRelease(NamedTuple):
    """The three keys of /etc/os-release that matter."""

    id: str | None
    version_id: str | None
    pretty_name: str | None


class Driver(NamedTuple):
    """The amdgpu kernel driver: `origin` dkms or in-tree; `release` is AMD's driver release (30.30.4) where known."""

    loaded: bool
    version: str | None
    origin: str | None
    release: str | None = None


class RocmInstall(NamedTuple):
    """One ROCm tree on the host; `raw` is the whole version text, `version` what stands before its first dash."""

    path: str
    version: str | None
    raw: str | None


class RocmDefault(NamedTuple):
    """What /opt/rocm is, through all links, inside the root."""

    path: str
    resolves_to: str | None
    version: str | None


class DisplayDevice(NamedTuple):
    """A display or accelerator device on the PCI bus that is no usable ROCm GPU; `reason` only for AMD's."""

    bdf: str
    pci_id: str
    driver: str | None
    marketing_name: str | None = None
    render_node: str | None = None
    reason: str | None = None  # no-driver | vfio-pci | other-driver | no-kfd | refused-by-kfd | masked


class Allocation(NamedTuple):
    """What a scheduler or CI gave this process: `by` (slurm, kubernetes, ci …) and inherited visibility lists."""

    by: str | None
    job: str | None
    visible: tuple[tuple[str, str], ...] = ()  # (variable, value) of each *_VISIBLE_DEVICES that is set


class Problem(NamedTuple):
    """Something that could not be read, in words: the path and what it answered."""

    path: str
    what: str


class Host(NamedTuple):
    """All that was seen of one host."""

    name: str | None  # a capture's name; None for this machine
    environment: str  # wsl2 | container | vm | bare-metal
    caller: Caller
    os: OsRelease
    kernel: str | None
    machine: str | None  # x86_64 …
    driver: Driver
    kfd_sysfs: bool
    devices: tuple[DeviceNode, ...]  # /dev/kfd, /dev/dri/*, /dev/dxg, verbs of /dev/infiniband
    rocm_default: RocmDefault | None
    rocm_installed: tuple[RocmInstall, ...]
    group_render: int | None
    group_video: int | None
    gpus: tuple[Gpu, ...]
    unusable: tuple[DisplayDevice, ...]
    other_displays: tuple[DisplayDevice, ...]
    masked_nodes: tuple[int, ...]
    broken_nodes: tuple[int, ...]
    memory_bytes: int | None
    numa_nodes: int | None
    selinux: str | None  # enforcing | permissive | None: not there
    cgroup_version: int | None
    user_namespace: bool | None  # inside a user namespace other than the first
    virtualization: str | None  # docker, lxc, kvm … where it names itself
    allocation: Allocation | None
    problems: tuple[Problem, ...] = ()
    # What pci.ids calls devices without a name of their own, by pci_id: for people, and read only where asked for.
    chips: Mapping[str, str] = _NOTHING
    selinux_devices: bool | None = None  # the boolean container_use_devices
    wsl_libraries: tuple[str, ...] = ()  # on WSL2: those that lead to Windows' driver, as far as any is to be seen

    idle: frozenset[int] | None = None  # indices of GPUs that nobody uses at this moment; read only where asked for

    def device(self, path: str) -> DeviceNode | None:
        """The node at `path`, or None where there is none."""
        return next((node for node in self.devices if node.path == path), None)

    @property
    def dxg(self) -> bool:
        """True where WSL2's /dev/dxg is."""
        return self.device("/dev/dxg") is not None

    @property
    def live(self) -> bool:
        """True for this machine, False for a capture."""
        return self.name is None
