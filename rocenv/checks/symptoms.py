"""What people see when it fails, and the checks that it points to: the likeliest first.

The words are those of the kernel, ROCm, engines, registries and frameworks, as users reported them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rocenv.checks.logs import lines_of, pairs

_CLOSED = ("kfd.access", "groups.session", "userns.device-gid", "render.access", "lxc.kfd-gid", "engine.rootless-gid")
_NO_GPU = ("render.access", "kfd.access", "render.open", "kfd.open", "gpu.visible-env", "kfd.topology", "smoke.count")
_NO_KFD = ("kfd.present", "driver.loaded", "engine.desktop", "engine.same-kernel", "engine.remote", "wsl.detect",
           "wsl.gpu-supported", "argv.flag-after-image")  # fmt: skip
_NO_DRIVER = ("driver.loaded", "pci.gpu", "driver.secureboot", "driver.dkms-kernel", "driver.blacklist")
_BAKED = ("image.group-gid", "dockerfile.hardcoded-gid")
_SHM = ("container.shm", "compose.shm", "argv.shm")
_NAMES = ("compose.group-names", "argv.group-names", "image.group-gid")

# The first that fits a line is the one that holds for it: the particular ones stand before the general ones. A line is
# in small letters, and every quote in it is `"`.
TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    # The kernel
    (r"pci rejects atomics", ("pci.atomics",)),
    (r"not supported in kfd", ("gpu.kfd-supported",)),
    (r"key was rejected|unavailable key|required key not available|module verification failed", ("driver.secureboot",)),
    (r"unsigned module loading|kernel_lockdown", ("driver.secureboot",)),
    (r"\bnomodeset\b|amdgpu kernel modesetting disabled", ("driver.nomodeset",)),
    (r"gpu reset|gpu was reset|ring \S+ timeout|hw exception|gpu hang|vram is lost|mes failed to respond",
     ("gpu.reset", "smoke.host", "host.hazard")),
    (r"memory access fault by gpu", ("env.override-noop", "gpu.igpu-mix", "gpu.reset", "host.hazard")),
    (r"avc:\s+denied|\b(?:dri|hsa)_device_t\b|selinux is preventing", ("lsm.selinux",)),
    (r"amdgpu/\S+\.bin|firmware.*(?:failed|missing)|failed to load \S*\s?firmware|firmware load for amdgpu",
     ("driver.firmware",)),
    (r"probe of [\da-f:.]+ failed|fatal error during gpu init", ("driver.bound", "driver.firmware", "gpu.reset")),
    (r"blocked for more than \d+ seconds|hung_task", ("host.stuck-process", "gpu.reset")),
    # Opening /dev/kfd
    (r"\bcat: \"?/dev/kfd\"?: invalid argument", ("kfd.open",)),  # it opened: KFD only has nothing to be read
    (r"/dev/kfd[^:]*:? invalid argument", ("kfd.open", "driver.userspace")),
    (r"/dev/kfd[^:]*:? operation not permitted", ("kfd.open",)),
    (r"/dev/kfd[^:]*:? cannot allocate memory", ("kfd.open", "gpu.kfd-supported")),
    (r"/dev/kfd[^:]*:? device or resource busy", ("kfd.open", "host.stuck-process")),
    (r"/dev/kfd[^:]*:? no such device", ("kfd.open", "container.devnum", "driver.loaded")),
    (r"member of \"?nogroup", ("userns.device-gid", "engine.rootless-gid", "engine.oci-runtime")),
    (r"/dev/(?:kfd|dri/renderd\d+)[^:]*:? permission denied|permission (?:denied|problems).*(?:/dev/kfd|access)",
     _CLOSED),
    (r"user ?name to check for video group|crw-{7}|(?:usermod|groupmems|gpasswd): group \"\w+\" does not exist",
     _CLOSED),
    (r"\"?(?:render|video)\"? group, the default", _CLOSED),
    (r"gid does not map|root \d+ /dev/kfd", ("lxc.kfd-gid", *_CLOSED)),
    (r"works only (?:for root|with sudo|as root)|only with sudo|sudo rocminfo works", (*_CLOSED, *_BAKED)),
    (r"custom device \"/dev/kfd\"|/dev/kfd\"?[^:]*:? no such file", _NO_KFD),
    (r"/dev/kfd\"?:? (?:is )?not a device node|/dev/kfd\"?:? is a directory", ("kfd.present", "argv.device-mounted")),
    (r"/dev/dri is not found", ("engine.same-kernel", "engine.remote", "kfd.present")),
    (r"custom device \"?/dev/dri|/dev/dri/\S+[^:]*:? no such file",
     ("compose.device-exists", "argv.device-exists", "render.topology-match")),
    (r"custom device|not a device node", ("compose.device-exists", "argv.device-exists", "kfd.present")),
    # The driver
    (r"incompatible kernel and userspace", ("driver.userspace",)),
    (r"amdgpu version file missing|/sys/module/amdgpu/version", ("driver.version", *_NO_GPU)),
    (r"kfd\.rules|processing package \S*-dkms|install\S* .*-dkms", ("dockerfile.dkms", "driver.dkms-kernel")),
    (r"module build|make\.log|module amdgpu not found|dkms apport|/var/lib/dkms|linux-headers-|\bdkms\b",
     ("driver.dkms-kernel", "driver.loaded", "dockerfile.dkms")),
    (r"rock module (?:is )?not loaded|module/amdgpu/initstate|module not loaded|amdgpu cannot be loaded",
     (*_NO_DRIVER, "engine.same-kernel")),
    (r"wsl environment", ("wsl.detect", "wsl.gpu-supported", "wsl.rocdxg-abi")),
    (r"possibly no (?:supported )?gpu devices|gpus? missing until modprobe|dmesg empty of kfd", _NO_DRIVER),
    # GPUs that are not seen, or the wrong ones
    (r"hsa_init.*\b1008\b|\b1008\b.*hsa", ("render.topology-match", "render.access")),
    (r"(?:status|exit(?:ed with)?|exit code|code):? 139|sigsegv|segmentation fault|crash when igpu",
     ("gpu.igpu-mix", "env.override-noop", "host.hazard")),
    (r"hsa_override_gfx_version|override ignored", ("env.override-format", "env.override-noop")),
    (r"compute_partition n/a|partition.*n/a|n/a; allocatable", ("gpu.partition",)),
    (r"lists (?:\d+|all) gpus|all gpus are (?:seen|listed)", ("engine.subset-isolation",)),
    (r"not in kfd", ("driver.bound", "kfd.topology", "gpu.kfd-supported")),
    (r"gi?b instead|(?:hip|cuda) out of memory|hiperroroutofmemory|total vram \d", ("apu.gtt",)),
    (r"amd\.com/gpu: 0|insufficient amd\.com/", ("k8s.capacity",)),
    (r"hsa_status_error_out_of_resources", ("smoke.host", "kfd.open", "kfd.access", "gpu.reset")),
    (r"another gpu|wrong gpu|other gpu is used|is on rocm-smi gpu", ("gpu.visible-env", "gpu.igpu-mix")),
    # Images without code for the GPU
    (r"nobinaryforgpu|invalid device function|no kernel image|kernel image is invalid|tensilelibrary|illegal seek",
     ("gpu.gfx-supported", "env.override-noop")),
    (r"code object for all|sharedobjectinitfailed", ("gpu.gfx-supported", "env.override-noop")),
    (r"\bgfx\d\w+ is not supported|amdgpu is not supported|unsupported gpu arch|invalid target id|gpu_type=\"?gfx",
     ("gpu.gfx-supported",)),
    (r"no (?:code object|binary|kernels?) for gfx", ("gpu.gfx-supported",)),
    (r"no hip gpus|no cuda gpus|no rocm-capable device|hip_?error_?no_?device", _NO_GPU),
    (r"is_available\(\)\W+(?:returned |is )?false", _NO_GPU),
    (r"no devices found|gpu not (?:found|recogni[sz]ed)|not detected|rocminfo shows no gpu|no (?:amd )?gpu|0 gpus",
     (*_NO_GPU, "driver.userspace", "image.rocm-version", "env.override-noop")),
    # What is in an image
    (r"found no nvidia driver|not compiled with cuda|torch\.version\.hip\W+none|without rocm|libcuda\.so|libcudart",
     ("image.torch-hip", "image.python")),
    (r"no module named \"?torch|conda python|wrong environment|\"?python3?\"?: (?:no such file|command not found)",
     ("image.python", "image.torch-hip")),
    (r"executable file not found.*python", ("image.python", "image.torch-hip")),
    (r"rocm version file not found|\.info/version", ("image.rocm-version",)),
    (r"release file|repo\.radeon\.com/amdgpu", ("dockerfile.amdgpu-repo", "dockerfile.repo-codename")),
    (r"(?:group)?gid \"?\d+\"? already exists|groupadd: ", ("dockerfile.hardcoded-gid",)),
    # Libraries mixed
    (r"(?:glibc|glibcxx|rocm|hip)_[\d.]+\"? not found|undefined symbol|lib(?:amdhip64|hsa-runtime64|roc(?!dxg)\w+)\.so",
     ("libs.wheel-versions", "env.ld-library-path")),
    (r"disk i/o error|sqlite|miopen.*(?:database|cache)|permission denied.*(?:cache|triton|miopen)|readonly database",
     ("env.cache-writable",)),
    # Engines
    (r"\bsnap\b|/snap/|snap\.docker", ("engine.snap",)),
    (r"keep-groups.*(?:not allowed|other)", ("argv.group-ids", "compose.group-ids", *_NAMES)),
    (r"keep-groups", ("engine.podman-shim", "engine.oci-runtime", *_NAMES)),
    (r"unable to find group|--group-add\"? (?:argument|flag)|(?:group|gruppe|groupe|grupo) \"render\"", _NAMES),
    (r"could not select device driver \"cdi\"|unresolvable cdi|cdi device|not an absolute path",
     ("engine.cdi-fresh", "engine.amd-runtime")),
    (r"could not select device driver \"\w", ("compose.gpu-driver", "argv.gpus-flag")),
    (r"could not select device driver", ("argv.gpus-flag", "compose.gpu-driver", "engine.amd-runtime")),
    (r"unknown (?:or invalid )?runtime", ("engine.amd-runtime", "argv.runtime", "compose.runtime")),
    (r"newuidmap|newgidmap|/etc/sub[ug]id|subuid ranges|(?:uids|gids) available in user namespace",
     ("engine.subids", "engine.rootless-gid")),
    (r"permission denied.*docker|docker.*permission ?(?:denied|error)|dial unix.*(?:permission|refused|no such)",
     ("engine.socket",)),
    (r"fetching server api version", ("engine.socket",)),
    (r"cannot connect to (?:the docker daemon|podman)|is the docker daemon running|docker api at|docker_engine",
     ("engine.socket", "engine.remote")),
    (r"(?:docker|podman)\.sock|dial tcp.*:237\d.*refused", ("engine.socket", "engine.remote")),
    (r"did not receive an exit event|could not kill container|predefined address pools", ("host.stuck-process",)),
    (r"libdxcore|dxg|\bwsl2?\b", ("wsl.rocdxg-abi", "wsl.detect", "wsl.gpu-supported")),
    (r"[sg]et_mempolicy|mbind|move_pages", ("seccomp.mempolicy",)),
    (r"rlimit|memlock|ibv_|net/socket|net/ib : no device|using network socket", ("host.memlock",)),
    # Room
    (r"posix_fallocate|bus error|ncclshm|/dev/shm|shared memory|/torch_\d", _SHM),
    (r"no space left|disk quota", ("engine.disk", "engine.inodes", "engine.second-store")),
    # Registries
    (r"no matching manifest|exec format error|no matching image|does not match the .*platform", ("image.arch",)),
    (r"manifest unknown|manifest for|(?<!permission )access denied|access to the resource is denied|name unknown",
     ("image.resolve",)),
    (r"toomanyrequests|no such host|404 not found|\b404 /|(?:error|status|http)\D{1,12}404\b|tag not there",
     ("image.resolve",)),
    (r"failed to resolve reference|server misbehaving", ("image.resolve",)),
    (r"/v2/\"?:|temporary failure in name resolution|lookup \S+ on ", ("image.resolve",)),
    # What may mean anything: VAGUE of them
    (r"\b64 ?mb\b", _SHM),
    (r"\bhangs?\b|\bhung\b", ("host.iommu-pt", *_SHM, "gpu.reset")),
    (r"latency|\bslow", ("host.numa-balancing",)),
    (r"permission denied|cannot access gpu|cannot use the gpu", (*_CLOSED, *_BAKED, "k8s.gid-uniform")),
)  # fmt: skip
VAGUE = 4  # rows, the last: what they point to comes after what other lines do


def _bounded(pattern: str) -> re.Pattern[str]:
    """A row's pattern, in which nothing repeats without end: a hostile line costs what others of its length do."""
    return re.compile(pattern.replace("[^:]*", "[^:]{0,120}").replace(".*", ".{0,200}"))


_ROWS = [(_bounded(pattern), checks) for pattern, checks in TABLE]


def matched(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The lines of a text that are known, each with the checks that it points to."""
    for written, row in _known(text):
        yield written, TABLE[row][1]


@lru_cache(maxsize=2)  # asked for its lines, then for its checks
def _known(text: str) -> tuple[tuple[str, int], ...]:
    """The lines that are known, each with its row of the table.

    A line that says nothing alone, and neither does the next, may be a half of one that was broken in two.
    """
    known: list[tuple[str, int]] = []
    before: int | None = None
    for written, told, both in pairs(list(lines_of(text))):
        row = _row(told)
        if row is None and before is None and both:
            joined = _row(both)
            following = _row(both[len(told) + 1 :])
            if joined is not None and (following is None or joined < following):
                row = joined
        if row is not None:
            known.append((written, row))
        before = row
    return tuple(known)


def _row(told: str) -> int | None:
    return next((place for place, (pattern, _) in enumerate(_ROWS) if pattern.search(told)), None)


def pointed(text: str) -> tuple[str, ...]:
    """The checks that a text points to, each once, in the order in which its lines do, vague ones last."""
    rows = sorted((row for _, row in _known(text)), key=lambda row: row >= len(TABLE) - VAGUE)
    return tuple(dict.fromkeys(name for row in rows for name in TABLE[row][1]))
