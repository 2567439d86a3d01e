"""`rocenv dockerfile`: the Dockerfile that `build` and `up` build a profile's image from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rocenv.cli import building, console, wishes
from rocenv.errors import UsageError

MARK = "rocenv.image.plan="  # a file that rocenv wrote has this label


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
    locked: wishes.Locked = False,
    frozen: wishes.Frozen = False,
    no_lock: wishes.NoLock = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of to stdout.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With -o, also over a file that rocenv did not write.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> None:
    """Print the Dockerfile of a profile's image: the packages that it wants, on the image that fits the GPUs.

    Needs no engine, no network and no GPU. The same profile on the same image is the same text, byte for byte.
    """
    from rocenv.model.plan import EngineFacts

    mode = wishes.lock_mode(locked=locked, frozen=frozen, no_lock=no_lock)
    wanted, named = building.wished(profile, image=image, gpus=gpus, template=template, gfx=gfx, apt=apt, pip=pip)
    plan = building.planned(wanted, host=host, facts=EngineFacts("docker", assumed=True), lock=mode, named=named)
    text = plan.dockerfile or ""
    for warning in plan.warnings:
        console.warn(warning)
    if output is not None:
        _write(Path(output), text, force=force)
        console.say(f"wrote {output}; `rocenv build` builds it as {plan.image.reference}")
    if as_json:
        told = {"reference": plan.image.reference, "base": plan.image.base, "file": output, "dockerfile": text}
        console.data_json({"version": 1, "status": "ok", **told})
    elif output is None:
        console.data(text.removesuffix("\n"))


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write the file whole or not at all, never over one of the user's. Raises UsageError."""
    from rocenv.lifecycle.written import written

    if not force and path.is_symlink():
        raise UsageError(f"`{path}` is a link; it is left alone", "`--force` puts a file in its place")
    if not force and path.exists():
        try:
            own = path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace")[: 1 << 20]
        except OSError as error:
            raise UsageError(f"`{path}` cannot be read: {error.strerror}", f"`ls -l {path}`") from error
        if not own:
            raise UsageError(f"`{path}` is there, and rocenv did not write it", "`--force` writes over it")
    with written(path) as stream:
        stream.write(text.encode())
