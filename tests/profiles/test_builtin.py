"""The profiles that rocenv brings: each can be used, and each kind of image that the catalog knows has one."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml
from profiles.conftest import Layers

from rocenv.catalog import images
from rocenv.profile.schema import json_schema
from rocenv.resources import data_folder

FILES = sorted(data_folder("profiles").glob("*.yaml"))
NAMES = [path.stem for path in FILES]
# Families that nobody is to work in: plugins of clusters, images to build others with.
WITHOUT = frozenset(
    {
        "rocm/dev-centos",
        "rocm/k8s-device-plugin",
        "rocm/roce-workload",
        "ghcr.io/rocm/no_rocm_image_ubuntu24_04",
        "ghcr.io/rocm/therock_build_manylinux_x86_64",
    }
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_sound_by_the_schema(path: Path) -> None:
    jsonschema.validate(yaml.safe_load(path.read_text()), json_schema())


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_and_names_a_family_of_the_catalog(name: str, layers: Layers) -> None:
    wished = layers.load(name)
    family = images.family(wished.image.family or "")
    assert family is not None
    assert images.known(family.name)
    assert wished.summary
    assert wished.loosen == ()  # nothing is loosened unless the user says so
    assert "home" in wished.caches
    assert all(port.startswith("127.0.0.1:") for port in wished.ports)


def test_every_family_has_a_profile(layers: Layers) -> None:
    taken = {layers.load(name).image.family for name in NAMES}
    # Nobody works in a tool: a plugin of a cluster, an image to build others with.
    assert {one.name for one in images.families() if one.kind != "tool"} == taken


@pytest.mark.parametrize("name", NAMES)
def test_a_community_build_is_called_one(name: str, layers: Layers) -> None:
    wished = layers.load(name)
    family = images.family(wished.image.family or "")
    assert family is not None
    assert ("by the community, not AMD" in wished.summary) == family.community


# Ray, and vLLM with it, refuses ROCR_VISIBLE_DEVICES where HIP_VISIBLE_DEVICES is absent (ray-project/ray, AMD GPU
# accelerator manager).
@pytest.mark.parametrize("name", ["vllm", "vllm-dev", "vllm-openai"])
def test_vllm_is_given_hip_s_variable(name: str, layers: Layers) -> None:
    assert layers.load(name).visible == "hip"


# Ports that the programs' own pages name.
@pytest.mark.parametrize(
    ("name", "port"),
    [
        ("vllm", "8000:8000"),
        ("sglang", "30000:30000"),
        ("comfyui", "8188:8188"),
        ("ollama", "11434:11434"),
        ("llama-cpp", "8080:8080"),
        ("text-generation-inference", "8080:80"),
    ],
)
def test_servers_are_reached_on_their_own_ports(name: str, port: str, layers: Layers) -> None:
    assert layers.load(name).ports == (f"127.0.0.1:{port}",)
