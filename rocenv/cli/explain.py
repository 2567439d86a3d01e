"""`rocenv explain`: why `up` takes the image that it takes, and why no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import console, wishes
from rocenv.errors import ImageError

if TYPE_CHECKING:
    from rocenv.model.wish import Profile
    from rocenv.plan import Request


def command(
    profile: wishes.ProfileName = None,
    *,
    host: Annotated[str | None, typer.Option("--host", metavar="PATH", help="Explain for a captured host.")] = None,
    gpus: wishes.Gpus = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
    rootless: Annotated[
        bool, typer.Option("--rootless", help="Explain for a rootless engine, without asking one.")
    ] = False,
    image: wishes.Image = None,
    env: wishes.Env = None,
    cpu: wishes.Cpu = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every image by itself.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> int:
    """Show the images that a profile chooses from, ranked: what speaks for and against each, and what refuses it.

    It is the choice that `plan` shows and `up` makes. Where nothing fits it names what does for a part of the GPUs, or
    with something that you ask for by name, and ends with 5. Pulls nothing, and needs no GPU, engine or network.
    """
    from rocenv.cli.plan import asked
    from rocenv.host import read_host
    from rocenv.plan.explain import explain
    from rocenv.report.explain import explain_json, explain_text

    wished, request = wishes.read_wishes(profile, gpus=gpus, image=image, env=env, cpu=cpu)
    seen = read_host(host)
    facts, program = asked(seen, engine, rootless=rootless)
    told = explain(wished, seen, facts, cpu=cpu)
    if program is not None and told.chosen is not None and told.equals:
        here = program.images_here([told.chosen.reference, *told.equals])
        told = explain(wished, seen, facts, cpu=cpu, here=here) if here else told
    told = told._replace(warnings=(*told.warnings, *_locked(wished, request)))
    if as_json:
        console.data_json(explain_json(told))
        return 0 if told.error is None else ImageError.code
    console.data(explain_text(told, everything=everything))
    return 0 if told.error is None else _failed(ImageError(told.error.message, told.error.hint))


def _failed(error: ImageError) -> int:
    console.failed(error, as_json=False)
    return error.code


def _locked(wished: Profile, request: Request) -> tuple[str, ...]:
    """A word on the project's lock, where it decides and not the choice that is explained."""
    from pathlib import Path

    from rocenv.lifecycle.held import AUTO, held

    found = held(wished, Path(request.project_folder), AUTO)
    if found.locked is None:
        return found.warnings
    image = found.locked.image.reference
    return (f"`rocenv.lock` holds {image} for this profile: `up` takes that, and with `--no-lock` what is told here",)
