"""`rocenv prune`: remove what rocenv made and nobody uses any more."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rocenv.cli import ahead, console

if TYPE_CHECKING:
    from rocenv.lifecycle.prune import Leftovers


def command(
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="Only what was made longer ago: 7d, 12h, 30m, 2w.")
    ] = None,
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Cache volumes too that no container has mounted: downloads are in them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go; remove nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Remove what rocenv made for you and nobody uses; environments stay.

    One-off containers that have ended or lost their `rocenv run`, and images that it built and no container is made
    of; with --volumes cache volumes too.
    """
    from rocenv.lifecycle.prune import age_of, leftovers, remove

    older = age_of(older_than) if older_than else timedelta()
    program = ahead.engine(engine)
    found = leftovers(program, older=older, volumes=volumes)
    if not dry_run:
        found = remove(program, found, console.say)
    else:
        for line in (*(one.container for one in found.containers), *found.volumes, *_names(found)):
            console.say(f"would remove {line}")
    console.say(_closing(found, dry_run=dry_run))
    if as_json:
        console.data_json(_answer(found, dry_run=dry_run))


def _names(found: Leftovers) -> list[str]:
    return [one.reference for one in found.images]


def _bytes(found: Leftovers) -> int:
    """The bytes known to be held by it: an image counts once, whatever names it has."""
    sizes = {one.id: one.size or 0 for one in found.images}
    return sum(sizes.values()) + sum(size or 0 for size in found.volumes.values())


def _closing(found: Leftovers, *, dry_run: bool) -> str:
    from rocenv.report.text import size

    parts = [
        f"{count} {what}{'' if count == 1 else 's'}"
        for count, what in ((len(found.containers), "container"), (len(found.volumes), "volume"),
                            (len(found.images), "image"))
        if count
    ]  # fmt: skip
    if not parts:
        return "nothing to remove"
    known = _bytes(found)
    held = f", {size(known)} of disk at most (images share layers)" if known else ""
    return f"{'would remove' if dry_run else 'removed'} {', '.join(parts)}{held}"


def _answer(found: Leftovers, *, dry_run: bool) -> dict[str, Any]:
    return {
        "version": 1,
        "status": "ok",
        "removed": not dry_run,
        "containers": [{"container": one.container, "id": one.id, "created": one.created} for one in found.containers],
        "volumes": [{"name": name, "bytes": size} for name, size in found.volumes.items()],
        "images": [{"reference": one.reference, "id": one.id, "bytes": one.size} for one in found.images],
        "bytes": _bytes(found),
    }
