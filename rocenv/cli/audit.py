"""`rocenv audit`: which gfx targets an image really carries, read from its layers without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import console
from rocenv.errors import EngineError, ImageError, UsageError

if TYPE_CHECKING:
    from rocenv.catalog.images import CatalogImage
    from rocenv.catalog.references import Reference
    from rocenv.engine.engine import Engine
    from rocenv.engine.layers import Source


def command(
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="A reference, or a file that an image is saved in.")],
    *,
    gpu: Annotated[
        list[str] | None, typer.Option("--gpu", metavar="GFX", help="Judge each library for this target.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="PATH", help="Judge for the GPUs of a host: a capture, or `.`.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="SOURCE", help="engine, registry, or a file (docker save, OCI).")
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Read it again, even if it is known.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> None:
    """Say what is inside an image, and whether it is what its tag says. Nothing is run and no GPU is needed.

    The engine's own copy is read where there is one, else the registry's, as it streams. What is found is kept.
    """
    from rocenv.image.verdict import verdicts
    from rocenv.image.warnings import warnings
    from rocenv.lifecycle.audit import look_inside
    from rocenv.lifecycle.up import terminable
    from rocenv.report.audit import audit_json, audit_text

    targets = _targets(gpu or [], host)
    opened, reference = _open(image, source, engine)
    with terminable():
        found = look_inside(opened, console.say, fresh=fresh)
    judged = {gfx: verdicts(found, gfx) for gfx in targets}
    said = warnings(found, _tagged(reference))
    show = image if reference is None or _is_id(image) else reference.familiar
    if as_json:
        console.data_json(audit_json(show, found, said, judged, opened.where))
    else:
        console.data(audit_text(show, found, said, judged, opened.where))


def _targets(named: list[str], host: str | None) -> tuple[str, ...]:
    """The targets to judge for: those that are named, or a host's; without either this machine's, if it has any."""
    import re

    words = [word for part in named for word in part.split(",") if word]
    wrong = [word for word in words if not re.fullmatch(r"gfx[0-9a-f]{3,5}", word)]
    if wrong:
        raise UsageError(f"`{wrong[0]}` is no gfx target", "write it as `--gpu gfx942`; commas join several")
    if words and host is not None:
        raise UsageError("`--gpu` and `--host` name targets both", "leave one of them away")
    if not words:
        from rocenv.host import read_host

        words = [gpu.gfx for gpu in read_host(host).gpus if gpu.gfx]
        if host is not None and not words:
            raise UsageError(f"`{host}` has no GPU whose target is known", "name the target: `--gpu gfx942`")
    return tuple(dict.fromkeys(words))


def _open(image: str, source: str | None, kind: str | None) -> tuple[Source, Reference | None]:
    """Where the image is read from, and its reference where it has one."""
    from rocenv.engine.layers import from_file

    if source is None and _is_file(image):
        return from_file(image, None), None
    reference = _reference(image)
    if source not in (None, "engine", "registry"):
        return from_file(source, image), reference
    here = None if source == "registry" else _engine(kind, needed=source == "engine")
    found = _of_engine(here, image, needed=source == "engine") if here is not None else None
    if found is None:
        from rocenv.engine.layers import from_registry

        found = from_registry(here or _engine(kind, needed=False), reference)
    return found, reference


def _is_file(image: str) -> bool:
    """True for what is meant as a file: a path, or an archive that is there."""
    from pathlib import Path

    if image.startswith(("/", "./", "../")):
        return True
    return image.endswith((".tar", ".tgz", ".tar.gz", ".tar.zst")) and Path(image).exists()


def _is_id(image: str) -> bool:
    """True for an image's id as engines show it, which is read as a name where there is no such id."""
    import re

    return re.fullmatch(r"(sha256:)?[0-9a-f]{12,64}", image) is not None


def _reference(image: str) -> Reference:
    from rocenv.catalog.references import Reference

    try:
        return Reference.parse(image)
    except ValueError as error:
        raise UsageError(str(error), "write it as `repository:tag`, or name a file as `./image.tar`") from error


def _engine(kind: str | None, *, needed: bool) -> Engine | None:
    from rocenv.engine import open_engine

    try:
        return open_engine(kind)
    except EngineError:
        if needed:
            raise
        return None


def _of_engine(engine: Engine, image: str, *, needed: bool) -> Source | None:
    """The engine's copy, by name or id; where the engine does not answer and need not, None, and why is told."""
    from rocenv.engine.layers import from_engine

    try:
        found = from_engine(engine, image, _labels())
    except EngineError as error:
        if needed:
            raise
        console.warn(f"{error.message}; the registry is asked instead")
        return None
    if found is None and needed:
        raise ImageError(f"there is no image `{image}` on the engine", f"`{engine.program} pull {image}`")
    return found


def _labels() -> dict[str, str]:
    """What marks the container that holds the image while it is read: should rocenv be killed, `down` removes it."""
    import os

    from rocenv import __version__
    from rocenv.cli import project

    return {
        "rocenv.version": __version__,
        "rocenv.project": project.name(project.folder()),
        "rocenv.name": "audit",
        "rocenv.once": "1",
        "rocenv.owner": str(os.getuid()),
    }


def _tagged(reference: Reference | None) -> CatalogImage | None:
    """What the catalog reads in the tag."""
    from rocenv.catalog import images

    return images.describe(reference) if reference is not None else None
