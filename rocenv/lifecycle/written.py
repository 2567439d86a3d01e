"""A file that is there whole or not at all: written beside its place, moved there at the end."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rocenv.errors import UsageError


@contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when the block ends well; after an error or interrupt nothing is left.

    A link at `path` is replaced, never followed. Raises UsageError where the folder or the disk does not take it.
    """
    fresh = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}")
    try:
        stream = os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb")
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise _unwritable(path, error) from error
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"`{path}` cannot be written: {error.strerror or error}", f"`ls -ld {path.parent}; df {path.parent}`"
    )
