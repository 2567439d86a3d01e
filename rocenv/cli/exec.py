"""`rocenv exec`: a command in a running environment, by becoming the engine's own `exec`."""

from __future__ import annotations

from typing import Annotated

import typer

from rocenv import process
from rocenv.cli import ahead, inside

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


def command(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The environment; default: the project's only one.")] = None,
    *,
    env: Annotated[list[str] | None, typer.Option("-e", "--env", help="NAME=VALUE, or NAME for the caller's.")] = None,
    user: Annotated[str | None, typer.Option("-u", "--user", help="Run as this user, such as `root`.")] = None,
    workdir: Annotated[str | None, typer.Option("-w", "--workdir", help="Start in this folder inside.")] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Run a command in a running environment: `rocenv exec [NAME] -- COMMAND`. Its exit status is passed on."""
    words = inside.command_words(context, "rocenv exec [NAME] -- python train.py")
    program = ahead.engine(engine)
    there = inside.running_environment(program, name)
    terminal = inside.on_terminal()
    process.replace(
        program.exec_argv(
            there.id,
            words,
            interactive=True,
            tty=terminal,
            user=user,
            env=inside.variables(env or (), terminal=terminal),
            workdir=workdir,
        )
    )
