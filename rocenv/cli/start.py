"""`rocenv start`: start a stopped environment again, once its devices are known to be those that it was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import ahead, console, inside, wishes

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.model.proof import Environment


def command(
    name: Annotated[str | None, typer.Argument(help="The environment; default: the project's only one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Start a stopped environment.

    Where its GPUs have other nodes or numbers now, by a reboot or another driver, its container is made anew with its
    caches kept. A GPU that is gone is an error that says which are there.
    """
    from rocenv.lifecycle.start import stale, start

    program = ahead.engine(engine)
    there = inside.environment(program, name)
    action = "used"
    if there.state != "running":
        lines = stale(there)
        for line in lines:
            console.say(f"{there.container}: {line}")
        action = _made_anew(program, there) if lines else start(program, there)
    console.say(f"{there.container}: {_WORDS[action]}")
    if as_json:
        from rocenv.lifecycle.find import pick
        from rocenv.report.environments import environment_json

        folder = there.labels.get("rocenv.folder", "")
        now = pick(program, there.project, folder, there.name)
        console.data_json({"version": 1, "status": "ok", "action": action, "environment": environment_json(now)})


_WORDS = {"used": "runs already", "started": "started again", "recreated": "made anew and started"}


def _made_anew(engine: Engine, there: Environment) -> str:
    """Make the container by its profile with the very GPUs that it had. Raises UsageError where other flags made it."""
    from rocenv.lifecycle.up import decide, terminable, up
    from rocenv.report.environments import gpus

    chosen = ",".join(f"{gpu['bdf']}/{gpu['partition'] or 0}" for gpu in gpus(there))
    with terminable(), console.pull_progress() as progress:
        plan = decide(engine, *wishes.read_wishes(there.profile, name=there.name, gpus=chosen or "none"), lock="auto")
        return up(engine, plan, tell=console.say, ask=None, progress=progress).action
