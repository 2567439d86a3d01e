"""Loading of a compiled table. Only the JSON is read at run time: the YAML would take a hundred times longer."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
COMPILED = FOLDER / "compiled"


@cache
def load(name: str) -> Any:
    """The table `name` as plain data, read once per process. Its shape is told by its YAML and its query module."""
    return json.loads((COMPILED / f"{name}.json").read_bytes())
