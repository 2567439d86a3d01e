"""Which environment is meant: by its name, or the only one of the project."""

from __future__ import annotations

import os
import stat

from rocenv.engine import Engine
from rocenv.errors import EngineError, UsageError
from rocenv.model.proof import Environment


def elsewhere(there: Environment, folder: str) -> str | None:
    """The folder that an environment is of, where that is not `folder` but another one of the same name.

    A folder that is gone has been moved or removed: its environments are those of the one that is here now.
    """
    own = there.labels.get("rocenv.folder")
    return own if own and own != folder and _is_folder(own) else None


def _is_folder(path: str) -> bool:
    """Whether a folder is there; one that this user may not look at counts as there. A label may hold any words."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def pick(engine: Engine, project: str, folder: str, name: str | None) -> Environment:
    """The environment of that name of the project in `folder`; without a name its only one. Raises UsageError.

    `name` may also be the container's whole name. One-off containers are not meant.
    """
    found = [
        there
        for there in engine.find(project=project)
        if "rocenv.once" not in there.labels and elsewhere(there, folder) is None
    ]
    if name is not None:
        found, others = [there for there in found if name in (there.name, there.container)], found
        if not found:
            raise UsageError(f"project `{project}` has no environment `{name}`", _way(others))
    if not found:
        raise UsageError(f"project `{project}` has no environment", _way([]))
    if len(found) > 1:
        raise UsageError(f"project `{project}` has {len(found)} environments: say which", _way(found))
    return found[0]


def running(there: Environment) -> Environment:
    """The same environment, if it runs; raises EngineError otherwise."""
    if there.state != "running":
        raise EngineError(
            f"`{there.container}` does not run (it is {there.state})", f"`rocenv up {there.profile}` starts it again"
        )
    return there


def _way(found: list[Environment]) -> str:
    """The hint: the names that there are, or how to make one."""
    if not found:
        return "`rocenv up PROFILE` makes one; `rocenv ps` lists those of every project"
    return f"its environments: {', '.join(f'`{there.name}`' for there in found)}"
