"""`rocenv images`: what the catalog knows of images, and which of them fit a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import console, project
from rocenv.errors import UsageError

if TYPE_CHECKING:
    from rocenv.catalog.images import Family
    from rocenv.model.wish import Profile


def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[FAMILY|PROFILE]", show_default=False, help="A family (rocm/pytorch) or a profile."),
    ] = None,
    *,
    host: Annotated[str | None, typer.Option("--host", metavar="PATH", help="Judge for a captured host.")] = None,
    remote: Annotated[bool, typer.Option("--remote", help="Ask the registry which tags there are.")] = False,
    engine: Annotated[
        str | None, typer.Option("--engine", help="docker or podman: whose mirrors and logins --remote uses.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every image.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> None:
    """List the images that the catalog knows, those that fit this host's GPUs and driver first, and why others do not.

    Without a name: the families. Needs no network, no engine and no GPU; only --remote asks a registry: tags that the
    catalog lacks are then marked `new`, and those that are not there any more `gone`.
    """
    from rocenv.catalog import images, table
    from rocenv.host import read_host
    from rocenv.plan.shelf import shelf
    from rocenv.report.images import overview_json, overview_text, shelf_json, shelf_text

    where = table.origin("images")
    catalog = {"date": where.date, "laid_in": where.path}
    if name is None:
        if remote:
            raise UsageError(
                "`--remote` asks for one family, and none is named", "`rocenv images rocm/pytorch --remote`"
            )
        seen = read_host(host)
        shelves = [shelf(family, seen) for family in images.families()]
        if as_json:
            console.data_json(overview_json(shelves, catalog))
        else:
            console.data(overview_text(shelves))
        return
    family, profile = _meant(name)
    told = _tags(family, engine) if remote else None
    found = shelf(family, read_host(host), profile, told)
    if as_json:
        console.data_json(shelf_json(found, catalog))
    else:
        console.data(shelf_text(found, everything=everything))


def _meant(name: str) -> tuple[Family, Profile | None]:
    """A family by its name, or the family of a profile. Raises UsageError with the nearest of both."""
    from rocenv.catalog import images
    from rocenv.profile import available, load_profile

    family = images.family(name)
    if family is not None:
        return family, None
    folder = project.folder()
    profiles = [one.name for one in available(folder)]
    if name in profiles:
        profile = load_profile(name, project=folder, overrides={})
        family = images.family(profile.image.family or "")
        if family is None:
            raise UsageError(
                f"the profile `{name}` chooses from no family of the catalog",
                "`rocenv images` lists the families",
            )
        return family, profile
    import difflib

    near = difflib.get_close_matches(name, [*(one.name for one in images.families()), *profiles], n=1, cutoff=0.5)
    hint = f"did you mean `rocenv images {near[0]}`?" if near else "`rocenv images` lists the families"
    raise UsageError(f"there is no family and no profile `{name}`", hint)


def _tags(family: Family, kind: str | None) -> Mapping[str, Sequence[str] | str]:
    """By repository the tags that its registry has, or its error in words, which is told as well."""
    from rocenv.catalog.references import Reference
    from rocenv.engine import open_engine
    from rocenv.engine.registry import RegistryError, settings, tags
    from rocenv.errors import EngineError

    if kind not in (None, "docker", "podman"):
        raise UsageError(f"there is no engine `{kind}`", "`--engine docker` or `--engine podman`")
    try:
        config = settings(open_engine(kind))
    except EngineError as error:
        console.warn(f"{error.message}; its mirrors and logins are not used")
        config = {}
    found: dict[str, Sequence[str] | str] = {}
    for repository in family.repositories:
        reference = Reference(family.registry, repository, "latest", None)
        try:
            found[repository] = tags(reference, config)
        except RegistryError as error:
            found[repository] = error.message
            console.warn(f"the tags of {reference.name} are not known: {error.message}; the catalog's own are shown")
    return found
