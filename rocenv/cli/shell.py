"""`rocenv shell`: a shell in a running environment, on the user's own terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from rocenv import process
from rocenv.cli import ahead, inside

# bash where the image has one; the choice is made inside, so that no second look into the container is needed.
SHELL = ("sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh")


def command(
    name: Annotated[str | None, typer.Argument(help="the environment; default: the project's only one")] = None,
    env: Annotated[list[str] | None, typer.Option("-e", "--env", help="NAME=VALUE, or NAME for the caller's")] = None,
    user: Annotated[str | None, typer.Option("-u", "--user", help="open it as this user, such as `root`")] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman")] = None,
) -> None:
    """Open a shell in a running environment; `exit` leaves it, and the environment goes on running."""
    program = ahead.engine(engine)
    there = inside.running_environment(program, name)
    terminal = inside.on_terminal()
    variables = inside.variables(env or (), terminal=terminal)
    process.replace(program.exec_argv(there.id, SHELL, interactive=True, tty=terminal, user=user, env=variables))
