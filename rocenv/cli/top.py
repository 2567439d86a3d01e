"""`rocenv top`: who uses which GPU at this moment."""

from __future__ import annotations

from typing import Annotated

import typer

from rocenv.cli import console
from rocenv.engine import open_engine
from rocenv.errors import RocenvError


def command(
    host: Annotated[str | None, typer.Option("--host", metavar="PATH", help="A captured host.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """Show for each GPU the memory in use and the processes on it, as KFD tells them, and the environment of each.

    Needs no ROCm on the host. Programs that draw and do not compute are unknown to KFD: they show as memory in use.
    """
    from rocenv.host import read_usage
    from rocenv.report.usage import usage_json, usage_text

    seen, found, memory = read_usage(host)
    names: dict[str, str] = {}
    if seen.live and any(one.container for one in found):
        try:
            names = {there.id: there.container for there in open_engine(engine).find()}
        except RocenvError as error:
            console.warn(f"whose containers they are is not known: {error.message}")
    if as_json:
        console.data_json(usage_json(seen, found, memory, names))
    else:
        console.data(usage_text(seen, found, memory, names))
