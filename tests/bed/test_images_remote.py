"""`rocenv images --remote` against a real registry, by the mirror that the engine is set up with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bed import images

if TYPE_CHECKING:
    from conftest import TestBed


def test_the_engine_s_mirror_is_asked_for_the_tags(bed: TestBed) -> None:
    """Of rocm/pytorch the bed's mirror of Docker Hub holds the stand-in's tag, and not all that the catalog names."""
    done = bed.rocenv("images", "rocm/pytorch", "--remote", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["remote"] == [{"repository": "rocm/pytorch", "error": None}]
    said = {one["reference"]: one["registry"] for one in found["images"]}
    assert said[images.STAND_IN] == "there"
    assert {"there", "gone"} <= set(said.values())
    assert next(one for one in found["images"] if one["reference"] == images.STAND_IN)["fits"]
