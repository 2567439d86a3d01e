"""What a container's labels say of its GPUs, and who may stand in for one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocenv.errors import EngineError
from rocenv.model.plan import GpuRef
from rocenv.smoke import planned_gpus, stand_in_agreed

LABEL: dict[str, Any] = {
    "index": 2, "gfx": "gfx942", "bdf": "0000:0c:00.0", "partition": 1, "uuid": "GPU-00000000000000aa",
    "render_node": "/dev/dri/renderD129", "name": "AMD Instinct MI300X",
}  # fmt: skip


def test_label_is_read() -> None:
    [gpu] = planned_gpus(json.dumps([LABEL]), "c")
    assert gpu == GpuRef(
        2, "gfx942", "0000:0c:00.0", 1, "GPU-00000000000000aa", "/dev/dri/renderD129", "AMD Instinct MI300X"
    )
    bare = {key: LABEL[key] for key in ("index", "bdf", "name")}
    assert planned_gpus(json.dumps([bare]), "c") == (
        GpuRef(2, None, "0000:0c:00.0", 0, None, None, "AMD Instinct MI300X"),
    )


@pytest.mark.parametrize("label", ["", "[]"])
def test_no_gpus(label: str) -> None:
    assert planned_gpus(label, "c") == ()


@pytest.mark.parametrize(
    "label", ["{", "7", '["x"]', "[{}]", "null", '[{"index": "x", "bdf": "", "name": ""}]', "[[]]"]
)
def test_label_of_somebody_else(label: str) -> None:
    with pytest.raises(EngineError, match=r"`rocenv\.gpus` of `c`"):
        planned_gpus(label, "c")


@pytest.mark.parametrize(
    ("labels", "variable", "agreed"),
    [
        ({"rocenv.stand-in": "1"}, "1", True),
        ({"rocenv.stand-in": "1"}, None, False),
        ({"rocenv.stand-in": "1"}, "", False),
        ({"rocenv.stand-in": "1"}, "true", False),
        ({}, "1", False),
        ({"rocenv.stand-in": ""}, "1", False),
        ({"rocenv.stand-in": "0"}, "1", False),
        ({}, None, False),
    ],
)
def test_standing_in_takes_both(
    monkeypatch: pytest.MonkeyPatch, labels: dict[str, str], variable: str | None, *, agreed: bool
) -> None:
    if variable is None:
        monkeypatch.delenv("ROCENV_STAND_IN", raising=False)
    else:
        monkeypatch.setenv("ROCENV_STAND_IN", variable)
    assert stand_in_agreed(labels) is agreed
