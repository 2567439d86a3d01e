"""What is in an image beyond its tag, by hand from public Dockerfiles and pages; and that hearsay is told as such."""

from __future__ import annotations

from typing import Any

import pytest

from rocenv.catalog import images, table
from rocenv.catalog.references import Reference

LLAMA = "ghcr.io/ggml-org/llama.cpp"
TGI = "ghcr.io/huggingface/text-generation-inference"


def described(text: str) -> images.CatalogImage:
    found = images.describe(Reference.parse(text))
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("reference", "facts"),
    [
        (f"{LLAMA}:server-rocm-b11312", {"entrypoint": "/app/llama-server", "port": 8080}),
        (f"{LLAMA}:light-rocm", {"entrypoint": "/app/llama-cli", "port": None}),
        (f"{LLAMA}:full-rocm-b1", {"entrypoint": "/app/tools.sh", "env": {}}),
        (f"{LLAMA}:server-rocm", {"env": {"LLAMA_ARG_HOST": "0.0.0.0"}, "moving": True}),
        ("ollama/ollama:rocm", {"entrypoint": "/bin/ollama serve", "port": 11434, "volume": "/root/.ollama"}),
        ("ollama/ollama:rocm", {"driver": ">=30.10"}),
        (f"{TGI}:3.3.5-rocm", {"entrypoint": "text-generation-launcher", "port": 80, "volume": "/data"}),
        (f"{TGI}:3.3.5-rocm", {"base": "rocm/dev-ubuntu-22.04:6.3.1-complete", "gfx": ("gfx90a", "gfx942")}),
        (f"{TGI}:1.2-rocm", {"base": None}),
        ("rocm/rocm-terminal:6.4", {"user": "rocm-user", "workdir": "/home/rocm-user", "compiler": True}),
        ("rocm/dev-ubuntu-24.04:7.2.4", {"user": "root", "workdir": "/", "python_path": "/usr/bin/python3"}),
        ("rocm/primus:v26.5", {"workdir": "/workspace", "python_path": "/opt/venv/bin/python3", "release": "26.5"}),
        ("rocm/primus:v26.4", {"env": {"HSA_NO_SCRATCH_RECLAIM": "1", "HSA_ENABLE_SCRATCH_ASYNC_RECLAIM": "0"}}),
        ("rocm/comfyui:latest", {"workdir": "/app/ComfyUI", "port": 8188, "gfx": ("gfx942", "gfx950")}),
        ("rocm/vllm-dev:nightly", {"workdir": "/app", "user": "root", "python_path": "/usr/bin/python3.12"}),
        ("rocm/jax:rocm7.2-jax0.8.0-py3.12", {"workdir": "/workspace", "only": None}),
        ("rocm/jax:rocm10.1.0_ubuntu24.04_py3.12_jax_release_0.11.0", {"only": "Instinct"}),
        ("rocm/jax:rocm10.1.0_ubuntu24.04_py3.12_jax_release_0.11.1", {"only": None}),
        ("rocm/pytorch:rocm7.14_ubuntu24.04_py3.12_pytorch_release_2.10.0", {"only": "Instinct"}),
        ("rocm/pytorch:rocm7.14_ubuntu24.04_py3.12_pytorch_release_2.11.0", {"only": None, "size_bytes": 19300000000}),
        ("rocm/pytorch:rocm10.0_ubuntu26.04_py3.14_pytorch_release_2.13.0", {"digest": "sha256:3174cb70"}),
        ("rocm/pytorch:rocm7.2_ubuntu22.04_py3.10_pytorch_release_2.9.1", {"workdir": "/var/lib/jenkins"}),
        ("rocm/dev-ubuntu-24.04:10.1.0-full", {"pushed": "2026-10-05", "digest": "sha256:5ed1362e"}),
        ("rocm/sgl-dev:v0.5.17-rocm720-mi30x-20260819", {"gfx": ("gfx942",), "gfx_verified": True}),
        ("rocm/dev-almalinux-8:7.2.1-complete", {"os": "AlmaLinux 8", "ubuntu": None}),
    ],
)
def test_what_is_in_an_image(reference: str, facts: dict[str, Any]) -> None:
    found = described(reference)
    assert {name: getattr(found, name) for name in facts} == facts


# Conditions of quirks: a release, a flavor, and a flavor that is not there.
@pytest.mark.parametrize(
    ("has", "lacks", "words"),
    [
        ("rocm/dev-ubuntu-24.04:7.2.4", "rocm/dev-ubuntu-24.04:7.2.4-complete", "no math libraries"),
        ("rocm/dev-ubuntu-24.04:7.14.0-full", "rocm/dev-ubuntu-24.04:7.2.4-complete", "/opt/rocm/core-X.Y"),
        ("rocm/dev-ubuntu-24.04:7.2.4", "rocm/dev-ubuntu-24.04:7.14.0-full", "gid 109"),
        (
            "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_2.10.0_ORT1.23",
            "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0",
            "built for Radeon",
        ),
    ],
)
def test_a_quirk_holds_where_it_was_seen(has: str, lacks: str, words: str) -> None:
    assert any(words in quirk for quirk in described(has).quirks)
    assert not any(words in quirk for quirk in described(lacks).quirks)


def test_what_stands_on_hearsay_is_not_verified() -> None:
    assert not table.verified("images", "mk")
    assert not table.verified("images", "docs, inferred: the list of 10.1")
    assert table.verified("images", "docs, public: mk is only a remark here")
    rdna = described("rocm/vllm:rocm7.14.1_rdna_ubuntu24.04_py3.14_pytorch_2.11_vllm_0.23.0")
    assert rdna.carries("gfx1100")
    assert not rdna.sure_of("gfx1100")  # by the list of 10.1
    assert rdna.sure_of("gfx1151")  # seen at work


def test_every_fact_names_sources_that_are_dated_or_hearsay() -> None:
    for name in ("images", "releases", "drivers", "gpus", "support"):
        for key, about in table.built_in(name)["sources"].items():
            assert about["what"], key
            assert about.get("hearsay") or about["date"] <= table.built_in(name)["date"], (name, key)


def test_every_source_that_is_named_is_there() -> None:
    """In the tables whose shape does not hold that already; a tracker's number stands for itself."""
    for name in ("releases", "drivers", "gpus", "support"):
        data = table.built_in(name)
        for source in sources_in(data):
            for key in table.keys(source):
                assert key in data["sources"] or "#" in key, (name, source)


def sources_in(data: Any) -> list[str]:
    """Every source that a table names, however deep."""
    if isinstance(data, list):
        return [source for one in data for source in sources_in(one)]
    if not isinstance(data, dict):
        return []
    own = [value for key, value in data.items() if key == "source" or key.endswith("_source")]
    named = [one for value in own for one in (value if isinstance(value, list) else [value])]
    return named + [source for value in data.values() for source in sources_in(value)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("rocm/primus:v26.5", "rocm/primus:v26.5.1"),
        ("rocm/sgl-dev:v0.5.10.post1-rocm720-mi30x-20260427", "rocm/sgl-dev:v0.5.17-rocm720-mi30x-20260819"),
        ("rocm/vllm:rocm7.0.0_vllm_0.10.2_20251006", "rocm/vllm:rocm7.0.0_vllm_0.11.2_20251210"),
    ],
)
def test_images_are_newer_by_what_their_family_is_for(older: str, newer: str) -> None:
    one, other = described(older).version, described(newer).version
    assert one is not None
    assert other is not None
    assert one < other


def test_a_list_that_a_release_has_by_inference_is_not_verified() -> None:
    """ROCm 10.1's list of targets was read, that of 10.0 was not."""
    assert described("rocm/dev-ubuntu-24.04:10.1.0-full").gfx_verified
    older = described("rocm/dev-ubuntu-26.04:10.0.0-full")
    assert older.gfx is not None
    assert not older.gfx_verified


def test_the_facts_that_hang_on_hearsay_are_named() -> None:
    image = described("rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0")
    assert set(image.unverified) == {"workdir", "size", "gfx"}
    assert described("rocm/primus:v26.5").unverified == ()
