"""`rocenv build`: build a profile's image by the engine, or look for faults in its Dockerfile."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import building, console, wishes
from rocenv.errors import UsageError

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.model.plan import Plan
    from rocenv.render.build_argv import Options

Cache = list[str] | None


def command(
    profile: wishes.ProfileName = None,
    *,
    host: building.HostPath = None,
    gpus: wishes.Gpus = None,
    image: wishes.Image = None,
    template: building.Template = None,
    gfx: building.Gfx = None,
    apt: building.Apt = None,
    pip: building.Pip = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do every step anew.")] = False,
    cache_from: Annotated[Cache, typer.Option("--cache-from", metavar="WHERE", help="Take steps from there.")] = None,
    cache_to: Annotated[Cache, typer.Option("--cache-to", metavar="WHERE", help="Keep steps there (buildx).")] = None,
    platform: Annotated[str | None, typer.Option("--platform", help="Build for another platform.")] = None,
    push: Annotated[bool, typer.Option("--push", help="Push the image instead of keeping it (buildx).")] = False,
    tag: Annotated[str | None, typer.Option("--tag", "-t", metavar="REF", help="Call the image so.")] = None,
    progress: Annotated[str | None, typer.Option("--progress", help="auto or plain; plain in CI.")] = None,
    sbom: Annotated[bool, typer.Option("--sbom", help="Have BuildKit attach a list of contents (buildx).")] = False,
    provenance: Annotated[
        bool, typer.Option("--provenance", help="Have BuildKit attach how it was built (buildx).")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Look for faults in the Dockerfile; build nothing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the command line; build nothing.")] = False,
    locked: wishes.Locked = False,
    frozen: wishes.Frozen = False,
    no_lock: wishes.NoLock = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> int:
    """Build the image that a profile wants, unless it is there: its name holds a digest of all that it is made of.

    Nothing of this machine is left in it: proxies, package mirrors and secrets are mounted for the steps alone.
    """
    from rocenv.model.plan import EngineFacts
    from rocenv.render.build_argv import Options

    options = Options(
        no_cache, tuple(cache_from or ()), tuple(cache_to or ()), platform, push,
        progress or ("plain" if os.environ.get("CI") else None), sbom, provenance,
    )  # fmt: skip
    mode = wishes.lock_mode(locked=locked, frozen=frozen, no_lock=no_lock)
    wanted, named = building.wished(profile, image=image, gpus=gpus, template=template, gfx=gfx, apt=apt, pip=pip)
    with closing(_engine(engine, needed=not (check or dry_run))) as program:
        # What an image is made of does not hang on the engine: it is asked only where something is to be built.
        facts = EngineFacts(program.kind, assumed=True)
        plan = building.planned(
            wanted, host=host, facts=facts, lock=mode, named=named, text=check or dry_run or as_json
        )
        for warning in plan.warnings:
            console.warn(warning)
        if check:
            return _checked(program, plan, as_json=as_json)
        if dry_run:
            return _shown(program, plan, tag or plan.image.reference, options, as_json=as_json)
        return _built(program, plan, options, tag, as_json=as_json)


def _engine(kind: str | None, *, needed: bool) -> Engine:
    """The engine; for what needs none also one that is not installed."""
    from rocenv.engine import Engine, open_engine
    from rocenv.errors import EngineError

    try:
        return open_engine(kind)
    except EngineError:
        if needed:
            raise
        return Engine(kind or "docker", kind or "docker")


def _built(engine: Engine, plan: Plan, options: Options, tag: str | None, *, as_json: bool) -> int:
    from rocenv.lifecycle.fetch import fetch
    from rocenv.lifecycle.up import terminable

    if options.push:
        if tag is None:
            raise UsageError("`--push` needs to know where to", "`--tag REGISTRY/NAME:TAG`")
        plan = plan._replace(image=plan.image._replace(reference=tag))
    asked = options._replace(progress=None) != type(options)()
    there = not asked and engine.image(plan.image.reference) is not None
    with terminable(), console.pull_progress() as show:
        if not there:
            plan = plan._replace(engine=engine.facts())
            fetch(engine, plan, tell=console.say, progress=show, options=options if asked else None)
        if tag is not None and not options.push:
            engine.tag(plan.image.reference, tag)
    action = "there" if there else "pushed" if options.push else "built"
    if as_json:
        told = {"action": action, "reference": plan.image.reference, "base": plan.image.base, "tag": tag}
        console.data_json({"version": 1, "status": "ok", **told, "dockerfile": plan.dockerfile})
    else:
        console.data(tag or plan.image.reference)
    return 0


def _shown(engine: Engine, plan: Plan, reference: str, options: Options, *, as_json: bool) -> int:
    """The command line and the Dockerfile that goes to it; no value of a secret or a proxy stands in either."""
    from rocenv.engine.build import command_line

    argv = command_line(engine, plan, options, console.warn, reference)
    if as_json:
        told = {"reference": plan.image.reference, "base": plan.image.base, "argv": argv, "dockerfile": plan.dockerfile}
        console.data_json({"version": 1, "status": "ok", **told})
    else:
        console.data(f"{_lines(argv)}\n\n{(plan.dockerfile or '').rstrip()}")
    return 0


def _lines(argv: list[str]) -> str:
    """A command line to read and to copy: quoted for the shell, one option a line."""
    import shlex

    start = next(place for place, word in enumerate(argv) if word.startswith("-"))
    return " \\\n  ".join([shlex.join(argv[:start]), *map(shlex.quote, argv[start:])])


def _checked(engine: Engine, plan: Plan, *, as_json: bool) -> int:
    from rocenv.lifecycle.lint import lint

    report = lint(engine, plan.dockerfile or "")
    if as_json:
        faults = [one._asdict() for one in report.faults]
        status = "failed" if faults else "ok"
        console.data_json(
            {"version": 1, "status": status, "asked": report.asked, "left_out": report.left_out, "faults": faults}
        )
    else:
        for one in report.faults:
            console.data(f"{one.by}: {one.said}")
        for tool, why in report.left_out.items():
            console.warn(f"{tool} was not asked: {why}")
        console.say(f"asked {', '.join(report.asked)}: {len(report.faults) or 'no'} faults")
    return UsageError.code if report.faults else 0
