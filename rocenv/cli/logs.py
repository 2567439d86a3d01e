"""`rocenv logs`: what an environment's container printed, by becoming the engine's own `logs`."""

from __future__ import annotations

from typing import Annotated

import typer

from rocenv import process
from rocenv.cli import ahead, inside


def command(
    name: Annotated[str | None, typer.Argument(help="The environment; default: the project's only one.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until Ctrl-C.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Show what an environment's container printed."""
    program = ahead.engine(engine)
    process.replace(program.logs_argv(inside.environment(program, name).id, follow=follow))
