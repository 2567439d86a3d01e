"""CDI devices and what is wrong with them, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rocenv.report.text import table


class Row(NamedTuple):
    """A device of a specification: its state is `ok`, `stale`, `conflict` or `shadowed`; `gpus` by index."""

    device: str
    file: str
    nodes: tuple[str, ...]
    gpus: tuple[int, ...]
    state: str


class Fault(NamedTuple):
    """What is wrong with a specification, each line of it, and the one command that mends it."""

    file: str
    kind: str  # unreadable | conflict | stale | newer
    what: tuple[str, ...]
    fix: str


def list_json(rows: Sequence[Row]) -> dict[str, Any]:
    """The devices of all specifications as plain data, version 1."""
    devices = [
        {"device": one.device, "file": one.file, "nodes": list(one.nodes), "gpus": list(one.gpus), "state": one.state}
        for one in rows
    ]
    return {"version": 1, "status": "ok", "devices": devices}


def list_text(rows: Sequence[Row]) -> str:
    """The devices of all specifications as a table."""
    cells = [[one.device, ",".join(map(str, one.gpus)) or "-", _short(one.nodes), one.state, one.file] for one in rows]
    return table(["device", "GPU", "nodes", "state", "file"], cells)


def check_json(faults: Sequence[Fault], files: Sequence[str]) -> dict[str, Any]:
    """What `rocenv cdi check` found as plain data, version 1."""
    return {
        "version": 1,
        "status": "failed" if faults else "ok",
        "files": list(files),
        "problems": [{"file": one.file, "kind": one.kind, "what": list(one.what), "fix": one.fix} for one in faults],
    }


def check_text(faults: Sequence[Fault], files: Sequence[str]) -> str:
    """What `rocenv cdi check` found, each fault with the command that mends it."""
    if not files:
        return "there is no CDI specification of amd.com/gpu: nothing needs one but `--device amd.com/gpu=…`"
    bad = {one.file for one in faults}
    lines = [f"{file}: ok" for file in files if file not in bad]
    for one in faults:
        lines += [f"{one.file}: {one.kind}", *(f"  {what}" for what in one.what), f"  mend it: {one.fix}"]
    return "\n".join(lines)


def _short(nodes: Sequence[str], most: int = 3) -> str:
    """Nodes without their folder, the first few."""
    shown = [node.removeprefix("/dev/dri/").removeprefix("/dev/") for node in nodes]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
