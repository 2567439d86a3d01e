"""`rocenv.lock` of a project, read and written. A link in its place is refused: what is committed is the file."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from rocenv.errors import UsageError
from rocenv.model.lock import FILE, Lock

_LARGEST = 1 << 20


def load(folder: Path) -> Lock | None:
    """The lock of the project in `folder`, None where it has none. Raises UsageError where it cannot be followed."""
    data = raw(folder)
    if data is None:
        return None
    from rocenv.lock.read import read_lock

    return read_lock(data)


def raw(folder: Path) -> bytes | None:
    """The file's bytes, None where there is none; as much of it as tells that it is too large."""
    path = folder / FILE
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(
                f"`{path}` is a symbolic link, and a lock is a file of its project", f"`rm {path}`"
            ) from None
        raise UsageError(f"`{path}` cannot be read: {error.strerror}", f"`ls -ld {path}`") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise UsageError(f"`{path}` is no regular file", f"`ls -ld {path}` shows what it is")
    with os.fdopen(number, "rb") as stream:
        return stream.read(_LARGEST + 1)


def save(folder: Path, lock: Lock) -> None:
    """Write the lock, whole or not at all."""
    from rocenv.lifecycle.written import written
    from rocenv.lock.text import lock_text

    with written(folder / FILE) as stream:
        stream.write(lock_text(lock).encode())
