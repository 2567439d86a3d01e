"""`rocenv catalog`: what is known, where from, and which tables are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from rocenv.cli import console
from rocenv.errors import UsageError

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    help="Show what is known of GPUs, ROCm releases, drivers, images and hazards, and where it was read.",
    no_args_is_help=True,
)
Json = Annotated[bool, typer.Option("--json", help="The answer as JSON.")]


@app.command()
def show(
    name: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            show_default=False,
            help="A GPU (7900XTX, 1002:744c), a target (gfx942), a release (7.2.4), a driver (30.30.4), a HIP version, "
            "an image or its family, a hazard; `hazards`, `rules` and `indexes` show all of those.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show everything that the catalog holds of one thing, each fact with its source and date."""
    from rocenv.catalog import lookup, table
    from rocenv.report.catalog import entries_json, entries_text

    word = " ".join(name)
    found = lookup.found(word)
    if not found:
        near = lookup.nearest(word)
        hint = (
            f"did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else "`rocenv catalog list` shows names"
        )
        raise UsageError(f"the catalog knows nothing of the name `{word[:80]}`", hint)
    origins = {key: table.origin(key) for key in dict.fromkeys(one.table for one in found)}
    if as_json:
        told = {key: {"date": one.date, "laid_in": one.path} for key, one in origins.items()}
        console.data_json(entries_json(word, found, told))
    else:
        console.data(entries_text(found, {key: one.date for key, one in origins.items()}))


@app.command("list")
def list_names(as_json: Json = False) -> None:
    """List the names that `show` knows, by kind."""
    from rocenv.catalog import gpus, images, lookup
    from rocenv.catalog.table import load

    names = {
        "targets": list(gpus.targets()),
        "releases": [row["version"] for row in load("releases")["releases"]],
        "drivers": [row["release"] for row in load("drivers")["releases"]],
        "families": [one.name for one in images.families()],
        "hazards": [row["id"] for row in load("hazards")["hazards"]],
        "products": list(dict.fromkeys(one.name for one in lookup.products())),
    }
    if as_json:
        console.data_json({"version": 1, "status": "ok", **names})
    else:
        console.data("\n\n".join(f"{kind}: {', '.join(found)}" for kind, found in names.items()))


@app.command()
def status(as_json: Json = False) -> None:
    """Tell which tables are used: those that came with rocenv, or newer ones laid into a configuration folder.

    A table that is not sound is told here with what is wrong, and keeps no other command of this kind from working.
    """
    from rocenv.report.catalog import status_text

    rows = list(_status())
    if as_json:
        console.data_json({"version": 1, "status": "ok", "tables": rows})
    else:
        console.data(status_text(rows))


def _status() -> Iterator[dict[str, Any]]:
    from rocenv.catalog import table
    from rocenv.catalog.laid import strangers

    for name in table.NAMES:
        try:
            used = table.origin(name)
        except UsageError:
            used = None
        built = table.built_in(name)["date"]
        yield _row(name, "rocenv itself", built, used=used is not None and used.path is None)
        yield from _laid(name, used and used.path)
    for folder in table.folders():
        for path in strangers(folder, table.NAMES):
            yield _row("", path, None, used=False, said="no table has this name, and it is not read")


def _laid(name: str, used: str | None) -> Iterator[dict[str, Any]]:
    """The files of a table's name in the folders, each with what is wrong with it."""
    from rocenv.catalog import laid, table

    for folder in table.folders():
        for kind in laid.KINDS:
            path = folder / (name + kind)
            try:
                found = laid.of(name, path)
            except UsageError as error:
                yield _row(name, str(path), None, used=False, said=error.message)
                continue
            if found is not None:
                said = None if found.path == used else "an older one, or of the same date and less near"
                yield _row(name, found.path, found.date, used=found.path == used, said=said)


def _row(name: str, where: str, date: str | None, *, used: bool, said: str | None = None) -> dict[str, Any]:
    return {"table": name, "from": where, "date": date, "used": "yes" if used else "no", "said": said}
