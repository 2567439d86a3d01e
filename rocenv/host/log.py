"""The kernel log: the lines in it that speak of GPUs and their driver. Bounded, and never waited for."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rocenv.host.source import LARGE, Root

_WORDS = ("amdgpu", "kfd", "key was rejected", "unavailable key", "module verification failed")
_MAX_LINES = 2000
_MAX_LENGTH = 400
_RECORD = 8192  # bytes: the longest record of /dev/kmsg
_MAX_BYTES = 4 << 20
_KMSG = "/dev/kmsg"
# Where a capture keeps what `dmesg` printed, and Debian what it printed at boot.
_FILES = ("/captures", "/var/log/dmesg")


def read_log(root: Root) -> tuple[tuple[str, ...] | None, str | None]:
    """The lines, or None with the reason why they cannot be had."""
    if root.source.name is None:
        return _live()
    names = [f"{_FILES[0]}/{name}" for name in sorted(root.names(_FILES[0])) if name.startswith("dmesg")]
    for path in (*names, _FILES[1]):
        data = root.data(path, LARGE, quiet=True)
        if data is not None:
            return _kept(data.decode(errors="replace").splitlines()), None
    return None, "this capture holds no kernel log"


def _live() -> tuple[tuple[str, ...] | None, str | None]:
    """The records of /dev/kmsg that are there: `priority,number,time,flags;text`, each by one read."""
    try:
        descriptor = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return None, f"{_KMSG} may not be read ({error.strerror}): `sudo rocenv doctor` reads it"
    lines, size = [], 0
    try:
        while size < _MAX_BYTES:
            try:
                record = os.read(descriptor, _RECORD)
            except BlockingIOError:
                break
            except BrokenPipeError:  # records were lost while this read: go on with the next
                continue
            size += len(record)
            lines.append(record.decode(errors="replace").partition(";")[2].partition("\n")[0])
    except OSError as error:
        return None, f"{_KMSG} may not be read ({error.strerror}): `sudo rocenv doctor` reads it"
    finally:
        os.close(descriptor)
    return _kept(lines), None


def _kept(lines: Iterable[str]) -> tuple[str, ...]:
    """The last lines that speak of GPUs."""
    found = [line[:_MAX_LENGTH].strip() for line in lines if any(word in line.lower() for word in _WORDS)]
    return tuple(found[-_MAX_LINES:])
