"""The built-in profiles as JSON, with the line of everything: YAML takes ten times as long to be read.

`./dev catalog` (`python -m rocenv.profile.compile`) writes the file anew after an edit; a test holds both equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rocenv.profile.tree import Items, Leaf, Node, Table, read_yaml

FILE = "compiled.json"


def built_in(folder: Path, name: str, label: str) -> Table | None:
    """The profile `name` of that folder, as reading its YAML gives it but for the spans; None where it has none."""
    packed = _all(folder / FILE).get(name)
    table = None if packed is None else _node(packed, f"{label}/{name}.yaml")
    return table if isinstance(table, Table) else None


def text(folder: Path) -> str:
    """What the file of a folder must hold. Raises UsageError, with the line, for a profile that is no YAML."""
    files = sorted(folder.glob("*.yaml"))
    found = {file.stem: _packed(read_yaml(file.read_bytes(), file.name)) for file in files}
    rows = ",\n".join(f"{json.dumps(name)}:{json.dumps(one, separators=(',', ':'))}" for name, one in found.items())
    return f"{{\n{rows}\n}}\n"


@cache
def _all(file: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(file.read_bytes())
    return found


def _packed(node: Node) -> list[object]:
    """[line, text, plain] of a scalar, [line, [items]] of a list, [line, {key: [line, node]}] of a mapping."""
    line = _line(node.where)
    if isinstance(node, Leaf):
        return [line, node.text, node.plain]
    if isinstance(node, Items):
        return [line, [_packed(one) for one in node.items]]
    return [line, {key: [_line(node.places[key]), _packed(one)] for key, one in node.entries.items()}]


def _node(packed: Any, name: str) -> Node:
    where, value = f"{name}:{packed[0]}", packed[1]
    if isinstance(value, dict):
        entries = {key: _node(one, name) for key, (_, one) in value.items()}
        return Table(entries, {key: f"{name}:{line}" for key, (line, _) in value.items()}, where)
    if isinstance(value, list):
        return Items(tuple(_node(one, name) for one in value), where)
    return Leaf(value, where, plain=packed[2])


def _line(where: str) -> int:
    return int(where.rpartition(":")[2])
