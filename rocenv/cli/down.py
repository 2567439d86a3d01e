"""`rocenv down`: remove environments, and on request their caches."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from rocenv.cli import console, inside, project
from rocenv.engine import Engine, open_engine
from rocenv.lifecycle import genuine
from rocenv.lifecycle.down import down
from rocenv.lifecycle.find import elsewhere
from rocenv.lifecycle.volumes import MARK
from rocenv.model.proof import Environment


def command(
    name: Annotated[str | None, typer.Argument(help="One environment; default: all of this project.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="The environments of all your projects.")] = False,
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Their cache volumes too; with --all, all of yours.")
    ] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Stop and remove environments of this project. Only what rocenv made for you is touched."""
    program = open_engine(engine)
    found = _meant(program, name, everything=everything)
    caches = _caches(program, found, whole=name is None, everything=everything) if volumes else []
    if not found and not caches:
        console.say("nothing to remove")
        return
    down(program, found, volumes=caches, tell=console.say)


def _meant(engine: Engine, name: str | None, *, everything: bool) -> list[Environment]:
    """The environments to remove; those of other users are left out, and named."""
    if name is not None:
        return [inside.environment(engine, name)]
    folder = project.folder()
    found = engine.find() if everything else engine.find(project=project.name(folder))
    own = [there for there in found if there.owner == str(os.getuid())]
    for there in found:
        if there in own and everything and not genuine.own(there):
            console.say(f"left {there.container}: its labels are not of rocenv's making (`rocenv down` in its project)")
        elif there not in own:
            console.say(f"left {there.container}: it is user {there.owner}'s (`rocenv down {there.name}` removes it)")
    if everything:
        return [there for there in own if genuine.own(there)]
    return [there for there in own if not _left(there, elsewhere(there, str(folder)))]


def _left(there: Environment, other: str | None) -> bool:
    """Whether it stays because it is of another folder that has this one's name; says so."""
    if other is None:
        return False
    console.say(f"left {there.container}: it is of the folder {other} (`rocenv down` there removes it)")
    return True


def _caches(engine: Engine, found: list[Environment], *, whole: bool, everything: bool) -> list[str]:
    """The volumes that go with these environments; of a whole project also those that it made for `run`."""
    owner = f"rocenv.owner={os.getuid()}"
    if everything:
        return sorted(engine.volumes(owner))
    mounted = engine.mounted([there.id for there in found])
    made = engine.volumes(owner, f"rocenv.project={project.name(project.folder())}") if whole else set()
    return sorted({*mounted, *(name + MARK for name in mounted), *made})
