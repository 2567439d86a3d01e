"""`rocenv stop`: stop an environment; its container and caches stay."""

from __future__ import annotations

from typing import Annotated

import typer

from rocenv.cli import ahead, console, inside

STOPPABLE = ("running", "paused", "restarting")


def command(
    name: Annotated[str | None, typer.Argument(help="The environment; default: the project's only one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Stop an environment. What was installed in it stays; `rocenv start` or `rocenv up` goes on with it."""
    program = ahead.engine(engine)
    there = inside.environment(program, name)
    running = there.state in STOPPABLE
    if running:
        program.stop(there.id)
    console.say(f"{there.container}: {'stopped' if running else f'did not run (it is {there.state})'}")
    if as_json:
        from rocenv.report.environments import environment_json

        now = there._replace(state="exited") if running else there
        action = "stopped" if running else "none"
        console.data_json({"version": 1, "status": "ok", "action": action, "environment": environment_json(now)})
