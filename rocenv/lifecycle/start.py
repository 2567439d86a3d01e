"""Start a container that was stopped, if what it was given is still what it was."""

from __future__ import annotations

import json
import os

from rocenv.engine import Engine
from rocenv.errors import HostError
from rocenv.lifecycle import drift
from rocenv.lifecycle.decided import NODES
from rocenv.model.proof import Environment
from rocenv.report.environments import gpus


def stale(there: Environment) -> list[str]:
    """How the GPUs and nodes of a container differ from what it was made with, one line each.

    Raises HostError for a GPU that the host has no more, and says which ones it has.
    """
    host = drift.host_of([there])
    lines = drift.drift(there, host)
    gone = [line for line in lines if line.endswith("is gone")]
    if gone and host is not None:
        known = ", ".join(f"{gpu.bdf} ({gpu.gfx or '?'})" for gpu in host.gpus) or "none"
        raise HostError(
            f"`{there.container}` cannot be started: {'; '.join(gone)}; there are: {known}",
            f"`rocenv up {there.profile} --name {there.name} --recreate` takes those that are there",
        )
    return [*lines, *_renumbered(there)]


def start(engine: Engine, there: Environment) -> str:
    """Start it, or let it go on; what was done."""
    if there.state == "paused":
        engine.unpause(there.id)
    else:
        engine.start_stopped(there.id)
    return "started"


def _renumbered(there: Environment) -> list[str]:
    """The nodes of a container that have another number now. A label that is not rocenv's says nothing."""
    if not gpus(there):
        return []
    try:
        recorded = dict(json.loads(there.labels.get(NODES, "{}")).get("devices") or {})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []
    numbers = {str(path): (str(was), _number(str(path))) for path, was in recorded.items() if was is not None}
    return [
        f"{path} is {now or 'gone'} now, and was {was}" for path, (was, now) in sorted(numbers.items()) if was != now
    ]


def _number(path: str) -> str | None:
    try:
        number = os.stat(path).st_rdev  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return f"{os.major(number)}:{os.minor(number)}"
