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


@cache
def verified(name: str, source: str) -> bool:
    """False where one of the sources that a fact of table `name` names is hearsay, by the table itself."""
    known = load(name)["sources"]
    return not any(known.get(key, {}).get("hearsay") for key in keys(source))


def keys(source: str) -> list[str]:
    """The keys of sources in the text that names them: `docs, inferred: a remark` names docs and inferred."""
    return [key.strip() for key in source.partition(":")[0].split(",")]
