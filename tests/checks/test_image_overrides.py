"""The doctor's word on an image and an override: for the one GPU that needs it, and for releases known by half."""

from __future__ import annotations

from plan.made import gpu, host

from rocenv.checks.facts import Facts
from rocenv.checks.run import run
from rocenv.model.check import Finding
from rocenv.model.health import ImageView
from rocenv.model.host import Host


def found(check: str, where: Host, image: ImageView) -> Finding:
    return next(one for one in run(Facts(host=where, image=image), only=[check]) if one.check == check)


IMAGE = ImageView("example/torch:1", state="found", gfx=("gfx1030", "gfx1100"))


def test_an_override_for_one_of_two_kinds_is_for_its_node_alone() -> None:
    mixed = host([gpu(0, "gfx1100"), gpu(1, "gfx1032")])
    assert "`-e HSA_OVERRIDE_GFX_VERSION_2=10.3.0`" in str(found("gpu.gfx-supported", mixed, IMAGE).fix)


def test_nodes_of_more_sockets_count_first() -> None:
    mixed = host([gpu(0, "gfx1100"), gpu(1, "gfx1032"), gpu(2, "gfx1032")], numa_nodes=2)
    fix = str(found("gpu.gfx-supported", mixed, IMAGE).fix)
    assert "-e HSA_OVERRIDE_GFX_VERSION_3=10.3.0 -e HSA_OVERRIDE_GFX_VERSION_4=10.3.0" in fix


def test_an_override_for_gpus_of_one_kind_is_for_all() -> None:
    same = host([gpu(0, "gfx1032"), gpu(1, "gfx1032")])
    assert "`-e HSA_OVERRIDE_GFX_VERSION=10.3.0`" in str(found("gpu.gfx-supported", same, IMAGE).fix)


def test_a_release_known_by_half_is_compared() -> None:
    old = ImageView("example/torch:1", state="found", rocm="4.3.1")
    assert found("image.rocm-version", host([gpu(0, "gfx1030")]), old).verdict == "warn"  # AMD's lists: since 5.x
