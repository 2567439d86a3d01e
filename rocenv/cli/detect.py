"""`rocenv detect`: what GPUs a host has, whether they can be used, and by whom."""

from __future__ import annotations

from typing import Annotated

import typer

from rocenv.cli import console
from rocenv.errors import UsageError


def command(
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="PATH", help="Read a capture (folder or .tar.gz) instead of this machine."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
    links: Annotated[bool, typer.Option("--links", help="Show the links between GPUs too.")] = False,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Write what is read to FILE, a capture .tar.gz.")
    ] = None,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="With --save: replace the UUIDs of the GPUs.")] = False,
) -> None:
    """Show the GPUs, driver, ROCm and access of a host. Reads files alone; needs no ROCm and starts no process."""
    if save is not None:
        _save(save, host, anonymous=anonymous, as_json=as_json)
        return
    if anonymous:
        raise UsageError("`--anonymous` is for captures alone", "add `--save FILE`, or leave `--anonymous` away")
    from rocenv.host import read_host, read_links

    seen = read_host(host, chips=not as_json)
    seen_links = read_links(host) if links else None
    if as_json:
        from rocenv.report.host import host_json

        console.data_json(host_json(seen, seen_links))
        return
    from rocenv.report.host_text import host_text

    console.data(host_text(seen, seen_links))


def _save(file: str, host: str | None, *, anonymous: bool, as_json: bool) -> None:
    """Write a capture and say what is in it."""
    from rocenv.host import save_capture

    saved = save_capture(file, host, anonymous=anonymous)
    if as_json:
        answer = {"version": 1, "status": "ok", "file": saved.file, "files": saved.files, "anonymous": anonymous}
        console.data_json(answer)
        return
    console.data(saved.file)
    console.say(f"{saved.files} files, without host and user names and serial numbers")
