"""`rocenv lock`: write down which image each profile runs on, by digest; check it; renew it."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import typer

from rocenv.cli import console, wishes
from rocenv.errors import HostError, PolicyError, UsageError
from rocenv.lifecycle import lockfile
from rocenv.lifecycle.lock import Site, locked_anew
from rocenv.lifecycle.sources import open_sources
from rocenv.model.lock import FILE, Lock


def command(
    profiles: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROFILE]…", help="Which; by default those of rocenv.yaml and those locked before."),
    ] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Look whether it still holds, and change nothing; ends with 7 if not.")
    ] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Choose and resolve afresh what is locked already, and show what changed.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no registry: lock, or check, what the engine has.")
    ] = False,
    host: Annotated[
        str | None, typer.Option("--host", metavar="PATH", help="Choose for a captured host instead of this one.")
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
) -> int:
    """Write rocenv.lock: the digest of each profile's image, where else it can be had, and what it was proven on.

    What is locked stays as it is until its profile wishes something else, or --update says so.
    """
    if check and update:
        raise UsageError("`--check` changes nothing, and `--update` does", "leave one of them away")
    site = _site(host, engine, offline=offline)
    lock = lockfile.load(site.folder)
    if check:
        return _check(site, lock, profiles or (), as_json=as_json)
    from rocenv.lock.compare import differences
    from rocenv.report.lock import lock_json, lock_text

    try:
        fresh = locked_anew(site, profiles or (), lock or Lock(), update=update)
    except HostError as error:
        if host is not None or site.host().gpus:
            raise
        mend = (
            "`rocenv lock --host CAPTURE` locks for another host (`rocenv detect --save FILE` there writes its capture)"
        )
        raise HostError(error.message, mend) from error
    changes = differences(lock or Lock(), fresh)
    written = lock is None or bool(changes)
    if written:
        lockfile.save(site.folder, fresh)
    if as_json:
        console.data_json(lock_json(fresh, changes, written=written))
    else:
        console.data(lock_text(changes, written=written))
        console.say(f"wrote {FILE}: commit it" if written else f"nothing to change in {FILE}")
    return 0


def _check(site: Site, lock: Lock | None, names: list[str] | tuple[()], *, as_json: bool) -> int:
    if lock is None:
        raise PolicyError(f"there is no `{FILE}` in {site.folder}", "`rocenv lock` writes it")
    from rocenv.lifecycle.lockcheck import check
    from rocenv.report.lock import BAD, check_json, check_text

    found = check(site, lock, names)
    if as_json:
        console.data_json(check_json(found))
    else:
        console.data(check_text(found))
    return PolicyError.code if any(one.verdict == BAD for one in found) else 0


def _site(host: str | None, engine: str | None, *, offline: bool) -> Site:
    from rocenv.host import read_host

    return Site(
        request=wishes.read_request(),
        host=cache(lambda: read_host(host)),
        sources=open_sources(engine, offline=offline, tell=console.say),
        tell=console.say,
    )
