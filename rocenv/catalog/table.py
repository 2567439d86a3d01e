"""Loading of a compiled table. Of the built-in ones only the JSON is read: the YAML would take a hundred times longer.

A newer table that somebody laid into a configuration folder takes the place of the built-in one (`laid`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rocenv.resources import SYSTEM, user_folder

FOLDER = Path(__file__).parent
COMPILED = FOLDER / "compiled"
# The tables that a newer one may take the place of.
NAMES = ("images", "releases", "drivers", "gpus", "hazards", "support", "distributions")


class Origin(NamedTuple):
    """Where a table comes from: the file that was laid in, None for the built-in one; and its date."""

    path: str | None
    date: str


def load(name: str) -> Any:
    """The table `name` as plain data, read once per process. Its shape is told by its YAML and its query module.

    Raises UsageError where a table that was laid in is not sound.
    """
    return _chosen(name)[1]


def origin(name: str) -> Origin:
    """Where the table `name` comes from. Raises as `load` does."""
    return _chosen(name)[0]


def laid() -> tuple[tuple[str, Origin], ...]:
    """The tables that a file in a configuration folder took the place of, by name. Raises as `load` does."""
    if not folders():
        return ()
    found = ((name, origin(name)) for name in NAMES)
    return tuple((name, one) for name, one in found if one.path is not None)


def built_in(name: str) -> Any:
    """The table that came with this rocenv."""
    return json.loads((COMPILED / f"{name}.json").read_bytes())


@cache
def folders() -> tuple[Path, ...]:
    """The folders with tables that are there: the system's, then the user's."""
    user = user_folder()
    found = (SYSTEM / "catalog", *([] if user is None else [user / "catalog"]))
    return tuple(folder for folder in found if _is_there(folder))


def _is_there(folder: Path) -> bool:
    """One call; a folder that the caller may not look into is none of the caller's."""
    try:
        return folder.is_dir()
    except OSError:
        return False


@cache
def _chosen(name: str) -> tuple[Origin, Any]:
    """The newest table of a name; of two of one date the one that was laid in, the user's before the system's."""
    data = built_in(name)
    chosen = Origin(None, data.get("date", ""))
    if name in NAMES and folders():
        from rocenv.catalog.laid import candidates

        for laid in candidates(name, folders()):
            if laid.date >= chosen.date:
                chosen, data = Origin(laid.path, laid.date), laid.data
    return chosen, data


@cache
def verified(name: str, source: str) -> bool:
    """False where one of the sources that a fact of table `name` names is hearsay, by the table itself."""
    known = load(name)["sources"]
    return not any(known.get(key, {}).get("hearsay") for key in keys(source))


def keys(source: str) -> list[str]:
    """The keys of sources in the text that names them: `docs, inferred: a remark` names docs and inferred."""
    return [key.strip() for key in source.partition(":")[0].split(",")]
