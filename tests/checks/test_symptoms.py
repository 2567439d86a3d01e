"""Error texts as users see them, and the check that each must lead to."""

from __future__ import annotations

import pytest

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
]  # fmt: skip


@pytest.mark.parametrize(("text", "check"), TEXTS)
def test_an_error_text_leads_to_its_check(text: str, check: str) -> None:
    assert check in pointed(text)


@pytest.mark.parametrize("errno", ["Invalid argument", "Operation not permitted"])
def test_a_refusal_of_the_driver_leads_to_no_check_of_groups(errno: str) -> None:
    assert "kfd.access" not in pointed(f"Unable to open /dev/kfd read-write: {errno}")


def test_a_log_tells_its_lines_in_their_order() -> None:
    log = f"starting\nPCI rejects atomics\nall is well\n{NO_KFD}\n"
    assert [line for line, _ in matched(log)] == ["PCI rejects atomics", NO_KFD]
    assert pointed(log)[0] == "pci.atomics"


def test_a_text_that_nobody_knows_points_nowhere() -> None:
    assert pointed("the quick brown fox") == ()


def test_a_huge_log_is_read_in_part_and_a_long_line_is_cut() -> None:
    assert pointed("x\n" * 30_000 + "PCI rejects atomics") == ()
    assert pointed("x" * 100_000 + "PCI rejects atomics") == ()
