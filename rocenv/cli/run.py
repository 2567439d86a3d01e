"""`rocenv run`: one command in a container of its own, by becoming the engine's own `run --rm`."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

import typer

from rocenv import process
from rocenv.cli import ahead, console, inside, project, wishes
from rocenv.errors import UsageError

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
    lease: Annotated[bool, typer.Option("--lease", help="Take the GPUs for this run alone, while it lasts.")] = False,
    lease_shared: Annotated[
        bool, typer.Option("--lease-shared", help="Take them together with others that share.")
    ] = False,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="Wait in turn for GPUs that others have leased.")
    ] = 0,
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
    taken = _lease_mode(exclusive=lease, shared=lease_shared, wait=wait, cpu=cpu)
    mode = wishes.lock_mode(locked=locked, frozen=frozen, no_lock=no_lock)
    with closing(ahead.engine(engine)) as program:
        program.begin(project.name(project.folder()))
        from rocenv.lifecycle import hidden  # imported while the engine answers
        from rocenv.lifecycle.leasing import labelled, leased_profile
        from rocenv.lifecycle.once import once_argv
        from rocenv.lifecycle.up import decide, terminable

        with terminable(), console.pull_progress() as progress:
            wished, request = wishes.read_wishes(profile, mounts=mount, ports=port, **wish)
            if taken is not None:
                wished, _held = leased_profile(program, wished, mode=taken, wait=wait, tell=console.say)
            plan = decide(program, wished, request, lock=mode)
            plan = plan if taken is None else labelled(plan, taken)
            for warning in plan.warnings:
                console.warn(warning)
            argv = once_argv(
                program, plan, words, tell=console.say, progress=progress, interactive=True, tty=inside.on_terminal(),
                secrets=hidden.wished(secret or ()),
            )  # fmt: skip
    process.replace(argv)


def _lease_mode(*, exclusive: bool, shared: bool, wait: float, cpu: bool) -> str | None:
    """How GPUs are leased for this run, if at all. Raises UsageError for what excludes each other."""
    if exclusive and shared:
        raise UsageError("`--lease` and `--lease-shared` exclude each other", "leave one away")
    if cpu and (exclusive or shared):
        raise UsageError("`--cpu` gives no GPU, and a lease is for GPUs", "leave one away")
    if wait and not (exclusive or shared):
        raise UsageError("`--wait` waits for a lease, and none is asked for", "add `--lease`")
    return "shared" if shared else "exclusive" if exclusive else None
