"""What a container tells: the GPUs that were planned for it, and whether it only stands in for one with GPUs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from rocenv.errors import EngineError
from rocenv.model.plan import GpuRef

STAND_IN_LABEL = "rocenv.stand-in"
STAND_IN_VARIABLE = "ROCENV_STAND_IN"


def planned_gpus(label: str, container: str) -> tuple[GpuRef, ...]:
    """The GPUs in a container's label `rocenv.gpus`. Raises EngineError for one that rocenv did not write."""
    try:
        return tuple(_gpu(entry) for entry in json.loads(label or "[]"))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise EngineError(
            f"the label `rocenv.gpus` of `{container}` does not hold a list of GPUs",
            "`rocenv up --recreate` makes the container anew",
        ) from error


def stand_in_agreed(labels: Mapping[str, str]) -> bool:
    """Whether both sides agreed that no GPU is there: the image by its label, and whoever runs rocenv by a variable.

    Never one alone: an image cannot talk a test out of its GPU, and a forgotten variable cannot either.
    """
    return labels.get(STAND_IN_LABEL) == "1" and os.environ.get(STAND_IN_VARIABLE) == "1"


def _gpu(entry: Mapping[str, Any]) -> GpuRef:
    """One GPU of the label; a missing index, address or name is a KeyError."""

    def text(key: str) -> str | None:
        value = entry.get(key)
        return None if value is None else str(value)

    return GpuRef(
        index=int(entry["index"]),
        gfx=text("gfx"),
        bdf=str(entry["bdf"]),
        partition=int(entry.get("partition") or 0),
        uuid=text("uuid"),
        render_node=text("render_node"),
        name=str(entry["name"]),
    )
