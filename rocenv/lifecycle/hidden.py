"""Secrets of a container: files that are mounted, read only, at /run/secrets/NAME.

Their values stand in no command line, label, plan, log or lock, and not in what the engine tells of a container. A
secret of a file is that file itself. One of the caller's environment needs a file to be mounted: it lies in memory,
in a folder that this user alone may enter, until its container is removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocenv.errors import UsageError
from rocenv.model.plan import Mount, Reason
from rocenv.rules.mounts import forbidden

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.model.plan import Plan

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
_CONTAINER = re.compile(r"rocenv-[a-z0-9_.-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LARGEST = 1 << 20
_MEMORY = "/dev/shm"  # noqa: S108 - a folder of the caller's own in it, checked before it is used
# Variables that would change what rocenv or the engine's client does, before they reach any container.
_STEERING = re.compile(
    r"(PATH|HOME|GODEBUG|(LD|DOCKER|CONTAINERS?|XDG|ROCENV|SLURM|BUILDKIT|BUILDX|SSL_CERT)_.*|.*_VISIBLE_DEVICES"
    r"|.*_PROXY)",
    re.IGNORECASE,
)


class Secret(NamedTuple):
    """A secret by its name inside; its `file`, or None for the caller's variable of that name."""

    name: str
    file: str | None


def wished(words: Sequence[str]) -> tuple[Secret, ...]:
    """`NAME` and `NAME=FILE`, each one there and readable. Raises UsageError, never with a value in it."""
    found: dict[str, Secret] = {}
    for word in words:
        name, equals, file = word.partition("=")
        if not _NAME.fullmatch(name):
            raise UsageError(f"`--secret`: `{name}` is no name for a secret", "`--secret HF_TOKEN`, or NAME=FILE")
        if name in found:
            raise UsageError(f"`--secret {name}` stands there twice", "leave one away")
        found[name] = Secret(name, _file(name, file) if equals else None)
        if not equals and name not in os.environ:
            raise UsageError(
                f"`--secret {name}`: there is no variable `{name}` here", f"`--secret {name}=FILE` reads it from a file"
            )
    return tuple(found.values())


def given(plan: Plan, secrets: Sequence[Secret]) -> Plan:
    """The plan with these secrets mounted."""
    if not secrets:
        return plan
    from rocenv.plan.labels import digest

    mounts = tuple(
        Mount("bind", one.file or str(folder() / plan.container / one.name), f"/run/secrets/{one.name}", read_only=True)
        for one in secrets
    )
    reasons = tuple(Reason(f"secret {one.name}", f"/run/secrets/{one.name}", _why(one)) for one in secrets)
    plan = plan._replace(mounts=(*plan.mounts, *mounts), reasons=(*plan.reasons, *reasons))
    return plan._replace(labels={**plan.labels, "rocenv.plan": digest(plan)})


def write(container: str, secrets: Sequence[Secret]) -> None:
    """Write those that have no file of their own. A file that is there is written anew in its place: it is mounted.

    This process, and one that it becomes, keep them from being swept away before their container is there.
    """
    if all(one.file is not None for one in secrets):
        return
    place = hold(container)
    for one in secrets:
        if one.file is None:
            # Whoever runs in the container may read it: on the host the folder around it keeps all others out.
            handle = os.open(place / one.name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
            with os.fdopen(handle, "wb") as stream:
                os.fchmod(handle, 0o644)
                stream.write(os.environb[one.name.encode()])


def hold(container: str) -> Path:
    """The folder of a container, with a lock on it that ends with this process, or with the one that it becomes.

    By it others see that the container is still somebody's, though its `rocenv` may have been killed: `abandoned`.
    """
    while True:
        place = _made(_made(folder()) / container)
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(handle, fcntl.LOCK_SH)
        if os.fstat(handle).st_nlink:  # else it was swept away meanwhile
            os.set_inheritable(handle, True)  # noqa: FBT003
            return place
        os.close(handle)


def forget(container: str) -> None:
    """Remove the secrets that were kept for a container."""
    place = folder() / container
    if _CONTAINER.fullmatch(container) and not place.is_symlink():
        with suppress(OSError):
            shutil.rmtree(place)


def sweep(engine: Engine) -> None:
    """Remove the secrets of containers that are no more, and that no `run` is about to make."""
    try:
        names = [entry.name for entry in os.scandir(folder()) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    there = {one.container for one in engine.find()} if names else set()
    for name in names:
        if name not in there:
            _forget_free(name)


def abandoned(container: str) -> bool:
    """Whether the process that made a container has ended: its folder is here, and nobody holds it."""
    try:
        handle = os.open(folder() / container, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def folder() -> Path:
    """Where secrets lie: in the folder that a login has in memory, else in one of the caller's own in /dev/shm."""
    own = os.environ.get("XDG_RUNTIME_DIR")
    if own and own.startswith("/") and _mine(Path(own)):
        return Path(own) / "rocenv-secrets"
    return Path(_MEMORY) / f"rocenv-secrets-{os.getuid()}"


def read_env_file(file: str) -> Mapping[str, str]:
    """The variables of a file of `NAME=VALUE` lines, as docker and podman read it; `NAME` alone is the caller's own.

    Raises UsageError with the number of the line, never with what stands behind its `=`.
    """
    text = _read(file, "--env-file")
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.removesuffix("\r").lstrip()
        if not words or words.startswith("#"):
            continue
        name, equals, value = words.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise UsageError(f"`{file}`, line {number}: that is no variable", "write it like `NAME=VALUE`")
        if _STEERING.fullmatch(name):
            raise UsageError(
                f"`{file}`, line {number}: `{name}` would change what the engine's client does",
                f"`-e {name}=…` sets it",
            )
        if equals:
            found[name] = value
        elif name in os.environ:
            found[name] = os.environ[name]
    return found


def _why(one: Secret) -> str:
    return f"the file {one.file}" if one.file else "the caller's variable: in memory until its container is removed"


def _file(name: str, file: str) -> str:
    path = os.path.realpath(Path(file).expanduser()) if file else ""
    why = forbidden(path) if path else "it is no file"
    if why is not None:
        raise UsageError(f"`--secret {name}`: `{file}` cannot be mounted: {why}", "name a file of your own")
    _read(path, f"--secret {name}")
    return path


def _read(file: str, what: str) -> str:
    """A file's text. Raises UsageError for what is none, is too large, or cannot be read."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UsageError(f"`{what}`: `{file}` is no file", f"`ls -ld {file}` shows what it is")
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError(f"`{what}`: `{file}` cannot be read: {error.strerror}", f"`ls -l {file}`") from None
    if len(data) > _LARGEST:
        raise UsageError(f"`{what}`: `{file}` is larger than 1 MiB", "name a smaller file")
    try:
        return data.decode()
    except UnicodeDecodeError:
        if what == "--env-file":
            raise UsageError(f"`{what}`: `{file}` is no UTF-8 text", f"`file {file}` tells what it is") from None
        return ""


def _made(place: Path) -> Path:
    """A folder that is this user's alone; raises UsageError for one that is another's, or a link."""
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    if not _mine(place):
        raise UsageError(f"`{place}` is not this user's alone: no secret is put there", f"`ls -ld {place}`")
    return place


def _mine(place: Path) -> bool:
    try:
        status = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _forget_free(container: str) -> None:
    """Remove a container's secrets, unless a process holds them that is about to make it."""
    with suppress(OSError):
        handle = os.open(folder() / container, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            forget(container)
        finally:
            os.close(handle)
