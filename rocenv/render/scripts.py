"""The scripts that run inside an image while it is built: they travel in its Dockerfile, line by line."""

from __future__ import annotations

from functools import cache

from rocenv.resources import data_folder


@cache
def script(name: str) -> tuple[str, ...]:
    """The lines of a script of dockerfiles/, without its docstrings (of one line each) and blank lines."""
    text = (data_folder("dockerfiles") / name).read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line.strip() and not line.lstrip().startswith('"""'))
