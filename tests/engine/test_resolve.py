"""What a reference comes to, asked of a real registry: found, no such tag, no such repository, nobody there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rocenv.catalog.references import Reference
from rocenv.engine.resolve import arch_list, look_up, view
from rocenv.errors import UsageError
from rocenv.model.health import ImageView

if TYPE_CHECKING:
    from engine.conftest import Registry


def asked(registry: Registry, reference: str, machine: str = "x86_64") -> ImageView:
    """The registry's word on an image of Docker Hub's, of which it is a mirror."""
    config = {"Mirrors": [f"http://{registry.address}"]}
    return look_up(ImageView(reference), Reference.parse(reference), config, machine)


def test_an_image_that_is_there(registry: Registry) -> None:
    registry.put("rocm/vllm", "a", [b"1234", b"56"])
    found = asked(registry, "rocm/vllm:a")
    assert (found.state, found.compressed_bytes) == ("found", 6)


def test_an_index_tells_its_machines_and_the_size_for_this_one(registry: Registry) -> None:
    registry.put("rocm/vllm", "many", [b"1234"], machines=("amd64", "arm64"))
    found = asked(registry, "rocm/vllm:many", "aarch64")
    assert (found.machines, found.compressed_bytes) == (("amd64", "arm64"), 8)
    other = asked(registry, "rocm/vllm:many", "riscv64")
    assert (other.state, other.machines, other.compressed_bytes) == ("found", ("amd64", "arm64"), None)


def test_a_tag_that_is_not_there_and_the_nearest(registry: Registry) -> None:
    for tag in ("v0.26.0", "v0.27.0rc1"):
        registry.put("vllm/vllm-omni-rocm", tag, [b"1"])
    found = asked(registry, "vllm/vllm-omni-rocm:v0.28.0")
    assert (found.state, found.nearest[0]) == ("no-tag", "vllm/vllm-omni-rocm:v0.26.0")


def test_the_tag_in_a_sibling_repository_comes_first(registry: Registry) -> None:
    registry.put("rocm/vllm", "rocm7.0.2_y", [b"1"])
    registry.put("rocm/vllm-dev", "rocm7.0.2_x", [b"1"])
    assert asked(registry, "rocm/vllm:rocm7.0.2_x").nearest[0] == "rocm/vllm-dev:rocm7.0.2_x"


def test_a_repository_that_is_not_there(registry: Registry) -> None:
    assert asked(registry, "rocm/nothing-of-the-kind:1").state == "no-repository"


def test_nobody_listens() -> None:
    config: dict[str, Any] = {}
    found = look_up(ImageView("a"), Reference.parse("127.0.0.1:1/a/b:1"), config, "x86_64")
    assert found.state == "unreachable"
    assert "refused" in (found.said or "")


def test_the_catalog_alone_where_no_engine_is_asked() -> None:
    found = view("rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12_vllm_0.6.6", None, "x86_64")
    assert (found.state, found.rocm, found.gfx) == ("unknown", "6.3.1", ("gfx942",))
    assert view("example/app", None, "x86_64").said == "the catalog does not know it"
    with pytest.raises(UsageError):
        view("No Image", None, "x86_64")


@pytest.mark.parametrize(
    ("text", "targets"),
    [("gfx90a;gfx942", ("gfx90a", "gfx942")), ("gfx942:sramecc+:xnack-, gfx1100", ("gfx942", "gfx1100")), (None, ()),
     ("native", ())],
)  # fmt: skip
def test_targets_as_images_list_them(text: str | None, targets: tuple[str, ...]) -> None:
    assert arch_list(text) == targets
