"""`rocenv shell`: a shell in a running environment, on the user's own terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from rocenv import process
from rocenv.cli import ahead, inside

# bash where the image has one, and a prompt that names the environment where the image knows no name for the uid: it
# would say `I have no name!`. Both are decided inside, so that no second look into the container is needed.
_PROMPT = r"PS1=${PS1//\\u/$USER}; PS1=${PS1//\\h/$ROCENV_NAME}; unset PROMPT_COMMAND"
_SHELL = """command -v bash >/dev/null 2>&1 || exec sh
id -un >/dev/null 2>&1 || export PROMPT_COMMAND="$1" ROCENV_NAME="$2"
exec bash"""


def command(
    name: Annotated[str | None, typer.Argument(help="The environment; default: the project's only one.")] = None,
    env: Annotated[list[str] | None, typer.Option("-e", "--env", help="NAME=VALUE, or NAME for the caller's.")] = None,
    user: Annotated[str | None, typer.Option("-u", "--user", help="Open it as this user, such as `root`.")] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Open a shell in a running environment; `exit` leaves it, and the environment goes on running."""
    program = ahead.engine(engine)
    there = inside.running_environment(program, name)
    terminal = inside.on_terminal()
    variables = inside.variables(env or (), terminal=terminal)
    words = ("sh", "-c", _SHELL, "sh", _PROMPT, there.name)
    process.replace(program.exec_argv(there.id, words, interactive=True, tty=terminal, user=user, env=variables))
