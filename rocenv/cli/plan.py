"""`rocenv plan`: everything that `up` would decide, each with its reason, and the exact command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import console, wishes
from rocenv.errors import EngineError, UsageError
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts

if TYPE_CHECKING:
    from rocenv.engine import Engine


def command(
    profile: wishes.ProfileName = None,
    *,
    host: Annotated[str | None, typer.Option("--host", metavar="PATH", help="Plan for a captured host.")] = None,
    gpus: wishes.Gpus = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
    rootless: Annotated[
        bool, typer.Option("--rootless", help="Plan for a rootless engine, without asking one.")
    ] = False,
    image: wishes.Image = None,
    name: wishes.Name = None,
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
    refused: Annotated[bool, typer.Option("--refused", help="Show every image that was not taken.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> None:
    """Show what `up` would do, and why: GPUs, image, devices, groups, security, mounts, and the exact command.

    Starts nothing and needs no GPU, engine or network. With --host the engine is assumed to be rootful Docker unless
    --engine and --rootless say otherwise; without, the engine here is asked, where one answers.
    """
    from rocenv.host import read_host, with_idle
    from rocenv.lifecycle.cdi import with_specs
    from rocenv.lifecycle.held import planned
    from rocenv.render.argv import run_argv, shell_text
    from rocenv.report.plan import plan_json, plan_text

    wished, request = wishes.read_wishes(
        profile, gpus=gpus, image=image, name=name, env=env, env_file=env_file, mounts=mount, ports=port, user=user,
        shm_size=shm_size, loosen=loosen, cpu=cpu, strict=strict, via=via,
    )  # fmt: skip
    seen = with_idle(read_host(host), wished.gpus, host)
    mode = wishes.lock_mode(locked=locked, frozen=frozen, no_lock=no_lock)
    facts, program = asked(seen, engine, rootless=rootless)
    plan = planned(wished, seen, facts, with_specs(request, facts, host), mode)
    if secret:
        from rocenv.lifecycle import hidden

        plan = hidden.given(plan, hidden.wished(secret))
    if seen.live:
        from rocenv.lifecycle.mounts import mounts_must_be_safe

        mounts_must_be_safe(plan)
    if program is not None and plan.image.equals and plan.image.base is None:
        from rocenv.plan.here import settled

        plan = settled(plan, program.images_here([plan.image.reference, *plan.image.equals]))
    if program is not None and plan.image.ids and plan.image.base is None:
        from rocenv.lifecycle.digests import here

        plan = plan._replace(image=here(program, plan.image) or plan.image)
    argv = run_argv(plan)
    if as_json:
        console.data_json(plan_json(plan, argv))
    else:
        console.data(plan_text(plan, shell_text(argv), all_refused=refused))


def asked(host: Host, kind: str | None, *, rootless: bool) -> tuple[EngineFacts, Engine | None]:
    """The engine's own facts where it is this host's and answers; otherwise an assumption, which the plan names."""
    if kind not in (None, "docker", "podman"):
        raise UsageError(f"there is no engine `{kind}`", "`--engine docker` or `--engine podman`")
    if not host.live or rootless:
        return EngineFacts(kind or "docker", rootless=rootless, assumed=True), None
    from rocenv.engine import open_engine

    try:
        program = open_engine(kind)
        return program.facts(), program
    except EngineError as error:
        console.warn(f"{error.message}; the plan is for rootful {kind or 'docker'}")
        return EngineFacts(kind or "docker", assumed=True), None
