"""Which project the user stands in: the nearest folder upwards that holds a rocenv.yaml, else the folder itself."""

from __future__ import annotations

import re
from pathlib import Path

FILE = "rocenv.yaml"
_LONGEST = 40  # a container's name must also do as a host name, with rocenv- and an environment's name around it


def folder() -> Path:
    """The project's folder, seen from the working directory."""
    here = Path.cwd()
    return next((place for place in (here, *here.parents) if (place / FILE).is_file()), here)


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
