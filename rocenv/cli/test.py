"""`rocenv test`: prove by smoke tests that every GPU of a running environment works."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated

import typer

from rocenv.cli import ahead, console, inside, project
from rocenv.errors import ProofError, UsageError
from rocenv.lifecycle import proofs
from rocenv.model.proof import Environment, ProbeResult
from rocenv.model.wish import SmokeWish
from rocenv.report.proof import BAD, proof_json, proof_text
from rocenv.smoke import planned_gpus, run_probes, stand_in_agreed

UNKNOWN_PROFILE = SmokeWish("kernel")


def command(
    name: Annotated[str | None, typer.Argument(help="The environment; default: the project's only one.")] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            help="access, runtime, kernel, compile, libraries or framework: all its tests and those below; default: "
            "the few that `up` runs.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> int:
    """Run the smoke tests inside a running environment, as its user.

    Ends with 6 where one failed or could not run, with 0 where all that was asked for passed, was skipped or was a
    stand-in; skips and stand-ins are counted and said.
    """
    program = ahead.engine(engine)
    there = inside.running_environment(program, name)
    wish = _wish(there) if level is None else SmokeWish(level)
    gpus = planned_gpus(there.gpus, there.container)
    results = run_probes(
        program,
        there.id,
        gpus,
        level=wish.level,
        probes=wish.probes,
        quick=level is None,
        stand_in=stand_in_agreed(there.labels),
        tell=_tell,
    )
    proofs.record(there.id, results, level=wish.level, when=datetime.now(timezone.utc).isoformat(timespec="seconds"))
    if as_json:
        console.data_json(proof_json(there.name, wish.level, results))
    else:
        console.data(proof_text(results, gpus))
    return ProofError.code if any(result.result in BAD for result in results) else 0


def _wish(there: Environment) -> SmokeWish:
    """What the environment's profile wishes to be proven; a profile that is no longer there wishes for kernels."""
    from rocenv.profile import load_profile

    try:
        return load_profile(there.profile or None, project=project.folder(), overrides={}).smoke
    except UsageError as error:
        console.warn(f"{error.message}: testing up to the {UNKNOWN_PROFILE.level} level")
        return UNKNOWN_PROFILE


def _tell(result: ProbeResult) -> None:
    """A line for the person who waits."""
    gpu = "" if result.gpu is None else f" on GPU {result.gpu}"
    console.say(f"{result.name}{gpu}: {result.result}")
