"""The kernel log: the lines in it that speak of GPUs and their driver. Bounded, and never waited for."""

from __future__ import annotations

import os
import re

from rocenv.host.source import LARGE, Root

_WORDS = rb"(?:amdgpu|kfd|key was rejected|unavailable key|module verification failed)"
_LINE = re.compile(rb"^(.*%b.*)$" % _WORDS, re.MULTILINE | re.IGNORECASE)
# A record of /dev/kmsg: `priority,number,time,flags;text`, and lines of properties that begin with a blank.
_RECORD_TEXT = re.compile(rb"^\d+,[^;\n]*;(.*%b.*)$" % _WORDS, re.MULTILINE | re.IGNORECASE)
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
            return _kept(data, _LINE), None
    return None, "this capture holds no kernel log"


def _live() -> tuple[tuple[str, ...] | None, str | None]:
    """The records of /dev/kmsg that are there, each by one read."""
    try:
        descriptor = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return None, f"{_KMSG} may not be read ({error.strerror}): `sudo rocenv doctor` reads it"
    records, size = [], 0
    try:
        while size < _MAX_BYTES:
            try:
                record = os.read(descriptor, _RECORD)
            except BlockingIOError:
                break
            except BrokenPipeError:  # records were lost while this read: go on with the next
                continue
            size += len(record)
            records.append(record)
    except OSError as error:
        return None, f"{_KMSG} may not be read ({error.strerror}): `sudo rocenv doctor` reads it"
    finally:
        os.close(descriptor)
    return _kept(b"".join(records), _RECORD_TEXT), None


def _kept(data: bytes, text: re.Pattern[bytes]) -> tuple[str, ...]:
    """The last lines that speak of GPUs; the pattern's one group is what is kept of a line."""
    found = text.findall(data)[-_MAX_LINES:]
    return tuple(line[:_MAX_LENGTH].decode(errors="replace").strip() for line in found)
