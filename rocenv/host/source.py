"""Where the facts of a host come from: this machine, or a capture. The rest of rocenv.host asks a Root."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rocenv.host.files import Folder, Live
from rocenv.model.host import Caller, Problem

if TYPE_CHECKING:
    from rocenv.host.shapes import Files, Source, Tree

SMALL = 65536  # bytes: any file of sysfs, and the settings read from /etc and /proc
LARGE = 8 << 20  # bytes: tables that grow, as /etc/group, amdgpu.ids, pci.ids and dpkg's list
_MAX_PROBLEMS = 100
_HEX = frozenset("0123456789abcdefABCDEF")
# Inherited variables that tell of an allocation; no others are looked at, or saved.
VARIABLES = (
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "SLURM_JOB_ID",
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "KUBERNETES_SERVICE_HOST",
    "PBS_JOBID",
    "LSB_JOBID",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "JENKINS_URL",
    "BUILDKITE",
    "CI",
)


class RawDevice(NamedTuple):
    """A device node as stat has it. `acl`: its access list as (tag, id, permissions), empty where it has none.

    `allowed` is the kernel's own answer for the caller where it could be asked; `fault` the errno that open answers.
    """

    path: str
    major: int
    minor: int
    mode: int
    uid: int
    gid: int
    acl: tuple[tuple[str, int, int], ...] = ()
    allowed: bool | None = None
    fault: str | None = None


class Storage(NamedTuple):
    """A source's files as plain storage with what Confined lays over it: what `detect --save` records."""

    tree: Tree
    links: Mapping[str, str]
    faults: Mapping[str, int]


class Root:
    """A source's files, asked so that a bad one costs no more than its own fact; what was bad is kept in `problems`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.files = source.files
        self.problems: list[Problem] = []

    def problem(self, path: str, what: str) -> None:
        """Note what is wrong with a path, once, and no more than can be read."""
        found = Problem(path, what)
        if len(self.problems) < _MAX_PROBLEMS and found not in self.problems:
            self.problems.append(found)

    def failed(self, path: str, error: OSError | ValueError, *, quiet: bool = False) -> None:
        """Note an error, unless it says that there is no such file, or is one that was to be expected."""
        number = getattr(error, "errno", None)
        expected = (errno.ENOENT, errno.ENOTDIR, *((errno.EACCES, errno.EPERM) if quiet else ()))
        if number not in expected:
            name = errno.errorcode.get(number, "") if number is not None else ""
            self.problem(path, f"{name}: {os.strerror(number)}" if number is not None else str(error))

    def data(self, path: str, limit: int = SMALL, *, quiet: bool = False) -> bytes | None:
        """A file's first bytes, or None where it cannot be read; `quiet`: a refusal is no news."""
        try:
            return self.files.read(path, limit)
        except (OSError, ValueError) as error:
            self.failed(path, error, quiet=quiet)
            return None

    def text(self, path: str, limit: int = SMALL, *, quiet: bool = False) -> str | None:
        """A file as text without blanks at both ends; None for a blank file and for one that cannot be read."""
        data = self.data(path, limit, quiet=quiet)
        return None if data is None else data.decode(errors="replace").strip("\x00 \t\r\n\v\f") or None

    def number(self, path: str) -> int | None:
        """The whole number in a file, decimal or 0x…; None where there is none that fits 64 bits."""
        return file_number(self.data(path))

    def names(self, path: str) -> list[str]:
        """The names in a folder; none where it cannot be read."""
        try:
            return self.files.names(path)
        except (OSError, ValueError) as error:
            self.failed(path, error)
            return []

    def resolve(self, path: str) -> str | None:
        """Where a path leads through all its links; None where it leads nowhere or round in a loop."""
        try:
            return self.files.resolve(path)
        except (OSError, ValueError):
            return None


def file_number(data: bytes | None) -> int | None:
    """The whole number that a file consists of; None for all else."""
    return None if data is None else parse_number(data.decode("ascii", "replace").strip())


def parse_number(word: str) -> int | None:
    """A whole number, decimal or 0x…, that fits 64 bits; None for all else, blanks and signs for grouping included."""
    digits = word[1:] if word[:1] == "-" else word
    if digits.isascii() and digits.isdecimal() and len(digits) <= 20:  # noqa: PLR2004
        value = int(word)
        return value if -(1 << 63) <= value < 1 << 64 else None
    if word[:2] in ("0x", "0X") and set(word[2:]) <= _HEX and 2 < len(word) <= 18:  # noqa: PLR2004
        return int(word, 16)
    return None


_NUMBERED = ("/dev/dri/card", "/dev/dri/renderD", "/dev/infiniband/uverbs")


def printable(name: str) -> str:
    """A name from a file system, whose bytes may not be UTF-8, as text that can be shown."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def is_device(path: str) -> bool:
    """True for the path of a device node that is looked at."""
    if path in ("/dev/kfd", "/dev/dxg", "/dev/infiniband/rdma_cm"):
        return True
    number = next((path.removeprefix(start) for start in _NUMBERED if path.startswith(start)), "")
    return number.isascii() and number.isdecimal()


class ThisMachine:
    """The machine that rocenv runs on."""

    name: str | None = None

    def __init__(self) -> None:
        self.files: Files = Live()

    def caller(self) -> Caller:
        """See Source."""
        return Caller(os.geteuid(), os.getegid(), tuple(os.getgroups()))

    def caller_name(self) -> str | None:
        """See Source."""
        import pwd

        try:
            return pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            return None

    def devices(self) -> list[RawDevice]:
        """See Source. Nothing is opened: that would wake a sleeping GPU."""
        in_folders = [path for folder in ("/dev/dri", "/dev/infiniband") for path in self._below(folder)]
        found = [self._device(path) for path in ("/dev/kfd", "/dev/dxg", *in_folders) if is_device(path)]
        return [device for device in found if device is not None]

    def variables(self) -> Mapping[str, str]:
        """See Source."""
        return {name: os.environ[name] for name in VARIABLES if name in os.environ}

    def machine(self) -> str | None:
        """See Source."""
        return os.uname().machine

    def storage(self) -> Storage:
        """See Source."""
        return Storage(Folder("/"), {}, {})

    def _below(self, folder: str) -> list[str]:
        """What is in a folder, by whole paths; nothing where there is none."""
        try:
            return [f"{folder}/{name}" for name in self.files.names(folder)]
        except OSError:
            return []

    def _device(self, path: str) -> RawDevice | None:
        """One node, or None where there is no device of that name."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        if not stat.S_ISCHR(status.st_mode):
            return None
        return RawDevice(
            path=path,
            major=os.major(status.st_rdev),
            minor=os.minor(status.st_rdev),
            mode=stat.S_IMODE(status.st_mode),
            uid=status.st_uid,
            gid=status.st_gid,
            acl=_access_list(path),
            allowed=os.access(path, os.R_OK | os.W_OK, effective_ids=True),
        )


_ACL_TAGS = {0x01: "owner", 0x02: "user", 0x04: "owning-group", 0x08: "group", 0x10: "mask", 0x20: "other"}


def _access_list(path: str) -> tuple[tuple[str, int, int], ...]:
    """The POSIX access list of a node, as the kernel keeps it (linux/posix_acl_xattr.h); empty without one."""
    import struct

    try:
        data = os.getxattr(path, "system.posix_acl_access")
    except OSError:
        return ()
    entries = struct.iter_unpack("<HHI", data[4 : len(data) - (len(data) - 4) % 8])
    return tuple((_ACL_TAGS[tag], number, bits) for tag, bits, number in entries if tag in _ACL_TAGS)
