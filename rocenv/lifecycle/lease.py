"""GPUs leased between the users and jobs of one machine, by the kernel's own locks on files.

A lease is a lock (flock) on one file for each GPU, held by the process that asked for it and by the one that this
becomes. It ends with that process, however it ends, and with the machine: no daemon, nothing to clean up.

Who waits holds a lock on a ticket, a file of its own with the time in its name: the oldest living ticket for a GPU
has its turn, so that whoever wants eight GPUs is not passed by those who want one. The folder is everybody's, as /tmp
is. Files in it are opened without following links, and nothing that they hold is believed but that they are locked.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rocenv.errors import HostError, UsageError
from rocenv.lifecycle.holders import Holder, holders

EXCLUSIVE, SHARED = "exclusive", "shared"
_SYSTEM = Path("/run/lock")
_NAME = "rocenv-leases"
_KEY = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]-[0-9]{1,3}")
_TICKET = re.compile(r"ticket-([0-9]{1,20})-[0-9a-f]{16}")
_PAUSES = (0.02, 0.05, 0.1, 0.2)  # seconds between two looks; the last one again and again
_LARGEST = 1 << 16


class Lease(NamedTuple):
    """What was leased: the keys of the GPUs, and the descriptors whose locks are the lease."""

    keys: tuple[str, ...]
    mode: str
    handles: tuple[int, ...]

    def end(self) -> None:
        """Give it back before this process ends."""
        for handle in self.handles:
            os.close(handle)


def key(bdf: str, partition: int) -> str:
    """What a GPU, or a part of one, is called among leases."""
    return f"{bdf}-{partition}"


def folder() -> Path:
    """Where leases are: $ROCENV_LEASES, or a folder in /run/lock where that is everybody's, else in /tmp."""
    own = os.environ.get("ROCENV_LEASES")
    if own:
        return Path(own)
    return (_SYSTEM if _everybodys(_SYSTEM) else Path("/tmp")) / _NAME  # noqa: S108 - checked by `opened`


def acquire(
    keys: Sequence[str],
    count: int,
    *,
    mode: str = EXCLUSIVE,
    wait: float = 0,
    tell: Callable[[str], None],
    place: Path | None = None,
) -> Lease:
    """Lease `count` of these GPUs, the first ones that are free; waits its turn for up to `wait` seconds.

    Raises HostError where they were not free within that time, UsageError for a folder that is not to be trusted.
    """
    base = opened(place or folder())
    try:
        with _ticket(base, keys) as own:
            lease = _in_turn(base, own, keys, count, mode=mode, wait=wait, tell=tell)
    finally:
        os.close(base)
    for handle in lease.handles:
        os.set_inheritable(handle, True)  # noqa: FBT003
    return lease


def leased(place: Path | None = None) -> dict[str, list[Holder]]:
    """Who holds which GPU, by its key; nobody where there is no folder of leases."""
    try:
        base = opened(place or folder(), make=False)
    except FileNotFoundError:
        return {}
    try:
        return {name: found for name, found in holders(base).items() if _KEY.fullmatch(name)}
    finally:
        os.close(base)


def _in_turn(
    base: int, own: str, keys: Sequence[str], count: int, *, mode: str, wait: float, tell: Callable[[str], None]
) -> Lease:
    deadline = time.monotonic() + wait
    tries, told = 0, -1
    while True:
        ahead = _ahead(base, own, set(keys))
        taken = _take(base, keys, count, mode) if not ahead else None
        if taken is not None:
            return taken
        left = deadline - time.monotonic()
        if left > 0 and ahead == told:
            time.sleep(min(_PAUSES[min(tries, len(_PAUSES) - 1)], left))
            tries += 1
            continue
        free = len(set(keys) - holders(base).keys())
        if left <= 0:
            raise _late(keys, count, free, ahead, wait)
        told = ahead
        tell(f"waiting for {count} of {len(keys)} GPUs: {free} free, {ahead} ahead in the queue, {left:.0f} s left")


def _late(keys: Sequence[str], count: int, free: int, ahead: int, wait: float) -> HostError:
    queue = f", and {ahead} wait for them already" if ahead else ""
    after = f" after {wait:g} s" if wait else ""
    return HostError(
        f"{count} of {len(keys)} GPUs are wanted for lease, and {free} are free{queue}{after}",
        "`rocenv lease list` shows who holds them; `--wait SECONDS` waits longer",
    )


def _take(base: int, keys: Sequence[str], count: int, mode: str) -> Lease | None:
    """The first `count` that can be locked, or none at all."""
    flag = fcntl.LOCK_SH if mode == SHARED else fcntl.LOCK_EX
    got: dict[str, int] = {}
    for one in keys:
        handle = _lock(base, one, flag)
        if handle is not None:
            got[one] = handle
        if len(got) == count:
            return Lease(tuple(got), mode, tuple(got.values()))
    for handle in got.values():
        os.close(handle)
    return None


def _lock(base: int, name: str, flag: int) -> int | None:
    """A descriptor with that lock on a GPU's file; None where somebody else's lock is in the way."""
    if not _KEY.fullmatch(name):
        raise UsageError(f"`{name}` is no GPU's name among leases", "`rocenv lease list` shows them")
    while True:
        handle = _open_file(base, name)
        try:
            fcntl.flock(handle, flag | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        if _is_still(base, name, handle):
            return handle
        os.close(handle)  # it was removed meanwhile: a lock on it would be nobody's business


def _open_file(base: int, name: str) -> int:
    """The file, made where it is missing.

    Never with O_CREAT alone: of another's file in such a folder the kernel refuses that (fs.protected_regular).
    """
    while True:
        with suppress(FileNotFoundError):
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=base)
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                os.close(handle)
                raise UsageError(f"`{name}` among the leases is no file", "`rocenv lease list` shows where leases are")
            return handle
        with suppress(FileExistsError):
            handle = os.open(name, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=base)
            os.fchmod(handle, 0o644)  # whatever the umask is: others must be able to lock it, and nobody writes to it
            os.close(handle)


def _is_still(base: int, name: str, handle: int) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), os.stat(name, dir_fd=base, follow_symlinks=False))
    return False


@contextmanager
def _ticket(base: int, keys: Sequence[str]) -> Iterator[str]:
    """A place in the queue: a locked file, until the turn has come."""
    name = f"ticket-{time.clock_gettime_ns(time.CLOCK_BOOTTIME):020d}-{secrets.token_hex(8)}"
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=base)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, " ".join(keys).encode())
        os.fchmod(handle, 0o644)  # others take it up only now, when it is whole and locked
        yield name
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=base)
        os.close(handle)


def _ahead(base: int, own: str, keys: set[str]) -> int:
    """How many older tickets that somebody still holds want any of these GPUs."""
    names = sorted(name for name in os.listdir(base) if _TICKET.fullmatch(name) and name < own)
    return sum(1 for name in names if _waits(base, name, keys))


def _waits(base: int, name: str, keys: set[str]) -> bool:
    """Whether a ticket is somebody's and wants any of these; one whose holder is gone is removed where that may be."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=base)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            wanted = os.read(handle, _LARGEST).decode(errors="replace").split()
            return not keys.isdisjoint(wanted)
        with suppress(OSError):
            os.unlink(name, dir_fd=base)
        return False
    finally:
        os.close(handle)


def opened(place: Path, *, make: bool = True) -> int:
    """The folder of leases, opened without following a link. Raises UsageError for one that is not safe to share."""
    if make:
        with suppress(FileExistsError):
            place.mkdir()
            place.chmod(0o1777)
    try:
        base = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if not make:
            raise
        raise UsageError(f"`{place}` cannot be made", f"`mkdir -p {place.parent}`") from None
    except OSError as error:
        raise UsageError(
            f"`{place}`, where leases are, cannot be used: {error.strerror}", f"`ls -ld {place}` shows what it is"
        ) from error
    mode = os.fstat(base).st_mode
    if mode & 0o022 and not mode & stat.S_ISVTX:
        os.close(base)
        raise UsageError(f"in `{place}` everybody may remove everybody's leases", f"`chmod +t {place}`")
    return base


def _everybodys(place: Path) -> bool:
    try:
        mode = place.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and mode & 0o1777 == 0o1777  # noqa: PLR2004
