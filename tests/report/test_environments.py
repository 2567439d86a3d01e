"""Labels of a container that anybody may have written: they are shown as far as they are ours, and end nothing."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from rocenv.errors import EngineError
from rocenv.model.proof import Environment
from rocenv.report.environments import Listed, environments_json, environments_text
from rocenv.smoke import planned_gpus

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def labelled(gpus: str) -> list[Listed]:
    return [Listed(Environment(
        container="rocenv-demo-hip", id="1", name="hip", project="demo", profile="hip", state="running",
        reference="i", digest=None, plan="p1", gpus=gpus, owner="1000", created=None, labels={},
    ))]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ('[{"index": 0, "gfx": "gfx942"}, {"index": 3, "gfx": "gfx942"}]', "0,3 gfx942"),
        ('[{"index": NaN, "gfx": ["x"], "bdf": {}, "partition": Infinity}]', "? ?"),
        ('[{"index": true}]', "? ?"),
        ("[" * 20_000, "none"),
        ("{}", "none"),
        ("[1, null]", "none"),
        ("", "none"),
    ],
)
def test_gpus_are_shown_as_far_as_they_are_ours(label: str, shown: str) -> None:
    found = labelled(label)
    assert f" {shown} " in environments_text(found, NOW)
    json.dumps(environments_json(found), allow_nan=False)


@pytest.mark.parametrize(
    "label",
    ["[" * 20_000, "7", '[{"index": Infinity, "bdf": "0", "name": "x"}]', '[{"index": NaN, "bdf": "0", "name": "x"}]',
     '[{"index": [], "bdf": "0", "name": "x"}]', '["x"]'],
)  # fmt: skip
def test_a_test_says_that_the_label_holds_no_gpus(label: str) -> None:
    with pytest.raises(EngineError, match="does not hold a list of GPUs"):
        planned_gpus(label, "rocenv-demo-hip")
