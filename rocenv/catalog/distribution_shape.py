"""The shape of the table of bare systems: what stands in it becomes text of a Dockerfile, so that little may."""

from __future__ import annotations

import re
from typing import Any

from rocenv.catalog.shape import Each, Record, check
from rocenv.catalog.versions import Constraint


def _constraint(text: Any) -> None:
    check(text, str)
    Constraint.parse(text)


_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_FOLDER = re.compile(r"/[A-Za-z0-9/._{}-]{0,200}")
_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._{}-]*)*")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9./:_-]{0,200}")
_MANAGER = re.compile("apt|dnf|zypper")
_PARTS = ("runtime", "hip-sdk", "math", "rccl", "profilers", "debuggers", "all")
_SYSTEM = Record({"name": str, "manager": _MANAGER, "image": _IMAGE, "also": [_IMAGE], "python": _WORD})
_PLACE = Record(
    {"addresses": [_ADDRESS], "rocm": _constraint, "source": str}, {"suite": re.compile("[a-z]+"), "note": str}
)
_LAYOUT = Record(
    {"template": _WORD, "folder": _FOLDER, "source": str, "places": Each(_PLACE, _WORD), "components": _WORD},
    {"key": _ADDRESS, "origin": _WORD},
)
_NAMES = [re.compile(r"[a-z0-9][a-z0-9.+{}-]*")]
_RELEASE = re.compile(r"\d+(?:\.\d+){2,3}")
_BESIDE_TORCH = ("torchvision", "torchaudio")
DISTRIBUTIONS = {
    "systems": Each(_SYSTEM, _WORD),
    "layouts": Each(_LAYOUT, _WORD),
    "wheels": Record(
        {
            "indexes": [Record({"rocm": _constraint, "at": _ADDRESS, "source": str})],
            "releases": [
                Record({"rocm": _RELEASE, "torch": _RELEASE, "source": str}, dict.fromkeys(_BESIDE_TORCH, _RELEASE))
            ],
        }
    ),
    "components": Each(Record({"source": str}, dict.fromkeys(_PARTS, _NAMES)), _WORD),
}
