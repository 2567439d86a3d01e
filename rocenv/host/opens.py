"""Opening device nodes for real, for reading and writing, in a child process that may hang without harm."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from rocenv import process
from rocenv.model.health import Opening

PATIENCE = 5.0  # seconds: KFD opens within milliseconds, a sleeping GPU wakes within two seconds


def open_nodes(paths: Sequence[str], seconds: float = PATIENCE) -> tuple[Opening, ...]:
    """What opening each path answers. The one that does not answer within `seconds` is TIMEOUT, the rest go on."""
    found: list[Opening] = []
    while len(found) < len(paths):
        left = list(paths[len(found) :])
        written, ended = process.forked(lambda out, left=left: _open_all(left, out), seconds)  # type: ignore[misc]
        numbers = written.split(b"\n")[:-1][: len(left)]
        found += [Opening(path, _name(int(number))) for path, number in zip(left, numbers, strict=False)]
        if not ended and len(numbers) < len(left):
            found.append(Opening(left[len(numbers)], "TIMEOUT"))
        elif len(numbers) < len(left):
            found += [Opening(path, "EIO") for path in left[len(numbers) :]]  # the child died: say so, once for all
    return tuple(found)


def _open_all(paths: Sequence[str], out: int) -> None:
    """In the child: one number a line, 0 for a node that opens."""
    for path in paths:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK))
            number = 0
        except OSError as error:
            number = error.errno or errno.EIO
        os.write(out, b"%d\n" % number)


def _name(number: int) -> str | None:
    return errno.errorcode.get(number, str(number)) if number else None
