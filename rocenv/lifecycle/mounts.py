"""What a plan mounts, as it really lies on this machine: links are followed before anything is believed of a path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rocenv.errors import UsageError
from rocenv.rules.mounts import forbidden, within

if TYPE_CHECKING:
    from rocenv.model.plan import Mount, Plan

_WORKSPACE = "/workspace"


def mounts_must_be_safe(plan: Plan) -> None:
    """Raise UsageError for a mount that leads, through whatever links, to what is never mounted or out of the project.

    The engine follows links once more when it mounts: whoever can change them meanwhile is this user, or root.
    """
    if plan.engine.remote or plan.engine.desktop:
        return
    binds = [mount for mount in plan.mounts if mount.kind == "bind"]
    folder = next((mount.source for mount in binds if mount.target == _WORKSPACE), None)
    for mount in binds:
        _must_be_safe(mount, folder, _socket(plan.engine.endpoint))


def _must_be_safe(mount: Mount, folder: str | None, socket: str | None) -> None:
    real = os.path.realpath(mount.source)
    workspace = mount.target == _WORKSPACE
    why = forbidden(real, () if socket is None or workspace else (socket,))
    led = "" if real == mount.source else f", which leads to `{real}`,"
    if why is not None:
        raise UsageError(
            f"`{mount.source}`{led} cannot be mounted at `{mount.target}`: {why}",
            "`cd` to a folder of its own" if workspace else "leave that mount away, or name the one folder needed",
        )
    if folder is None or workspace or not within(mount.source, folder):
        return
    if not within(real, os.path.realpath(folder)):
        raise UsageError(
            f"`{mount.source}` is a link out of the project, to `{real}`: it is not mounted at `{mount.target}`",
            f"`--mount {real}:{mount.target}` says it openly",
        )


def _socket(endpoint: str | None) -> str | None:
    """The socket on this machine at which the engine answers."""
    scheme, _, path = (endpoint or "").partition("://")
    return os.path.realpath(path) if scheme == "unix" and path.startswith("/") else None
