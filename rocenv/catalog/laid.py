"""Tables that somebody laid into a configuration folder: read, checked, dated. The newest of each name is used.

`/etc/rocenv/catalog` and `~/.config/rocenv/catalog` may hold NAME.json or NAME.yaml for each table. Only imported where
such a folder is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rocenv.errors import UsageError

LARGEST = 4 << 20
KINDS = (".json", ".yaml")


class Laid(NamedTuple):
    """One table that was found, and its date."""

    path: str
    date: str
    data: Any


def candidates(name: str, folders: Sequence[Path]) -> Iterator[Laid]:
    """The tables of this name in the folders, in their order. Raises UsageError for one that is not sound."""
    found = (of(name, folder / (name + kind)) for folder in folders for kind in KINDS)
    return (one for one in found if one is not None)


def of(name: str, path: Path) -> Laid | None:
    """The table in a file, or None where there is no file. Raises UsageError for one that is not sound."""
    data = _bytes(path)
    return None if data is None else read(name, str(path), data)


def read(name: str, path: str, data: bytes) -> Laid:
    """A table out of the bytes of a file. Raises UsageError, naming file and place, for one that is not sound."""
    from rocenv.catalog import sound, strict

    found = strict.from_yaml(data, path) if path.endswith(".yaml") else strict.from_json(data, path)
    sound.check_table(name, found, path)
    return Laid(path, found["date"], found)


def _bytes(path: Path) -> bytes | None:
    """What a file holds; None where there is none. A FIFO is not waited for."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UsageError(f"`{path}` cannot be read: it is no regular file", f"`ls -ld {path}` shows what it is")
            data = stream.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}", f"`ls -ld {path}` shows what it is") from error
    if len(data) > LARGEST:
        raise UsageError(f"`{path}` is larger than {LARGEST >> 20} MiB, which no catalog is", f"remove `{path}`")
    return data


def strangers(folder: Path, names: Sequence[str]) -> list[str]:
    """Files of a folder that are no table of any name: they are not read."""
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    return [str(one) for one in found if one.stem not in names or one.suffix not in KINDS]
