"""What paths tell, on file names as ROCm's packages install them."""

from __future__ import annotations

import pytest

from rocenv.image import names
from rocenv.image.names import Told

SITE = "v/lib/python3.12/site-packages"
TENSILE = "opt/rocm-7.2.4/lib/rocblas/library"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{TENSILE}/TensileLibrary_lazy_gfx90a.dat", ("rocblas", "tensile", "gfx90a")),
        (
            f"{TENSILE}/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx942.co",
            ("rocblas", "tensile", "gfx942"),
        ),
        (f"{TENSILE}/Kernels.so-000-gfx90a-xnack+.hsaco", ("rocblas", "tensile", "gfx90a:xnack+")),
        (f"{TENSILE}/Kernels.so-000-gfx906-xnack-.hsaco", ("rocblas", "tensile", "gfx906:xnack-")),
        (f"{TENSILE}/Kernels.so-000-gfx1100.hsaco", ("rocblas", "tensile", "gfx1100")),
        (f"{TENSILE}/TensileLibrary_Type_CC_fallback_gfx1030.hsaco", ("rocblas", "tensile", "gfx1030")),
        # Debian's librocblas4
        (
            "usr/lib/x86_64-linux-gnu/rocblas/4.4.1/library/TensileLibrary_lazy_gfx1030.dat",
            ("rocblas", "tensile", "gfx1030"),
        ),
        ("opt/rocm/lib/hipblaslt/library/gfx950/TensileLibrary_BB_gfx950.co", ("hipblaslt", "tensile", "gfx950")),
        ("opt/rocm/lib/hipblaslt/library/extop_gfx1201.co", ("hipblaslt", "tensile", "gfx1201")),
        ("opt/rocm/lib/hipsparselt/library/TensileLibrary_gfx942.dat", ("hipsparselt", "tensile", "gfx942")),
        ("opt/rocm/share/miopen/db/gfx942130.kdb", ("miopen", "database", "gfx942")),
        ("opt/rocm/share/miopen/db/gfx90a68.HIP.fdb.txt", ("miopen", "database", "gfx90a")),
        ("opt/rocm/share/miopen/db/gfx90878.db.txt", ("miopen", "database", "gfx908")),
        ("opt/rocm/share/miopen/db/gfx1030_36.db", ("miopen", "database", "gfx1030")),
        ("opt/rocm/share/miopen/db/gfx906_60.HIP.2_1_0.ufdb.txt", ("miopen", "database", "gfx906")),
        ("x/torch/lib/aotriton.images/amd-gfx90a/flash/attn_fwd/a.aks2", ("aotriton", "kernels", "gfx90a")),
        ("x/torch/lib/aotriton.images/amd-gfx11xx/flash/a.aks2", ("aotriton", "kernels", "gfx11xx")),
        ("x/torch/lib/aotriton.images/amd-gfx120x/flash/a.aks2", ("aotriton", "kernels", "gfx120x")),
        ("x/_rocm_sdk_libraries/.kpack/blas_lib_gfx1100.kpack", ("blas_lib", "kpack", "gfx1100")),
        ("x/torch/.kpack/torch_gfx942.kpack", ("torch", "kpack", "gfx942")),
        ("x/torch/.kpack/torch_gfx9-4-generic.kpack", ("torch", "kpack", "gfx9-4-generic")),
        (f"{TENSILE}/TensileLibrary_gfx000.dat", None),
        (f"{TENSILE}/TensileManifest.txt", None),
        ("usr/share/doc/gfx942.txt", None),
    ],
)
def test_data_files_of_libraries(path: str, expected: tuple[str, str, str] | None) -> None:
    found = names.told(path)
    assert (found and (found.library, found.kind, found.target)) == expected
    assert (names.wanted(path) == names.NAME) == (expected is not None)


def test_where_they_lie() -> None:
    assert names.told(f"{TENSILE}/TensileLibrary_lazy_gfx90a.dat") == Told("rocblas", "tensile", TENSILE, "gfx90a")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("opt/rocm-7.2.4/lib/librocblas.so.5.2.70204", ("rocblas", "opt/rocm-7.2.4/lib")),
        ("opt/rocm/lib/libMIOpen.so.1.0", ("miopen", "opt/rocm/lib")),
        (f"{SITE}/torch/lib/librocblas.so", ("rocblas", f"{SITE}/torch/lib")),
        (f"{SITE}/torch/lib/libtorch_hip.so", ("torch/libtorch_hip", f"{SITE}/torch")),
        (f"{SITE}/vllm/_C.abi3.so", ("vllm/_C", f"{SITE}/vllm")),
        (f"{SITE}/x/ops.cpython-312-x86_64-linux-gnu.so", ("x/ops", f"{SITE}/x")),
        ("app/lib/libggml-hip.so", ("ggml-hip", "app/lib")),
        ("app/llama-server", ("llama-server", "app")),
    ],
)  # fmt: skip
def test_the_library_that_a_file_is(path: str, expected: tuple[str, str]) -> None:
    assert names.library(path) == expected


def test_loose_objects_belong_to_their_package_or_folder() -> None:
    assert names.objects(f"{SITE}/aiter_meta/hsa/gfx942/fmoe/a.co")[0] == "aiter_meta"
    # It holds code for all targets at once, so its name says none. (Debian's libhipblaslt1 7.1.1 has gfx908 alone.)
    transform = "usr/lib/x86_64-linux-gnu/hipblaslt/library/hipblasltTransform.hsaco"
    assert names.objects(transform) == ("hipblaslt", "usr/lib/x86_64-linux-gnu/hipblaslt/library")
    assert names.objects("opt/kernels/gfx942/a.co") == ("kernels", "opt/kernels/gfx942")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{SITE}/torch-2.9.1+rocm7.2.0.lw.git1a2b3c4d.dist-info/METADATA",
         (SITE, "torch", "2.9.1+rocm7.2.0.lw.git1a2b3c4d")),
        ("x/site-packages/pytorch_triton_rocm-3.5.1.dist-info", ("x/site-packages", "pytorch-triton-rocm", "3.5.1")),
        ("x/site-packages/rocm_sdk_core-7.14.0.dist-info/METADATA", ("x/site-packages", "rocm-sdk-core", "7.14.0")),
        ("site-packages/nvidia_cublas_cu12-12.8.4.1.dist-info", ("site-packages", "nvidia-cublas-cu12", "12.8.4.1")),
        ("usr/lib/python3/dist-packages/torch-2.6.0+debian.egg-info/PKG-INFO",
         ("usr/lib/python3/dist-packages", "torch", "2.6.0+debian")),
        ("x/site-packages/torchmetrics-1.0.dist-info/METADATA", None),
        ("x/site-packages/torch-2.9.1.dist-info/RECORD", None),
    ],
)  # fmt: skip
def test_packages_of_python(path: str, expected: tuple[str, str, str] | None) -> None:
    assert names.distribution(path) == expected


def test_pythons_and_links() -> None:
    assert names.is_python("usr/bin/python3.12")
    assert names.is_python("root/.local/share/uv/python/cpython-3.13.1-linux/bin/python3.13")
    assert not names.is_python("usr/bin/python3.12-config")
    assert names.conda_python("opt/conda/envs/py_3.10/conda-meta/python-3.10.14-h955ad1f_1.json") == (
        "opt/conda/envs/py_3.10", "3.10.14",
    )  # fmt: skip
    assert all(map(names.wanted_link, ["opt/rocm", "opt/rocm/core", "usr/bin/python3", "opt/venv/bin/python"]))
    assert not names.wanted_link("opt/rocm/lib")


def test_the_release_in_a_library_name() -> None:
    assert names.rocm_library("opt/rocm/lib/libamdhip64.so.7.2.70204") == ("amdhip64", "7.2.70204")
    assert names.rocm_library("usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1.7.0") == ("hsa-runtime64", "1.7.0")
    assert names.rocm_library("usr/lib/librocblas-bench.so") is None
