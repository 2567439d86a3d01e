"""What is warned of, each by the smallest image that has it, and an image of AMD's form that has nothing."""

from __future__ import annotations

import pytest

from rocenv.catalog.images import CatalogImage, describe
from rocenv.catalog.references import Reference
from rocenv.image.warnings import warnings
from rocenv.model.audit import Audit, Library, Package, Python, Release, Shared, Torch

TAG = "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"
TORCH = Torch("2.10.0+rocm7.2.4", "/v/torch", "7.2.5", None, None, ("gfx90a", "gfx942"))
GOOD = Audit(
    "sha256:1",
    system="Ubuntu 24.04",
    rocm=(Release("7.2.4", "/opt/rocm-7.2.4/.info/version"),),
    torch=(TORCH,),
    pythons=(Python("/opt/venv", "3.12.3", "venv"), Python("/usr/bin/python3.12", "3.12", "system")),
    libraries=(Library("torch/libtorch_hip", "code", "/v/torch", ("gfx90a", "gfx942")),),
    shared=(Shared("rocblas", (("/opt/rocm-7.2.4/lib/librocblas.so.5.2.70204", "5.2.70204"),)),),
)


def tagged(reference: str = TAG) -> CatalogImage:
    found = describe(Reference.parse(reference))
    assert found is not None
    return found._replace(gfx=("gfx90a", "gfx942"), gfx_verified=True)


def test_an_image_that_is_what_its_tag_says() -> None:
    assert warnings(GOOD, tagged()) == ()
    assert warnings(GOOD, None) == ()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (GOOD._replace(rocm=(Release("7.0.2", "/x"),)), "its tag says ROCm 7.2.4, and ROCm 7.0.2 is inside"),
        (GOOD._replace(rocm=()), "its tag says ROCm 7.2.4, and nothing inside names a release"),
        (GOOD._replace(torch=(TORCH._replace(version="2.9.1+rocm7.2"),)), "tag says PyTorch 2.10.0, and 2.9.1+rocm7.2"),
        (GOOD._replace(torch=()), "its tag says PyTorch 2.10.0, and none is inside"),
        (GOOD._replace(pythons=(Python("/v", "3.10.1", "venv"),)), "its tag says Python 3.12, and 3.10.1 is inside"),
        (GOOD._replace(system="Ubuntu 22.04"), "its tag says Ubuntu 24.04, and Ubuntu 22.04 is inside"),
        (GOOD._replace(libraries=(Library("torch/libtorch_hip", "code", "/v/torch", ("gfx942",)),)),
         "images of this tag should carry gfx90a, and this one does not"),
    ],
)  # fmt: skip
def test_what_is_otherwise_than_the_tag(found: Audit, said: str) -> None:
    assert any(said in one for one in warnings(found, tagged()))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (GOOD._replace(torch=(TORCH._replace(hip=None, cuda="12.8"),)), "CUDA build (12.8): it cannot use an AMD GPU"),
        (GOOD._replace(torch=(TORCH._replace(hip=None),)), "built for the CPU alone"),
        (GOOD._replace(torch=(TORCH, TORCH._replace(path="/usr/torch"))), "there are 2 PyTorchs: /v/torch, /usr/torch"),
        (GOOD._replace(torch=(TORCH._replace(arch=("gfx942", "gfx1100")),)), "for gfx1100, and has no code for that"),
        (GOOD._replace(packages=(Package("nvidia-cublas-cu12", "12", "/v"),)), "1 packages of CUDA are in /v"),
        (GOOD._replace(cuda_torch=("/v/torch/lib/libtorch_cuda.so",)), "CUDA library, beside a PyTorch for ROCm"),
        (GOOD._replace(rocm=(Release("7.2.4", "/a"), Release("6.3.0", "/b"))), "of ROCm: 7.2.4 (/a), 6.3.0 (/b)"),
        (GOOD._replace(shared=(Shared("amdhip64", (("/a/libamdhip64.so.7.2.70204", "7.2.70204"),
                                                   ("/b/libamdhip64.so.6.3.60302", "6.3.60302"))),)),
         "libamdhip64 is from ROCm 6.3.2 and 7.2.4: /a/libamdhip64.so.7.2.70204, /b/libamdhip64.so.6.3.60302"),
        (GOOD._replace(shared=(Shared("rccl", (("/a/librccl.so.1", "1"), ("/b/librccl.so", ""))),)),
         "librccl are there twice (/a/librccl.so.1, /b/librccl.so)"),
        (GOOD._replace(kpack_wanted=("/lib/librocblas.so.5",)), "keep their code in kpack archives, and there is none"),
        (GOOD._replace(unreadable=("/lib/x.so",)), "code objects in 1 files could not be read: /lib/x.so"),
        (GOOD._replace(libraries=()), "there is ROCm inside, and no code for any GPU"),
        (GOOD._replace(env={"PYTORCH_ROCM_ARCH": "gfx942:xnack-;gfx1100"}), "PYTORCH_ROCM_ARCH names gfx1100, and"),
        (GOOD._replace(env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}), "sets HSA_OVERRIDE_GFX_VERSION=10.3.0"),
        (GOOD._replace(env={"HIP_VISIBLE_DEVICES": "0"}), "sets HIP_VISIBLE_DEVICES=0: it hides GPUs"),
        (GOOD._replace(outside=3), "3 entries of its layers have a path that leads out"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_itself(found: Audit, said: str) -> None:
    assert any(said in one for one in warnings(found, None))
