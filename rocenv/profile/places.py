"""Where profiles and settings lie, from what everybody shares to what one project says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rocenv.errors import UsageError
from rocenv.profile.compiled import built_in
from rocenv.profile.tree import Table, read_yaml
from rocenv.resources import SYSTEM, data_folder, user_folder

SETTINGS = "rocenv.yaml"
BUILT_IN = "profiles"


class Place(NamedTuple):
    """A folder with profiles of its own, and perhaps settings for all of them; `label` is what origins say."""

    label: str
    profiles: Path
    settings: Path | None

    def profile(self, name: str) -> Table | None:
        """The profile `name` as this place has it, or None."""
        if self.label == BUILT_IN:
            return built_in(self.profiles, name, self.label)
        return read_file(self.profiles / f"{name}.yaml", f"{self.label}/{name}.yaml")

    def general(self) -> Table | None:
        """The settings that this place has for every profile, or None."""
        return None if self.settings is None else read_file(self.settings, f"{self.label}/{SETTINGS}")

    def names(self) -> Iterator[str]:
        """The profiles that this place has."""
        try:
            found = sorted(self.profiles.iterdir())
        except OSError:
            return
        yield from (path.stem for path in found if path.suffix == ".yaml" and path.name != SETTINGS)


def places() -> tuple[Place, ...]:
    """Built-in, the system's, the user's: later ones win."""
    found = [
        Place(BUILT_IN, data_folder("profiles"), None),
        Place(str(SYSTEM), SYSTEM / "profiles", SYSTEM / SETTINGS),
    ]
    user = user_folder()
    if user is not None:
        found.append(Place("~/.config/rocenv", user / "profiles", user / SETTINGS))
    return tuple(found)


def read_file(path: Path, name: str) -> Table | None:
    """A YAML file as a mapping, or None where there is no such file. Raises UsageError for one that cannot be read."""
    try:
        with open(path, "rb", opener=_unwaiting) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UsageError(f"`{path}` cannot be read: it is no regular file", f"`ls -ld {path}` shows what it is")
            data = stream.read((1 << 20) + 1)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}", f"`ls -ld {path}` shows what it is") from error
    return read_yaml(data, name)


def _unwaiting(path: str, flags: int) -> int:
    """Open a file, but do not wait for the other end of a FIFO."""
    return os.open(path, flags | os.O_NONBLOCK)
