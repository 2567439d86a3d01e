"""From an image's files to facts: every layout of ROCm, torches of all kinds, Pythons, users."""

from __future__ import annotations

import json
from typing import Any

import pytest
from image.making import Content, configuration, device_elf, host_elf, layer_of, plain_bundle, tarred

from rocenv.image.facts import audit, target_order
from rocenv.model.audit import Audit, Library, Python, Release, Torch

SITE = "opt/venv/lib/python3.12/site-packages"
# As wheels write it: torch 2.9.1 for ROCm 7.2 (dev/pytorch's tools/generate_torch_version.py gives the form).
ROCM_TORCH = (
    b"from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n"
    b"__version__ = '2.9.1+rocm7.2.0'\ndebug = False\ncuda: Optional[str] = None\n"
    b"git_version = 'abc'\nhip: Optional[str] = '7.2.26015'\n"
)
CUDA_TORCH = b"__version__ = '2.9.1+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n"


def audited(*layers: dict[str, Content], **settings: object) -> Audit:
    described: dict[str, Any] = json.loads(configuration([tarred(files) for files in layers], **settings))
    return audit(described, [layer_of(files) for files in layers], "sha256:1", None)


@pytest.mark.parametrize(
    ("files", "version", "path"),
    [
        ({"opt/rocm-7.2.4/.info/version": b"7.2.4-90\n", "opt/rocm": "/opt/rocm-7.2.4"},
         "7.2.4", "/opt/rocm-7.2.4/.info/version"),
        ({"opt/rocm/.info/version": b"6.4.1-83"}, "6.4.1", "/opt/rocm/.info/version"),
        ({"opt/rocm/core-7.14/.info/version": b"7.14.0\n"}, "7.14.0", "/opt/rocm/core-7.14/.info/version"),
        ({f"{SITE}/rocm_sdk_core-7.15.0a20260720.dist-info/METADATA": b""},
         "7.15.0a20260720", f"/{SITE}/rocm_sdk_core"),
        ({f"{SITE}/_rocm_sdk_core/.info/version": b"10.0.0"}, "10.0.0", f"/{SITE}/_rocm_sdk_core/.info/version"),
        ({"var/lib/dpkg/status": b"Package: rocm-core\nStatus: install ok installed\nVersion: 7.2.4.70204-90~24.04\n"},
         "7.2.4", "/var/lib/dpkg/status (rocm-core 7.2.4.70204-90~24.04)"),
        ({"usr/lib/ollama/libamdhip64.so.7.2.70201": host_elf()}, "7.2.1", "/usr/lib/ollama/libamdhip64.so.7.2.70201"),
        ({"var/lib/dpkg/status": b"Package: amdrocm-core7.14\nStatus: install ok installed\nVersion: 7.14.0-1\n"},
         "7.14.0", "/var/lib/dpkg/status (amdrocm-core7.14 7.14.0-1)"),
    ],
)  # fmt: skip
def test_the_release_of_rocm_in_every_layout(files: dict[str, Content], version: str, path: str) -> None:
    assert audited(files).rocm == (Release(version, path),)


def test_two_releases_are_both_told() -> None:
    found = audited({"opt/rocm-6.3.0/.info/version": b"6.3.0-39", "opt/rocm-7.2.4/.info/version": b"7.2.4-90"})
    assert [one.version for one in found.rocm] == ["6.3.0", "7.2.4"]


def test_what_is_no_version_is_none() -> None:
    assert audited({"opt/rocm/.info/version": b"\x1b[31mhello"}).rocm == ()


def test_hip_by_its_own_file_or_by_debian() -> None:
    text = b"# Auto-generated\nHIP_VERSION_MAJOR=7\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=26015\n"
    assert audited({"opt/rocm/share/hip/version": text}).hip == (Release("7.2.26015", "/opt/rocm/share/hip/version"),)
    status = b"Package: libamdhip64-5\nStatus: install ok installed\nVersion: 5.7.1-6+b1\n"
    assert [one.version for one in audited({"var/lib/dpkg/status": status}).hip] == ["5.7.1"]


def test_torch_for_rocm() -> None:
    flags = host_elf(b"\0gfx90a gfx942\0")
    found = audited({f"{SITE}/torch/version.py": ROCM_TORCH, f"{SITE}/torch/lib/libtorch_python.so": flags})
    assert found.torch == (Torch("2.9.1+rocm7.2.0", f"/{SITE}/torch", "7.2.26015", None, None, ("gfx90a", "gfx942")),)


def test_torch_for_cuda_and_for_the_cpu() -> None:
    debian = b"__version__ = '2.6.0+debian'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"
    assert audited({f"{SITE}/torch/version.py": CUDA_TORCH}).torch[0].cuda == "12.8"
    found = audited({"usr/lib/python3/dist-packages/torch/version.py": debian}).torch[0]
    assert (found.version, found.hip, found.cuda) == ("2.6.0+debian", None, None)


def test_a_newer_torch_names_rocm_itself() -> None:
    text = b'__version__ = "2.14.0"\nrocm: Optional[str] = "10.1.0"\nhip = "7.16"\n'
    assert audited({f"{SITE}/torch/version.py": text}).torch[0][2:5] == ("7.16", None, "10.1.0")


def test_what_is_kept_or_was_built_from_is_no_torch() -> None:
    conda = "opt/conda/envs/py_3.10/lib/python3.10/site-packages"
    found = audited({
        f"{conda}/torch/version.py": ROCM_TORCH, "var/lib/jenkins/pytorch/torch/version.py": ROCM_TORCH,
        "opt/conda/pkgs/pytorch-2.9.1/lib/python3.10/site-packages/torch/version.py": CUDA_TORCH,
        "root/.cache/uv/archive-v0/a1/torch/lib/libtorch_hip.so": host_elf(plain_bundle("gfx942")),
    })  # fmt: skip
    assert [one.path for one in found.torch] == [f"/{conda}/torch"]
    assert found.libraries == ()


def test_pythons() -> None:
    found = audited({
        "usr/bin/python3.12": b"ELF", "opt/venv/bin/python3": "/usr/bin/python3.12",
        "opt/venv/pyvenv.cfg": b"home = /usr/bin\nversion = 3.12.3\n",
        "opt/conda/envs/py_3.10/conda-meta/python-3.10.14-h1.json": b"{}",
        "opt/conda/envs/py_3.10/bin/python3.10": b"ELF",
        "root/.local/share/uv/python/cpython-3.13.1/bin/python3.13": b"ELF",
    })  # fmt: skip
    assert set(found.pythons) == {
        Python("/usr/bin/python3.12", "3.12", "system"),
        Python("/opt/venv", "3.12.3", "venv"),
        Python("/opt/conda/envs/py_3.10", "3.10.14", "conda"),
        Python("/root/.local/share/uv/python/cpython-3.13.1/bin/python3.13", "3.13", "other"),
    }
    assert found.links == {"/opt/venv/bin/python3": "/usr/bin/python3.12"}


def test_what_an_image_starts_and_as_whom() -> None:
    found = audited(
        {"etc/group": b"root:x:0:\nvideo:x:44:root\nrender:x:109:\nbad:x\nrender2:x:1:\n",
         "usr/lib/os-release": b'PRETTY_NAME="Ubuntu 24.04.2 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\n'},
        User="1000:1000", Entrypoint=["/app/server"], Cmd=["--help"], WorkingDir="/app",
        Env=["PATH=/usr/bin", "ROCM_PATH=/opt/rocm", "HF_TOKEN=hush", "GPU_API_KEY=hush", "HOME=/root"],
    )  # fmt: skip
    assert (found.user, found.groups) == ("1000:1000", {"video": 44, "render": 109})
    assert (found.entrypoint, found.command, found.workdir) == (("/app/server",), ("--help",), "/app")
    assert found.env == {"PATH": "/usr/bin", "ROCM_PATH": "/opt/rocm"}
    assert (found.system, found.machine) == ("Ubuntu 24.04", "amd64")


def test_libraries_put_their_files_together() -> None:
    tensile = "opt/rocm/lib/rocblas/library"
    found = audited(
        {"opt/rocm/lib/librocblas.so.5.2.70204": host_elf(plain_bundle("gfx1100", "gfx90a", "gfx942")),
         f"{tensile}/TensileLibrary_lazy_gfx942.dat": b"data", f"{tensile}/TensileLibrary_lazy_gfx90a.dat": b"data",
         f"{tensile}/Kernels.so-000-gfx90a-xnack+.hsaco": plain_bundle("gfx90a:xnack+"),
         "opt/rocm/share/miopen/db/gfx942130.kdb": b"SQLite",
         f"{SITE}/aiter/hsa/gfx942/a.co": device_elf(0x4C), f"{SITE}/aiter/hsa/gfx950/a.co": device_elf(0x4F)},
    )  # fmt: skip
    assert found.libraries == (
        Library("aiter", "objects", f"/{SITE}/aiter", ("gfx942", "gfx950"), 2),
        Library("miopen", "database", "/opt/rocm/share/miopen/db", ("gfx942",), 1),
        Library("rocblas", "code", "/opt/rocm/lib", ("gfx90a", "gfx942", "gfx1100"), 1),
        Library("rocblas", "tensile", f"/{tensile}", ("gfx90a", "gfx90a:xnack+", "gfx942"), 3),
    )


def test_libraries_whose_code_is_in_kpack_archives() -> None:
    marked = host_elf() + b"\0.text\0.rocm_kpack_ref\0"
    found = audited({f"{SITE}/torch/lib/libtorch_hip.so": marked, f"{SITE}/torch/.kpack/torch_gfx942.kpack": b"KPAK",
                     f"{SITE}/torch/.kpack/torch_gfx1100.kpack": b"KPAK"})  # fmt: skip
    assert found.libraries == (Library("torch", "kpack", f"/{SITE}/torch/.kpack", ("gfx942", "gfx1100"), 2),)
    assert found.kpack_wanted == (f"/{SITE}/torch/lib/libtorch_hip.so",)


def test_libraries_of_a_lower_layer_that_were_removed_are_not_there() -> None:
    lower: dict[str, Content] = {"opt/rocm/lib/librocblas.so.4": host_elf(plain_bundle("gfx906"))}
    found = audited(lower, {"opt/rocm/lib/.wh.librocblas.so.4": b""})
    assert (found.libraries, found.shared, found.layers) == ((), (), 2)


def test_targets_go_by_their_numbers() -> None:
    names = ["gfx1201", "gfx11-generic", "gfx1100", "gfx90a", "gfx9-4-generic", "gfx942", "gfx1030", "gfx11xx"]
    assert sorted(names, key=target_order) == [
        "gfx90a", "gfx942", "gfx9-4-generic", "gfx1030", "gfx1100", "gfx11xx", "gfx11-generic", "gfx1201",
    ]  # fmt: skip


def test_a_configuration_of_rubbish_is_no_traceback() -> None:
    odd: list[dict[str, Any]] = [{}, {"config": None}, {"config": []}, {"config": {"Env": 3, "User": [], "Cmd": "x"}}]
    for rubbish in odd:
        assert audit(rubbish, [], "sha256:1", None).user == "root"
