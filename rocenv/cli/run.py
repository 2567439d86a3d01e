"""`rocenv run`: one command in a container of its own, by becoming the engine's own `run --rm`."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

import typer

from rocenv import process
from rocenv.cli import ahead, console, inside, project, wishes

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


def command(
    context: typer.Context,
    profile: wishes.ProfileName = None,
    *,
    gpus: wishes.Gpus = None,
    image: wishes.Image = None,
    env: wishes.Env = None,
    env_file: wishes.EnvFile = None,
    secret: wishes.Secrets = None,
    mount: wishes.Mounts = None,
    port: wishes.Ports = None,
    user: wishes.User = None,
    shm_size: wishes.ShmSize = None,
    loosen: wishes.Loosen = None,
    via: wishes.Via = None,
    cpu: wishes.Cpu = False,
    strict: wishes.Strict = False,
    locked: wishes.Locked = False,
    frozen: wishes.Frozen = False,
    no_lock: wishes.NoLock = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Run one command in a fresh container, removed afterwards: `rocenv run PROFILE -- COMMAND`.

    The terminal, its signals and the exit status are the command's own.
    """
    words = inside.command_words(context, "rocenv run PROFILE -- python train.py")
    wish: dict[str, Any] = {
        "gpus": gpus, "image": image, "env": env, "env_file": env_file, "user": user, "shm_size": shm_size,
        "loosen": loosen, "cpu": cpu, "strict": strict, "via": via,
    }  # fmt: skip
    mode = wishes.lock_mode(locked=locked, frozen=frozen, no_lock=no_lock)
    with closing(ahead.engine(engine)) as program:
        program.begin(project.name(project.folder()))
        from rocenv.lifecycle import hidden  # imported while the engine answers
        from rocenv.lifecycle.once import once_argv
        from rocenv.lifecycle.up import decide, terminable

        with terminable(), console.pull_progress() as progress:
            plan = decide(program, *wishes.read_wishes(profile, mounts=mount, ports=port, **wish), lock=mode)
            for warning in plan.warnings:
                console.warn(warning)
            argv = once_argv(
                program, plan, words, tell=console.say, progress=progress, interactive=True, tty=inside.on_terminal(),
                secrets=hidden.wished(secret or ()),
            )  # fmt: skip
    process.replace(argv)
