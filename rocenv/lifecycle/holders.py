"""Who holds leases: what the kernel itself lists in /proc/locks, which nobody can forge and which locks nothing."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_LOCK = re.compile(r"\d+:\s+FLOCK\s+\S+\s+(READ|WRITE)\s+(\d+)\s+([0-9a-f]+:[0-9a-f]+):(\d+)\s")
_LONGEST = 300


class Holder(NamedTuple):
    """A process with a lease; the command is None where this user may not know it."""

    pid: int
    mode: str  # exclusive | shared
    uid: int | None
    command: str | None


def holders(base: int) -> dict[str, list[Holder]]:
    """The holders of each file in an open folder, by its name. Processes of other namespaces are not seen."""
    device = _device(base)
    numbers: dict[int, str] = {}
    with suppress(OSError), os.scandir(base) as entries:
        numbers = {entry.inode(): entry.name for entry in entries if not entry.name.startswith("ticket-")}
    found: dict[str, list[Holder]] = {}
    for line in _text(Path("/proc/locks")).splitlines():
        match = _LOCK.match(line)
        if match is not None and match[3] == device and int(match[4]) in numbers:
            mode = "exclusive" if match[1] == "WRITE" else "shared"
            found.setdefault(numbers[int(match[4])], []).append(_holder(int(match[2]), mode))
    return found


def end(base: int, name: str, pid: int) -> bool:
    """Ask the holder of a lease to end, as Ctrl-C would; False where it is none any more.

    The process is pinned before it is looked at once more: its number may be another's by now.
    """
    try:
        pinned = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if pid not in [one.pid for one in holders(base).get(name, ())]:
            return False
        signal.pidfd_send_signal(pinned, signal.SIGTERM)
    finally:
        os.close(pinned)
    return True


def _holder(pid: int, mode: str) -> Holder:
    uid = None
    with suppress(OSError):
        uid = Path(f"/proc/{pid}").stat().st_uid
    words = _text(Path(f"/proc/{pid}/cmdline")).split("\0")
    return Holder(pid, mode, uid, " ".join(words).strip()[:_LONGEST] or None)


def _device(base: int) -> str | None:
    """The folder's file system as /proc/locks writes it; `stat` has another number for it on btrfs and overlayfs."""
    match = re.search(r"^mnt_id:\s*(\d+)$", _text(Path(f"/proc/self/fdinfo/{base}")), re.MULTILINE)
    for line in _text(Path("/proc/self/mountinfo")).splitlines():
        words = line.split()
        if match is not None and words[0] == match[1]:
            major, _, minor = words[2].partition(":")
            return f"{int(major):02x}:{int(minor):02x}"
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
