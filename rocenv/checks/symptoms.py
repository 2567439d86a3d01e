"""What people see when it fails, and the checks that it points to: the likeliest first.

The words are those of the kernel, ROCm, engines, registries and frameworks, as users reported them. A text is hostile:
it is matched line by line, each line cut, and becomes no part of a pattern or a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MAX_LINES = 20_000
_MAX_LENGTH = 2000
_CLOSED = ("kfd.access", "groups.session", "userns.device-gid", "render.access", "lxc.kfd-gid", "engine.rootless-gid")
_NO_GPU = ("render.access", "kfd.access", "render.open", "kfd.open", "gpu.visible-env", "kfd.topology", "smoke.count")
_NO_KFD = ("kfd.present", "driver.loaded", "engine.desktop", "engine.same-kernel", "engine.remote", "wsl.detect",
           "wsl.gpu-supported", "argv.flag-after-image")  # fmt: skip
_NO_DRIVER = ("driver.loaded", "pci.gpu", "driver.secureboot", "driver.dkms-kernel", "driver.blacklist")
_BAKED = ("image.group-gid", "dockerfile.hardcoded-gid")
_SHM = ("container.shm", "compose.shm", "argv.shm")
_NAMES = ("compose.group-names", "argv.group-names", "image.group-gid")

# The first that fits a line is the one that holds for it: the particular ones stand before the general ones.
TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    # The kernel
    (r"pci rejects atomics", ("pci.atomics",)),
    (r"not supported in kfd", ("gpu.kfd-supported",)),
    (r"key was rejected|unavailable key|module verification failed", ("driver.secureboot",)),
    (r"gpu reset begin|ring \S+ timeout|hw exception|gpu hang", ("gpu.reset", "smoke.host", "host.hazard")),
    (r"avc:\s+denied|\b(?:dri|hsa)_device_t\b", ("lsm.selinux",)),
    (r"firmware.*(?:failed|missing)|failed to load firmware", ("driver.firmware",)),
    # Opening /dev/kfd
    (r"/dev/kfd[^:]*:? invalid argument", ("kfd.open", "driver.userspace")),
    (r"/dev/kfd[^:]*:? operation not permitted", ("kfd.open",)),
    (r"/dev/kfd[^:]*:? cannot allocate memory", ("kfd.open", "gpu.kfd-supported")),
    (r"member of \"?nogroup", ("userns.device-gid", "engine.rootless-gid", "engine.oci-runtime")),
    (r"/dev/kfd[^:]*:? permission denied|permission (?:denied|problems).*(?:/dev/kfd|access)", _CLOSED),
    (r"user ?name to check for video group|crw-{7}|usermod: group '\w+' does not exist", _CLOSED),
    (r"gid does not map|root \d+ /dev/kfd", ("lxc.kfd-gid", *_CLOSED)),
    (r"works only (?:for root|with sudo)|only with sudo|sudo rocminfo works", (*_CLOSED, *_BAKED)),
    (r"custom device \"/dev/kfd\"|/dev/kfd\"?[^:]*:? no such file", _NO_KFD),
    (r"\"?/dev/kfd\"?: not a device node", ("kfd.present",)),
    (r"/dev/dri is not found", ("engine.same-kernel", "engine.remote", "kfd.present")),
    (r"custom device \"?/dev/dri", ("compose.device-exists", "argv.device-exists", "render.topology-match")),
    (r"custom device|not a device node", ("compose.device-exists", "argv.device-exists", "kfd.present")),
    # The driver
    (r"incompatible kernel and userspace", ("driver.userspace",)),
    (r"amdgpu version file missing", ("driver.version", *_NO_GPU)),
    (r"rock module is not loaded|module/amdgpu/initstate|module not loaded|amdgpu cannot be loaded",
     (*_NO_DRIVER, "engine.same-kernel")),
    (r"possibly no gpu devices|gpus? missing until modprobe|dmesg empty of kfd", _NO_DRIVER),
    # GPUs that are not seen, or the wrong ones
    (r"hsa_init.*1008|\b1008\b.*hsa", ("render.topology-match", "render.access")),
    (r"status 139|exit 139|segmentation fault|crash when igpu", ("gpu.igpu-mix", "env.override-noop", "host.hazard")),
    (r"hsa_override_gfx_version|override ignored", ("env.override-format", "env.override-noop")),
    (r"compute_partition n/a|partition.*n/a|n/a; allocatable", ("gpu.partition",)),
    (r"lists (?:\d+|all) gpus|all gpus are (?:seen|listed)", ("engine.subset-isolation",)),
    (r"not in kfd", ("driver.bound", "kfd.topology", "gpu.kfd-supported")),
    (r"gi?b instead", ("apu.gtt",)),
    (r"amd\.com/gpu: 0", ("k8s.capacity",)),
    (r"hsa_status_error_out_of_resources", ("smoke.host", "kfd.open", "kfd.access", "gpu.reset")),
    (r"another gpu|wrong gpu|other gpu is used|is on rocm-smi gpu", ("gpu.visible-env", "gpu.igpu-mix")),
    # Images without code for the GPU
    (r"nobinaryforgpu|invalid device function|no kernel image|tensilelibrary|illegal seek|code object for all",
     ("gpu.gfx-supported", "env.override-noop")),
    (r"\bgfx\d\w+ is not supported|unsupported gpu architecture", ("gpu.gfx-supported",)),
    (r"no hip gpus|no cuda gpus|no rocm-capable device|hip_?error_?no_?device|is_available\(\):? false", _NO_GPU),
    (r"no devices found|gpu not (?:found|recogni[sz]ed)|not detected|rocminfo shows no gpu|no gpu",
     (*_NO_GPU, "driver.userspace", "image.rocm-version", "env.override-noop")),
    # What is in an image
    (r"found no nvidia driver|not compiled with cuda|torch\.version\.hip:? none|without rocm",
     ("image.torch-hip", "image.python")),
    (r"no module named '?torch|conda python|wrong environment", ("image.python", "image.torch-hip")),
    (r"rocm version file not found", ("image.rocm-version",)),
    (r"release file|amdgpu/\d", ("dockerfile.amdgpu-repo",)),
    (r"kfd\.rules|(?:rocm|amdgpu)-dkms", ("dockerfile.dkms", "driver.dkms-kernel")),
    # Libraries mixed
    (r"glibc_[\d.]+'? not found|undefined symbol|libamdhip64\.so", ("libs.wheel-versions", "env.ld-library-path")),
    (r"disk i/o error|sqlite|miopen.*(?:database|cache)", ("env.cache-writable",)),
    # Engines
    (r"\bsnap\b|/snap/", ("engine.snap",)),
    (r"keep-groups", ("engine.podman-shim", *_NAMES)),
    (r"unable to find group|--group-add argument", _NAMES),
    (r"could not select device driver \"rocm\"", ("compose.gpu-driver", "argv.gpus-flag")),
    (r"could not select device driver \"cdi\"|unresolvable cdi|cdi device injection|not an absolute path",
     ("engine.cdi-fresh", "engine.amd-runtime")),
    (r"could not select device driver", ("argv.gpus-flag", "compose.gpu-driver", "engine.amd-runtime")),
    (r"unknown (?:or invalid )?runtime", ("engine.amd-runtime",)),
    (r"permission denied.*docker|docker.*permission denied|dial unix.*(?:permission|refused|no such)",
     ("engine.socket",)),
    (r"cannot connect to the docker daemon|is the docker daemon running|docker\.sock", ("engine.socket",)),
    (r"did not receive an exit event|could not kill container|predefined address pools", ("host.stuck-process",)),
    (r"libdxcore|dxg", ("wsl.rocdxg-abi", "wsl.detect")),
    (r"set_mempolicy|mbind|move_pages", ("seccomp.mempolicy",)),
    (r"rlimit|memlock|ibv_|net/socket", ("host.memlock",)),
    # Room
    (r"posix_fallocate|bus error|ncclshm|/dev/shm|\b64 ?mb\b", _SHM),
    (r"no space left|disk quota", ("engine.disk", "engine.inodes", "engine.second-store")),
    # Registries
    (r"no matching manifest|exec format error|no matching image|does not match the .*platform", ("image.arch",)),
    (r"manifest unknown|manifest for|access denied|name unknown|toomanyrequests|no such host|\b404\b|tag not there",
     ("image.resolve",)),
    # Several GPUs
    (r"\bhangs?\b|\bhung\b", ("host.iommu-pt", *_SHM, "gpu.reset")),
    (r"latency|\bslow", ("host.numa-balancing",)),
    (r"permission denied|cannot access gpu", (*_CLOSED, *_BAKED, "k8s.gid-uniform")),
)  # fmt: skip


def matched(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The lines of a text that are known, each with the checks that it points to."""
    for line in text.splitlines()[:_MAX_LINES]:
        cut = line[:_MAX_LENGTH].strip()
        for pattern, checks in TABLE:
            if re.search(pattern, cut, re.IGNORECASE):
                yield cut, checks
                break


def pointed(text: str) -> tuple[str, ...]:
    """The checks that a text points to, each once, in the order in which its lines do."""
    return tuple(dict.fromkeys(name for _, checks in matched(text) for name in checks))
