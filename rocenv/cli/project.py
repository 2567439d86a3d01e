"""Which project the user stands in: the nearest folder upwards that holds a rocenv.yaml, else the folder itself."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from rocenv.errors import UsageError

FILE = "rocenv.yaml"
_LONGEST = 40  # a container's name must also do as a host name, with rocenv- and an environment's name around it


def folder() -> Path:
    """The project's folder, seen from the working directory.

    A rocenv.yaml further up counts only where it is the caller's or root's: nobody else's file says what is mounted.
    """
    try:
        here = Path.cwd()
    except OSError as error:
        raise UsageError(
            f"the working directory cannot be read: {error.strerror}", "`cd` to a folder that is there"
        ) from error
    return next((place for place in (here, *here.parents) if _counts(place / FILE, here=place == here)), here)


def _counts(file: Path, *, here: bool) -> bool:
    try:
        status = file.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and (here or status.st_uid in (os.getuid(), 0))


def name(place: Path) -> str:
    """The project's name in containers and labels: the folder's, as far as `[a-z0-9_.-]` can say it.

    A name that loses something on the way gets four digits of its own digest, so that two such do not become one.
    """
    reduced = re.sub(r"[^a-z0-9_.-]+", "-", place.name.lower()).strip("-.")[:_LONGEST]
    if reduced == place.name and reduced:
        return reduced
    import hashlib

    digest = hashlib.sha256(place.name.encode(errors="surrogateescape")).hexdigest()[:4]
    return f"{reduced or 'root'}-{digest}"
