"""Error texts as users see them, and the check that each must lead to."""

from __future__ import annotations

import re

import pytest

from rocenv.checks import symptoms
from rocenv.checks.symptoms import matched, pointed

NO_KFD = 'error gathering device information while adding custom device "/dev/kfd": no such file or directory'
DENIED = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"
TEXTS = [
    ("Unable to open /dev/kfd read-write: Permission denied", "kfd.access"),
    ("Unable to open /dev/kfd read-write: Invalid argument", "kfd.open"),
    ("Unable to open /dev/kfd read-write: Operation not permitted", "kfd.open"),
    ("Unable to open /dev/kfd read-write: No such file or directory", "kfd.present"),
    ("Failed to get user name to check for video group membership", "kfd.access"),
    ('root is not member of "nogroup" group, the default DRM access group', "userns.device-gid"),
    ("ROCk module is NOT loaded, possibly no GPU devices", "driver.loaded"),
    ("cat: /sys/module/amdgpu/initstate: No such file or directory", "engine.same-kernel"),
    ("Loading of module with unavailable key is rejected", "driver.secureboot"),
    ("kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics", "pci.atomics"),
    ("kfd kfd: amdgpu: PITCAIRN  not supported in kfd", "gpu.kfd-supported"),
    ("HSA Error:  Incompatible kernel and userspace, Vega 20 disabled. Upgrade amdgpu.", "driver.userspace"),
    (f"docker: Error response from daemon: {NO_KFD}.", "kfd.present"),
    (NO_KFD, "engine.desktop"),
    ('custom device "/dev/dri/renderD129": no such file or directory', "render.topology-match"),
    ('custom device "/dev/fdk": no such file or directory', "compose.device-exists"),
    ('error gathering device information: "/dev/kfd": not a device node', "kfd.present"),
    ("Unable to find group render: no matching entries in group file", "compose.group-names"),
    ("Unable to find group keep-groups: no matching entries in group file.", "engine.podman-shim"),
    ('could not select device driver "rocm" with capabilities: [[gpu video]]', "compose.gpu-driver"),
    ('could not select device driver "" with capabilities: [[gpu]]', "argv.gpus-flag"),
    ('could not select device driver "cdi" with capabilities: []', "engine.cdi-fresh"),
    ("CDI device injection failed: unresolvable CDI devices amd.com/gpu=0", "engine.cdi-fresh"),
    ("docker: Error response from daemon: Unknown runtime specified amd.", "engine.amd-runtime"),
    ("RuntimeError: No HIP GPUs are available", "render.access"),
    ("hipErrorNoDevice: no ROCm-capable device is detected", "gpu.visible-env"),
    ("Tensile host: No devices found", "kfd.access"),
    ("hsa_init Failed with 1008", "render.topology-match"),
    ("HSA_STATUS_ERROR_OUT_OF_RESOURCES: out of resources", "smoke.host"),
    ("hipErrorNoBinaryForGpu: Unable to find code object for all current devices!", "gpu.gfx-supported"),
    ("RuntimeError: HIP error: invalid device function", "gpu.gfx-supported"),
    ("rocBLAS error: Cannot read TensileLibrary.dat: Illegal seek for GPU arch : gfx803", "gpu.gfx-supported"),
    ("RuntimeError: Found no NVIDIA driver on your system", "image.torch-hip"),
    ("ModuleNotFoundError: No module named 'torch'", "image.python"),
    ("version `GLIBC_2.33' not found", "env.ld-library-path"),
    ("MIOpen: Internal error while accessing SQLite database: disk I/O error", "env.cache-writable"),
    ("failed to register layer: write /opt/rocm/x: no space left on device", "engine.inodes"),
    ("posix_fallocate failed : No space left on device", "container.shm"),
    ("Error response from daemon: manifest unknown", "image.resolve"),
    ("dial tcp: lookup registry-1.docker.io: no such host", "image.resolve"),
    ("no matching manifest for linux/arm64/v8 in the manifest list entries", "image.arch"),
    (DENIED, "engine.socket"),
    ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
     "engine.socket"),
    ("tried to kill container, but did not receive an exit event", "host.stuck-process"),
    ('avc: denied { read write } comm="clinfo" name="renderD128" tcontext=dri_device_t', "lsm.selinux"),
    ("set_mempolicy: Operation not permitted", "seccomp.mempolicy"),
    ("amdgpu 0000:c2:00.0: amdgpu: GPU reset begin!", "gpu.reset"),
    ("modprobe: ERROR: could not insert 'amdgpu': Required key not available", "driver.secureboot"),
    ("modprobe: FATAL: Module amdgpu not found in directory /lib/modules/6.8.0-60-generic", "driver.dkms-kernel"),
    ("Error! Bad return status for module build on kernel: 6.14.0-24-generic (x86_64)", "driver.dkms-kernel"),
    ("Direct firmware load for amdgpu/gc_11_0_0_mes_2.bin failed with error -2", "driver.firmware"),
    ("INFO: task rocminfo:4242 blocked for more than 120 seconds.", "host.stuck-process"),
    ("Unable to open /dev/kfd read-write: No such device or address", "container.devnum"),
    ("OSError: [Errno 13] Permission denied: '/root/.triton/cache'", "env.cache-writable"),
    ("RuntimeError: unable to write to file </torch_1_2>: No space left on device (28)", "container.shm"),
    ("cannot find UID/GID for user u: no subuid ranges found for user \"u\" in /etc/subuid", "engine.subids"),
    ("0/3 nodes are available: 3 Insufficient amd.com/gpu.", "k8s.capacity"),
    ("process exited with code 139", "gpu.igpu-mix"),
    ("groupadd: GID '109' already exists", "dockerfile.hardcoded-gid"),
    ("SELinux is preventing rocminfo from read, write access on the chr_file renderD128.", "lsm.selinux"),
    ("Cannot connect to Podman. Please verify your connection to the Linux system", "engine.socket"),
    ("docker.errors.DockerException: Error while fetching server API version: PermissionError(13)", "engine.socket"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "check"), TEXTS)
def test_an_error_text_leads_to_its_check(text: str, check: str) -> None:
    assert check in pointed(text)


@pytest.mark.parametrize("errno", ["Invalid argument", "Operation not permitted"])
def test_a_refusal_of_the_driver_leads_to_no_check_of_groups(errno: str) -> None:
    assert "kfd.access" not in pointed(f"Unable to open /dev/kfd read-write: {errno}")


def test_reading_kfd_by_cat_says_nothing_of_the_driver() -> None:
    assert pointed("cat: /dev/kfd: Invalid argument") == ("kfd.open",)


def test_a_log_tells_its_lines_in_their_order() -> None:
    log = f"starting\nPCI rejects atomics\nall is well\n{NO_KFD}\n"
    assert [line for line, _ in matched(log)] == ["PCI rejects atomics", NO_KFD]
    assert pointed(log)[0] == "pci.atomics"


def test_a_text_that_nobody_knows_points_nowhere() -> None:
    assert pointed("the quick brown fox") == ()


def test_a_huge_log_is_read_at_both_ends_and_a_long_line_is_cut() -> None:
    middle = "x\n" * 30_000
    assert pointed(f"{middle}PCI rejects atomics\n{middle}") == ()
    assert pointed(f"PCI rejects atomics\n{middle}{NO_KFD}")[:2] == ("pci.atomics", "kfd.present")
    assert pointed("x" * 100_000 + "PCI rejects atomics") == ()


def test_nothing_repeats_without_end() -> None:
    """A pattern that could run to the end of a line from each of its words takes the square of the line's length."""
    assert [row.pattern for row, _ in symptoms._ROWS if re.search(r"(?<!\\)\.\*|\]\*", row.pattern)] == []
    assert "kfd.access" in pointed("/dev/kfd" * 200 + " permission denied")


AS_PASTED = [
    ("2026-01-02T03:04:05.678Z \x1b[31mERROR\x1b[0m [worker] RuntimeError: No HIP GPUs are available", "render.access"),
    ('time="2026-01-02" level=error msg="open /dev/kfd: permission denied"', "kfd.access"),
    ('{"log":"could not select device driver \\"rocm\\" with capabilities: [[gpu]]\\n","stream":"stderr"}',
     "compose.gpu-driver"),
    ("error gathering device information while adding custom device “/dev/kfd”: no such file", "kfd.present"),
    ("could not select device driver 'cdi' with capabilities: []", "engine.cdi-fresh"),
    ("rocminfo: /dev/kfd: Keine Berechtigung", "kfd.access"),
    ("impossible d'ouvrir /dev/kfd : Permission non accordée", "kfd.access"),
    ("ls: Zugriff auf '/dev/kfd' nicht möglich: Datei oder Verzeichnis nicht gefunden", "kfd.present"),
    ("无法打开 /dev/kfd: 权限不够", "kfd.access"),
    ("Unable to open /dev/kfd\n   read-write: Permission denied", "kfd.access"),
    ("RuntimeError: HIP error: invalid\ndevice function", "gpu.gfx-supported"),
    (">>> torch.cuda.is_available()\nFalse", "render.access"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "check"), AS_PASTED)
def test_colours_prefixes_quotes_languages_and_broken_lines_are_no_matter(text: str, check: str) -> None:
    assert check in pointed(text)


def test_what_may_mean_anything_comes_last() -> None:
    log = "slow request\npermission denied: /data/x\nRuntimeError: No HIP GPUs are available\nPCI rejects atomics\n"
    assert next(iter(matched(log)))[0] == "slow request"
    assert pointed(log)[0] == "render.access"
    assert pointed(log).index("pci.atomics") < pointed(log).index("host.numa-balancing")


def test_lines_that_do_not_belong_together_are_not_joined() -> None:
    assert pointed("loading firmware\nall is well\nmissing nothing\n") == ()
    assert [line for line, _ in matched("one device\nPCI rejects atomics\nthe end")] == ["PCI rejects atomics"]
