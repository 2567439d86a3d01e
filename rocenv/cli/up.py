"""`rocenv up`: from a bare host to a container that is known to work."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rocenv.cli import ahead, console, project, wishes
from rocenv.errors import ProofError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocenv.engine import Engine
    from rocenv.lifecycle.up import Outcome
    from rocenv.model.plan import Plan
    from rocenv.model.proof import ProbeResult

SETTLED = ("passed", "stand-in")  # a container proven so is not proven again as long as it runs


def command(
    profile: wishes.ProfileName = None,
    *,
    gpus: wishes.Gpus = None,
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
    recreate: Annotated[bool, typer.Option("--recreate", help="Make the container anew, whatever is there.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan as `rocenv plan` does; start nothing.")
    ] = False,
    no_test: Annotated[bool, typer.Option("--no-test", help="Leave out the smoke test at the end.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> int:
    """Start a container for a profile with exactly the chosen GPUs, and prove that they work in it.

    The container that is there is used again; one that another plan made is left as it is until you agree to lose it.
    Ends with 6 where the smoke test fails; the container stays, to be looked into.
    """
    wish: dict[str, Any] = {
        "gpus": gpus, "image": image, "name": name, "env": env, "env_file": env_file, "user": user,
        "shm_size": shm_size, "loosen": loosen, "cpu": cpu, "strict": strict, "via": via,
    }  # fmt: skip
    mode = wishes.lock_mode(locked=locked, frozen=frozen, no_lock=no_lock)
    if dry_run:
        from rocenv.cli import plan as plan_command

        plan_command.command(
            profile, engine=engine, mount=mount, port=port, as_json=as_json, locked=locked, frozen=frozen,
            no_lock=no_lock, secret=secret, **wish,
        )  # fmt: skip
        return 0
    with closing(ahead.engine(engine)) as program:
        program.begin(project.name(project.folder()))
        from rocenv.lifecycle.up import decide, look, terminable  # imported while the engine answers

        with terminable():
            plan = decide(program, *wishes.read_wishes(profile, mounts=mount, ports=port, **wish), lock=mode)
            plan = _with_secrets(program, plan, secret or ())
            _explain(plan)
            outcome = _brought_up(program, plan, recreate=recreate, as_json=as_json)
            plan = outcome.plan
            if as_json or not no_test:
                outcome = outcome._replace(environment=look(program, outcome.environment))
            results = [] if no_test else _proof(program, plan, outcome)
    return _closing(plan, outcome, results, tested=not no_test, as_json=as_json)


def _with_secrets(engine: Engine, plan: Plan, words: Sequence[str]) -> Plan:
    """The plan with the secrets of the command line, which are written where they are mounted from."""
    if not words:
        return plan
    from rocenv.lifecycle import hidden

    secrets = hidden.wished(words)
    hidden.sweep(engine)
    hidden.write(plan.container, secrets)
    return hidden.given(plan, secrets)


def _explain(plan: Plan) -> None:
    """What was decided, in a few lines: the GPUs, the image, and why."""
    why = {reason.choice: reason.why for reason in reversed(plan.reasons)}  # the first of a kind counts
    console.say(f"gpus   {_gpus(plan)} ({why['gpus']})")
    console.say(f"image  {plan.image.reference} ({why['image']})")
    for warning in plan.warnings:
        console.warn(warning)


def _gpus(plan: Plan) -> str:
    """`4 × AMD Instinct MI300X, gfx942: 0, 1, 2, 3`; GPUs of several kinds one after the other."""
    kinds: dict[tuple[str, str | None], list[str]] = {}
    for gpu in plan.gpus:
        kinds.setdefault((gpu.name, gpu.gfx), []).append(str(gpu.index))
    words = [f"{len(them)} × {name}, {gfx}: {', '.join(them)}" for (name, gfx), them in kinds.items()]
    return "; ".join(words) or "none"


def _brought_up(engine: Engine, plan: Plan, *, recreate: bool, as_json: bool) -> Outcome:
    from rocenv.lifecycle.up import up

    ask = console.ask if console.can_ask() and not as_json else None
    with console.pull_progress() as progress:
        outcome = up(engine, plan, tell=console.say, ask=ask, progress=progress, recreate=recreate)
    words = {
        "created": "started",
        "recreated": "made anew and started",
        "started": "started again",
        "used": "runs already",
    }
    console.say(f"{outcome.environment.container}: {words[outcome.action]}")
    return outcome


def _proof(engine: Engine, plan: Plan, outcome: Outcome) -> Sequence[ProbeResult]:
    """The smoke test that the profile wishes; none where this very container has passed it and runs since."""
    from rocenv.lifecycle import proofs

    there = outcome.environment
    known = proofs.recall(there.id) if outcome.action == "used" else None
    if known and known["result"] in SETTLED and known["level"] == plan.smoke_level:
        console.say(f"smoke test: {known['result']} at {known['when']}; `rocenv test` repeats it")
        return []
    from datetime import datetime, timezone

    from rocenv.smoke import run_probes, stand_in_agreed

    def tell(result: ProbeResult) -> None:
        gpu = "" if result.gpu is None else f" on GPU {result.gpu}"
        console.say(f"  {result.name}{gpu}: {result.result}")

    console.say(f"smoke test, level {plan.smoke_level}:")
    results = run_probes(
        engine, there.id, plan.gpus, level=plan.smoke_level, probes=plan.smoke_probes, quick=True,
        stand_in=stand_in_agreed(there.labels), tell=tell,
    )  # fmt: skip
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    proofs.record(there.id, results, level=plan.smoke_level, when=when)
    return results


def _closing(plan: Plan, outcome: Outcome, results: Sequence[ProbeResult], *, tested: bool, as_json: bool) -> int:
    """Say what was shown and how to go on; the exit code."""
    from rocenv.plan.ports import addresses
    from rocenv.report.proof import BAD, proof_text
    from rocenv.report.proof import closing as shown

    failed = any(result.result in BAD for result in results)
    if failed:
        console.say(f"\n{proof_text(results, plan.gpus)}")
        console.say(f"\nthe container stays: `rocenv shell{_named(plan)}` looks into it, `rocenv test` tries again")
    else:
        if results or not tested:
            console.say(shown(results, plan.gpus) if results else "not tested (--no-test)")
        for address in addresses(plan.ports):
            console.say(f"its server answers at {address}, once it has been started")
        console.say(f"\ngo on: `rocenv shell{_named(plan)}`, `rocenv exec{_named(plan)} -- COMMAND`, `rocenv down`")
    if as_json:
        console.data_json(_answer(plan, outcome, results, failed=failed))
    return ProofError.code if failed else 0


def _named(plan: Plan) -> str:
    """The environment's name where it is not the profile's: where there is one of that, there may be others."""
    return "" if plan.name == plan.profile else f" {plan.name}"


def _answer(plan: Plan, outcome: Outcome, results: Sequence[ProbeResult], *, failed: bool) -> dict[str, Any]:
    from rocenv.lifecycle import proofs
    from rocenv.plan.ports import addresses
    from rocenv.render.argv import run_argv
    from rocenv.report.environments import environment_json
    from rocenv.report.plan import plan_json
    from rocenv.report.proof import proof_json

    own = ("version", "status")
    proof = proof_json(plan.name, plan.smoke_level, results) if results else proofs.recall(outcome.environment.id)
    return {
        "version": 1,
        "status": "failed" if failed else "ok",
        "action": outcome.action,
        "environment": environment_json(outcome.environment),
        "plan": {key: value for key, value in plan_json(plan, run_argv(plan)).items() if key not in own},
        "container": outcome.environment.container,
        "addresses": list(addresses(plan.ports)),
        "proof": proof and {key: value for key, value in proof.items() if key not in own},
    }
