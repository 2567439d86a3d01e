"""Asks the engine, before a command is so much as imported, what that command is sure to ask it.

The engine's client takes as long to answer as Typer takes to be imported: here the two go on side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocenv.engine import open_engine
from rocenv.errors import RocenvError

if TYPE_CHECKING:
    from rocenv.engine import Engine

_ALL = frozenset({"up", "run"})  # they ask for the engine's facts, its volumes and the project's containers
_CONTAINERS = frozenset({"exec", "shell", "logs", "test", "stop", "start"})
# With these nothing is asked, or another engine.
_OTHERWISE = ("--engine", "--dry-run", "--help", "-h")
_opened: list[Engine] = []


def begin(arguments: Sequence[str]) -> None:
    """Start what the command line's own words make sure of. What goes wrong the command itself comes upon, and says."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asks = bool(own) and (own[0] in _ALL or own[0] in _CONTAINERS)
    if not asks or any(word.startswith(_OTHERWISE) for word in own):
        return
    from rocenv.cli import project

    try:
        engine = open_engine(None)
        name = project.name(project.folder())
        (engine.begin if own[0] in _ALL else engine.begin_find)(name)
    except RocenvError:
        return
    _opened.append(engine)


def engine(kind: str | None) -> Engine:
    """The engine asked for, with the answers that are on their way. Raises as `open_engine` does."""
    return _opened.pop() if kind is None and _opened else open_engine(kind)
