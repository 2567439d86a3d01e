"""`rocenv ps`: the environments that the engine holds."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated

import typer

from rocenv.cli import console
from rocenv.engine import open_engine
from rocenv.lifecycle import drift, proofs
from rocenv.report.environments import Listed, environments_json, environments_text


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
) -> None:
    """List the environments of all projects, with their GPUs, image, age and last proof."""
    program = open_engine(engine)
    found = program.find()
    if as_json:
        digests = program.digests([there.id for there in found])
        found = [there._replace(digest=digests.get(there.id)) for there in found]
    host = drift.host_of(found)
    listed = [Listed(there, proofs.recall(there.id), drift.drift(there, host)) for there in found]
    if as_json:
        console.data_json(environments_json(listed))
    else:
        console.data(environments_text(listed, datetime.now(timezone.utc)))
