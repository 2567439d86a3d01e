"""Every example tag of every family is read as a person reads it, by its own family alone; nothing crashes on any tag.

`tags.txt` was written by hand from public pages, files and tag lists.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocenv.catalog import images
from rocenv.catalog.references import DOCKER_HUB, Reference
from rocenv.catalog.versions import Version

LINES = [line for line in Path(__file__).with_name("tags.txt").read_text().splitlines() if line[:1] not in ("", "#")]
TABLE = {line.split()[0]: dict(word.split("=", 1) for word in line.split()[1:]) for line in LINES}
PLAIN = ("ubuntu", "python", "flavor", "target", "release")

# Families whose tags are written in one way by nature: their repositories alone tell them apart.
ALIKE = (
    {"rocm/dev-ubuntu", "rocm/dev-almalinux", "rocm/dev-centos", "rocm/dev-manylinux", "rocm/rocm-terminal",
     "mixa3607/rocm-gfx906", "mixa3607/llama.cpp-gfx906"},
    {"rocm/primus", "rocm/megatron-lm", "rocm/pytorch-training"},
    {"rocm/jax", "rocm/jax-community"},
    {"ollama/ollama", "ghcr.io/huggingface/text-generation-inference"},
    {"mixa3607/pytorch-gfx906", "mixa3607/comfyui-gfx906", "mixa3607/llama.cpp-gfx906"},
)  # fmt: skip


def described(reference: str) -> images.CatalogImage:
    found = images.describe(Reference.parse(reference))
    assert found is not None, reference
    return found


def test_the_table_is_whole() -> None:
    """Each family has a line but those of which no tag was read, so that a new family without one is seen."""
    families = {described(reference).family for reference in TABLE}
    assert {one.name for one in images.families()} - families == {"rocm/dev-centos", "rocm/dev-manylinux"}
    assert len(LINES) == len(TABLE)


@pytest.mark.parametrize("reference", TABLE)
def test_a_tag_is_read(reference: str) -> None:
    wanted = {key: value.replace("_", " ") if key == "os" else value for key, value in TABLE[reference].items()}
    found = described(reference)
    assert found.moving == (wanted.pop("moving", "") == "yes")
    rocm = wanted.pop("rocm", None)
    assert found.rocm == (Version.parse(rocm) if rocm else None)
    assert found.os == wanted.pop("os", None)
    assert [getattr(found, key) for key in PLAIN] == [wanted.pop(key, None) for key in PLAIN]
    assert dict(found.frameworks) == wanted


def in_family(one: images.Family, tag: str) -> list[Reference]:
    return [Reference(one.registry, repository, tag, None) for repository in one.repositories]


@pytest.mark.parametrize("family", [one.name for one in images.families()])
def test_no_other_family_s_tag_is_taken(family: str) -> None:
    one = images.family(family)
    assert one is not None
    for reference in TABLE:
        found = described(reference)
        alike = any({family, found.family} <= group for group in ALIKE)
        if found.family == family or alike or found.moving:
            continue
        for other in in_family(one, str(found.reference.tag)):
            assert images.describe(other) is None, other.full


# Tags of repositories that hold other builds as well, as they stand in public files.
@pytest.mark.parametrize(
    "reference",
    [
        "lmsysorg/sglang:latest",
        "lmsysorg/sglang:v0.5.18",
        "lmsysorg/sglang:v0.5.18-cu130-runtime",
        "lmsysorg/sglang:v0.5.2rc1-cu126",
        "lmsysorg/sglang:dev",
        "ollama/ollama",
        "ollama/ollama:latest",
        "ollama/ollama:0.40.0",
        "ollama/ollama:0.11.4-rc0",
        "ghcr.io/ggml-org/llama.cpp:server",
        "ghcr.io/ggml-org/llama.cpp:server-cuda",
        "ghcr.io/ggml-org/llama.cpp:server-cuda13",
        "ghcr.io/ggml-org/llama.cpp:server-cuda-b11312",
        "ghcr.io/ggml-org/llama.cpp:server-vulkan",
        "ghcr.io/ggml-org/llama.cpp:full-intel",
        "ghcr.io/ggml-org/llama.cpp:server-musa",
        "ghcr.io/huggingface/text-generation-inference:latest",
        "ghcr.io/huggingface/text-generation-inference:3.3.5",
        "ghcr.io/huggingface/text-generation-inference:3.3.5-intel-cpu",
        "ghcr.io/huggingface/text-generation-inference:sha-0123abc",
        "kyuz0/amd-strix-halo-toolboxes:vulkan-radv",
        "kyuz0/amd-strix-halo-toolboxes:vulkan-amdvlk",
        "vllm/vllm-openai:v0.23.0",
        "pytorch/pytorch:2.10.0-cuda13.0-cudnn9-runtime",
    ],
)
def test_cuda_and_other_builds_are_never_taken(reference: str) -> None:
    assert images.describe(Reference.parse(reference)) is None


REPOSITORIES = [(one.registry, name) for one in images.families() for name in one.repositories]
REAL = [described(reference).reference for reference in TABLE]


@st.composite
def mutated(draw: st.DrawFn) -> Reference:
    """A real tag with a few characters put in, taken out or changed, in its own repository or any other."""
    reference = draw(st.sampled_from(REAL))
    tag = list(str(reference.tag))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(tag)))
        tag[place : place + draw(st.integers(0, 3))] = draw(st.text("0123456789.-_abrocmpygfxvX٣", max_size=5))
    registry, repository = draw(st.sampled_from([(reference.registry, reference.repository), *REPOSITORIES]))
    return Reference(registry, repository, "".join(tag)[:128] or "x", None)


@given(mutated())
def test_no_tag_whatever_crashes(reference: Reference) -> None:
    found = images.describe(reference)
    if found is None:
        return
    assert found.reference == reference or found.listed
    for value in (*found.frameworks.values(), found.python, found.ubuntu):
        assert value is None or Version.parse(value) <= Version((10**9,))
    assert found.gfx is None or found.gfx_source is not None
    assert found.family in {one.name for one in images.families() if reference.repository in one.repositories}


@given(st.sampled_from(REPOSITORIES), st.text(max_size=140))
def test_no_text_whatever_crashes(repository: tuple[str, str], tag: str) -> None:
    found = images.describe(Reference(*repository, tag, None))
    assert found is None or tag.isascii()


def test_a_registry_is_part_of_a_name() -> None:
    """The same path on another registry is somebody else's."""
    for registry, repository in REPOSITORIES:
        other = "quay.io" if registry == DOCKER_HUB else DOCKER_HUB
        for tag in ("latest", "main", "rocm", "7.2.4-complete"):
            assert images.describe(Reference(other, repository, tag, None)) is None
