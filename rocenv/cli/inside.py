"""What `exec`, `shell`, `run` and `logs` share: which environment, which words, which terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from rocenv.cli import project
from rocenv.errors import UsageError

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.model.proof import Environment


def environment(engine: Engine, name: str | None) -> Environment:
    """The environment that is meant, seen from the working directory."""
    folder = project.folder()
    engine.begin_find(project.name(folder))
    from rocenv.lifecycle.find import pick  # imported while the engine answers

    return pick(engine, project.name(folder), str(folder), name)


def running_environment(engine: Engine, name: str | None) -> Environment:
    """The same, if it runs."""
    there = environment(engine, name)
    from rocenv.lifecycle.find import running

    return running(there)


def command_words(context: typer.Context, usage: str) -> list[str]:
    """The command behind `--`; without one, or with words of it before, an error that shows the way (`usage`).

    With a `--` behind it, a word in the form of an option is one that rocenv does not have: Typer, which passes it by,
    takes the first such word for the environment's name.
    """
    words: list[str] = list(context.obj or ())
    named = context.params.get("name") or context.params.get("profile") or ""
    for word in (named, *context.args) if context.obj is not None else ():
        if word.startswith("-"):
            verb = " ".join(usage.split()[:2])
            raise UsageError(f"no such option: `{word}`", f"`{verb} --help` shows what it takes")
    if context.args:
        raise UsageError(f"`{context.args[0]}` stands before `--`: what is to run stands behind it", f"`{usage}`")
    if not words:
        raise UsageError("there is nothing to run: a command stands behind `--`", f"`{usage}`")
    return words


def on_terminal() -> bool:
    """True where a person sits at both ends: only then is a terminal made inside."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def variables(given: Sequence[str], *, terminal: bool) -> Mapping[str, str | None]:
    """`NAME=VALUE` and `NAME` (None: by name alone, its value stands in no argv), and the terminal's colours."""
    found: dict[str, str | None] = {}
    if terminal and "256color" in os.environ.get("TERM", ""):
        found["TERM"] = "xterm-256color"
    if terminal and os.environ.get("COLORTERM"):
        found["COLORTERM"] = None
    for pair in given:
        name, equals, value = pair.partition("=")
        if not name:
            raise UsageError(f"`{pair}` is no variable", "`-e NAME=VALUE`, or `-e NAME` for the value it has here")
        found[name] = value if equals else None
    return found
