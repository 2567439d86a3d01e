"""`rocenv lease`: who has leased which GPU, and an end to one's own leases."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rocenv.cli import console
from rocenv.errors import UsageError

if TYPE_CHECKING:
    from rocenv.lifecycle.leasing import Row

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    help="GPUs leased by `rocenv run --lease`: a lease lives as long as its run, however that ends.",
    no_args_is_help=True,
)
Json = Annotated[bool, typer.Option("--json", help="The answer as JSON.")]


@app.command("list")
def listed(*, as_json: Json = False) -> None:
    """Show each GPU with who has leased it."""
    from rocenv.host import read_host
    from rocenv.lifecycle.lease import folder
    from rocenv.lifecycle.leasing import rows
    from rocenv.report.text import table

    found = rows(read_host())
    if as_json:
        answer = {"version": 1, "status": "ok", "folder": str(folder()), "gpus": [_json(row) for row in found]}
        console.data_json(answer)
    elif not found:
        console.data("no GPU; `rocenv doctor` says why")
    else:
        lines = [line for row in found for line in _lines(row)]
        console.data(table(("GPU", "GFX", "BDF", "LEASE", "PID", "USER", "COMMAND"), lines))


@app.command()
def release(
    which: Annotated[
        str | None, typer.Argument(metavar="[WHICH]", help="GPUs in the words of --gpus; default: with --all, all.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All leases of your own.")] = False,
    as_json: Json = False,
) -> None:
    """End the runs of yours that hold these leases, as Ctrl-C does. A lease of another user is left alone."""
    from rocenv.host import read_host
    from rocenv.lifecycle.leasing import release as end
    from rocenv.lifecycle.leasing import rows
    from rocenv.plan.select import select

    if (which is None) != everything:
        raise UsageError("which leases?", "`rocenv lease release 0,2`, or `--all` for all of your own")
    host = read_host()
    meant = {gpu.index for gpu in (host.gpus if which is None else select(which, host, rootless=False).gpus)}
    held = [row for row in rows(host) if row.gpu.index in meant and row.holders]
    if everything:
        held = [row for row in held if all(holder.uid == os.getuid() for holder in row.holders)]
    gone = end(held, os.getuid(), console.say)
    if not gone:
        console.say("nothing to release")
    if as_json:
        console.data_json({"version": 1, "status": "ok", "released": [_json(row) for row in gone]})


def _lines(row: Row) -> list[tuple[str, ...]]:
    part = f"/{row.gpu.partition.index}" if row.gpu.partition.count > 1 else ""
    own = (str(row.gpu.index), row.gpu.gfx or "?", row.gpu.bdf + part)
    if not row.holders:
        return [(*own, "free", "-", "-", "-")]
    return [(*own, one.mode, str(one.pid), _user(one.uid), (one.command or "?")[:60].rstrip()) for one in row.holders]


def _json(row: Row) -> dict[str, Any]:
    from rocenv.report.usage import named

    return {
        **named(row.gpu),
        "lease": row.holders[0].mode if row.holders else None,
        "holders": [{"pid": one.pid, "mode": one.mode, "uid": one.uid, "command": one.command} for one in row.holders],
    }


def _user(uid: int | None) -> str:
    """A user's name, or the number where it has none."""
    if uid is None:
        return "?"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
