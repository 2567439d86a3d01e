"""`rocenv bundle`: carry what a project runs on to a machine without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rocenv.cli import console, project, wishes

if TYPE_CHECKING:
    from rocenv.lifecycle.carry.record import Carried

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    help="Carry images, lock, settings and catalog to a machine without a network, in one file.",
    no_args_is_help=True,
)
Json = Annotated[bool, typer.Option("--json", help="The answer as JSON.")]
EngineKind = Annotated[str | None, typer.Option("--engine", help="docker or podman.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The bundle.", show_default=False)]


@app.command()
def save(
    file: File,
    profiles: Annotated[
        list[str] | None, typer.Argument(metavar="[PROFILE]…", help="Which; by default all that rocenv.lock holds.")
    ] = None,
    *,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no registry: take the images from the engine.")
    ] = False,
    engine: EngineKind = None,
    as_json: Json = False,
) -> None:
    """Write a bundle of what rocenv.lock holds: images by digest, lock, settings, catalog, smoke tests. No secrets.

    Images come from a registry where one has them (compressed), else from the engine (unpacked, and larger).
    """
    from rocenv.host import read_host
    from rocenv.lifecycle.carry.save import save as save_bundle
    from rocenv.lifecycle.lock import Site
    from rocenv.lifecycle.sources import open_sources
    from rocenv.lifecycle.up import terminable
    from rocenv.report.text import size

    sources = open_sources(engine, offline=offline, tell=console.say)
    site = Site(wishes.read_request(), read_host, sources, console.say)
    with terminable(), console.pull_progress() as progress:
        done = save_bundle(site, file, profiles or (), progress)
    if as_json:
        console.data_json({**_answer(file, done.images), "files": list(done.files), "size": done.size})
    else:
        console.data(_text(done.images))
        console.say(f"wrote {file} ({size(done.size)}): `rocenv bundle load {file.name}` takes it in elsewhere")


@app.command()
def load(
    file: File,
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files of the project that differ.")] = False,
    engine: EngineKind = None,
    as_json: Json = False,
) -> None:
    """Verify a bundle by its digests, then give its images to the engine and its files to the project here."""
    from rocenv.engine import open_engine
    from rocenv.lifecycle.carry.load import load as load_bundle
    from rocenv.lifecycle.up import terminable

    with terminable():
        done = load_bundle(open_engine(engine), file, project.folder(), force=force, tell=console.say)
    if as_json:
        placed = [one._asdict() for one in done.files]
        console.data_json({**_answer(file, done.images), "had": list(done.had), "files": placed})
        return
    console.data(_text(done.images))
    for one in done.files:
        if one.action != "same":
            console.say(f"{one.action} {one.path}")
    console.say("go on: `rocenv up --frozen`")


@app.command()
def verify(file: File, *, as_json: Json = False) -> None:
    """Read a bundle through, every byte against its digest, and say what is in it. Nothing is loaded."""
    from rocenv.lifecycle.carry.verify import opened

    with opened(file) as bundle:
        found, names, size = bundle.record.images, sorted(bundle.texts), bundle.size
    if as_json:
        console.data_json({**_answer(file, found), "files": names, "size": size})
    else:
        console.data(_text(found))


def _answer(file: Path, images: tuple[Carried, ...]) -> dict[str, Any]:
    return {"version": 1, "status": "ok", "file": str(file), "images": [one._asdict() for one in images]}


def _text(images: tuple[Carried, ...]) -> str:
    from rocenv.report.text import table

    return table(["profile", "image", "id"], [[one.profile, one.reference, one.image[:19] + "…"] for one in images])
