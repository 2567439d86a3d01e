"""What tags say: each family's own, and no other's. Expected values read by hand from the tags."""

from __future__ import annotations

import pytest

from rocenv.catalog import gpus, images
from rocenv.catalog.references import Reference
from rocenv.catalog.versions import Version


def described(text: str) -> images.CatalogImage:
    found = images.describe(Reference.parse(text))
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("reference", "rocm", "ubuntu", "python", "frameworks"),
    [
        (
            "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0",
            "7.2.4",
            "24.04",
            "3.12",
            {"pytorch": "2.10.0"},
        ),
        (
            "rocm/pytorch:rocm10.0_ubuntu26.04_py3.14_pytorch_release_2.13.0",
            "10.0.0",
            "26.04",
            "3.14",
            {"pytorch": "2.13.0"},
        ),
        ("rocm/pytorch:rocm6.1_ubuntu22.04_py3.10_pytorch_2.1.2", "6.1", "22.04", "3.10", {"pytorch": "2.1.2"}),
        ("rocm/pytorch:rocm9.9_ubuntu24.04_py3.12_pytorch_release_3.0.0", "9.9", "24.04", "3.12", {"pytorch": "3.0.0"}),
        ("rocm/dev-ubuntu-24.04:7.2.4-complete", "7.2.4", "24.04", "3.12", {}),
        ("rocm/dev-ubuntu-22.04:6.3.1-complete", "6.3.1", "22.04", "3.10", {}),
        ("rocm/dev-ubuntu-26.04:10.0.0-full", "10.0", "26.04", "3.14", {}),
        ("rocm/rocm-terminal:6.4", "6.4", "22.04", "3.10", {}),
        ("rocm/tensorflow:rocm7.14.1-ubuntu24.04-py3.12-tf2.19.1", "7.14.1", "24.04", "3.12", {"tensorflow": "2.19.1"}),
        ("rocm/tensorflow:rocm7.2-py3.12-tf2.20-dev", "7.2", None, "3.12", {"tensorflow": "2.20"}),
        ("rocm/jax:rocm10.1.0_ubuntu26.04_py3.14_jax_release_0.11.1", "10.1", "26.04", "3.14", {"jax": "0.11.1"}),
        ("rocm/jax:rocm7.0.2-jax0.6.0-py3.12-ubu24", "7.0.2", "24.04", "3.12", {"jax": "0.6.0"}),
        ("rocm/jax:rocm6.1.0-jax0.4.26-py3.11.0", "6.1", None, "3.11.0", {"jax": "0.4.26"}),
        (
            "rocm/vllm:rocm7.14.1_rdna_ubuntu24.04_py3.14_pytorch_2.11_vllm_0.23.0",
            "7.14.1",
            "24.04",
            "3.14",
            {"pytorch": "2.11", "vllm": "0.23.0"},
        ),
        ("rocm/vllm:rocm7.0.0_vllm_0.11.2_20251210", "7.0", None, None, {"vllm": "0.11.2"}),
        ("rocm/sgl-dev:v0.5.18-rocm724-mi35x-20260826", "7.2.4", None, None, {"sglang": "0.5.18", "pytorch": "2.11.0"}),
        ("lmsysorg/sglang:v0.5.10-rocm720-mi30x", "7.2", None, None, {"sglang": "0.5.10"}),
        (
            "rocm/onnxruntime:rocm7.2.4_ub24.04_ort1.23_torch2.10.0",
            "7.2.4",
            "24.04",
            None,
            {"onnxruntime": "1.23", "pytorch": "2.10.0"},
        ),
        ("rocm/comfyui:comfyui-0.18.2.amd0_rocm7.2.0_ubuntu24.04", "7.2", "24.04", None, {"comfyui": "0.18.2"}),
        ("mixa3607/pytorch-gfx906:v2.11.0-rocm-7.2.0", "7.2", None, None, {"pytorch": "2.11.0"}),
    ],
)
def test_tags_are_read(
    reference: str, rocm: str, ubuntu: str | None, python: str | None, frameworks: dict[str, str]
) -> None:
    found = described(reference)
    assert found.rocm == Version.parse(rocm)
    assert (found.ubuntu, found.python, dict(found.frameworks)) == (ubuntu, python, frameworks)


@pytest.mark.parametrize(
    "reference",
    [
        "lmsysorg/sglang:v0.5.18",
        "lmsysorg/sglang:v0.5.18-cu130-runtime",
        "lmsysorg/sglang:latest",
        "ollama/ollama:latest",
        "ollama/ollama:0.40.0",
        "ghcr.io/ggml-org/llama.cpp:server-cuda",
        "ghcr.io/ggml-org/llama.cpp:server",
        "ghcr.io/huggingface/text-generation-inference:3.3.5",
        "rocm/pytorch:rocm7.2.4-py3.12-tf2.20-dev",
        "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0-evil",
        "example/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0",
        "quay.io/rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0",
    ],
)
def test_cuda_builds_and_strangers_are_never_taken_for_rocm(reference: str) -> None:
    assert images.describe(Reference.parse(reference)) is None


def all_listed() -> list[images.CatalogImage]:
    return [image for one in images.families() for image in images.known(one.name)]


def test_every_listed_tag_parses_by_its_own_family_alone() -> None:
    for image in all_listed():
        assert images.describe(image.reference) == image
        assert image.moving or image.rocm or image.family not in ("rocm/pytorch", "rocm/dev-ubuntu")
    assert len(all_listed()) == len({image.reference.full for image in all_listed()})


def test_targets_in_tags_and_lists_are_real() -> None:
    known = set(gpus.targets())
    for image in all_listed():
        assert set(image.gfx or ()) <= known, image.reference.full


@pytest.mark.parametrize(
    ("reference", "has", "lacks"),
    [
        (
            "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0",
            ["gfx942", "gfx1151", "gfx1201"],
            ["gfx906", "gfx1031"],
        ),
        (
            "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0",
            ["gfx942", "gfx950"],
            ["gfx1102", "gfx1151"],
        ),
        ("rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0", ["gfx90a"], ["gfx950", "gfx1200"]),
        ("rocm/vllm:rocm7.14.0_cdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0", ["gfx942"], ["gfx1100"]),
        ("rocm/sgl-dev:v0.5.19-rocm724-gfx1151-20260914", ["gfx1151"], ["gfx942"]),
    ],
)
def test_what_an_image_carries(reference: str, has: list[str], lacks: list[str]) -> None:
    found = described(reference)
    assert all(found.carries(gfx) for gfx in has)
    assert not any(found.carries(gfx) for gfx in lacks)


def test_hearsay_is_marked() -> None:
    assert not described("rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0").gfx_verified
    assert described("rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0").gfx_verified


def test_code_for_a_generic_target_runs_on_its_members() -> None:
    image = described("rocm/pytorch:latest")._replace(gfx=("gfx11-generic",))
    assert image.carries("gfx1103")
    assert not image.carries("gfx1200")
    assert image._replace(gfx=None).carries("gfx1103") is None


def test_where_python_is() -> None:
    assert described("rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0").python_path == (
        "/opt/conda/envs/py_3.10/bin/python3"
    )
    assert (
        described("rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0").python_path
        == "/opt/venv/bin/python3"
    )


def test_what_stands_in_for_a_family() -> None:
    found = [one.reference.familiar for one in images.instead_of("rocm/pytorch", "gfx906")]
    assert found[0] == "mixa3607/pytorch-gfx906:v2.13.0-rocm-7.14"
    assert {one.partition(":")[0] for one in found} == {"mixa3607/pytorch-gfx906"}
    assert next(images.instead_of("rocm/vllm", "gfx906")).reference.repository == "mixa3607/vllm-gfx906"
    assert next(images.instead_of("rocm/pytorch", "gfx803")).family == "woodrex/pytorch-gfx803"
    assert list(images.instead_of("rocm/pytorch", "gfx942")) == []
