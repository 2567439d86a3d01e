"""Writing a capture: exactly what reading a host asked for, less what tells of people and serial numbers.

Read back, it gives the same answer; under `anonymous` GPU and hive ids are replaced, equal ones by equal ones.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import stat
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rocenv.errors import UsageError
from rocenv.host.capture import MANIFEST, SUFFIXES
from rocenv.host.files import Confined
from rocenv.host.privacy import Disguise, Kept, of_a_process
from rocenv.host.read import read
from rocenv.host.shapes import Files, Source, Tree
from rocenv.host.source import RawDevice, Root, Storage, is_device
from rocenv.host.topology import links, read_topology
from rocenv.model.host import Caller, Host

_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)
# Folders whose names are facts, though not each of them is looked into.
_LISTED = ("/sys/", "/var/lib/dkms/")
_LISTED_NAMES = ("rocm", "core-")


@dataclass(frozen=True, slots=True)
class Saved:
    """A capture written: where, and how many files and links it holds."""

    file: str
    files: int


class _Recording:
    """A tree that remembers what it was asked for and what it answered."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()
        self.faults: dict[str, int] = {}

    def kind(self, path: str) -> str | None:
        """See Tree."""
        kind = self._tree.kind(path)
        if kind == "dir":
            self.folders.add(path)
        elif kind is not None:
            self.files.setdefault(path, b"")
        return kind

    def target(self, path: str) -> str | None:
        """See Tree."""
        target = self._tree.target(path)
        if target is not None:
            self.links[path] = target
        return target

    def read(self, path: str, limit: int) -> bytes:
        """See Tree."""
        try:
            data = self._tree.read(path, limit)
        except OSError as error:
            self._failed(path, error)
            raise
        self.files[path] = data
        return data

    def names(self, path: str) -> list[str]:
        """See Tree."""
        try:
            names = self._tree.names(path)
        except OSError as error:
            self._failed(path, error)
            raise
        self.folders.add(path)
        for name in names:
            below = f"{path.rstrip('/')}/{name}"
            if (below.startswith(_LISTED) or name.startswith(_LISTED_NAMES)) and self.target(below) is None:
                self.kind(below)
        return names

    def _failed(self, path: str, error: OSError) -> None:
        """Remember an error that says more than that nothing is there."""
        if error.errno is not None and error.errno not in _NOTHING_THERE:
            self.faults[path] = error.errno


class _Recorded:
    """A source whose files are recorded while they are read."""

    def __init__(self, source: Source, files: Files) -> None:
        self.name = source.name
        self.files = files
        self._source = source

    def caller(self) -> Caller:
        """See Source."""
        return self._source.caller()

    def caller_name(self) -> str | None:
        """See Source."""
        return self._source.caller_name()

    def devices(self) -> list[RawDevice]:
        """See Source."""
        return self._source.devices()

    def variables(self) -> Mapping[str, str]:
        """See Source."""
        return self._source.variables()

    def machine(self) -> str | None:
        """See Source."""
        return self._source.machine()

    def storage(self) -> Storage:
        """See Source."""
        return self._source.storage()


def save(source: Source, file: str, *, anonymous: bool, beside: Mapping[str, bytes] | None = None) -> Saved:
    """Read a host and write all that was read to `file`. Raises UsageError where that cannot be written.

    The file appears whole or not at all. `beside` are files of a bundle, by name, for below /captures; with them the
    host is read as closely as the doctor does.
    """
    storage = source.storage()
    recording = _Recording(storage.tree)
    recorded = _Recorded(source, Confined(recording, storage.links, storage.faults))
    root = Root(recorded)
    host = read(root, chips=True)
    links(root, read_topology(root))
    close = _Close.look(root, host) if beside is not None else _Close()
    disguise = Disguise(anonymous=anonymous)
    keep = Kept.of(host)
    recording.files = {path: data for path, data in recording.files.items() if not of_a_process(path, os.getpid())}
    files = {disguise.path(path): disguise.content(keep.part(path, data)) for path, data in recording.files.items()}
    targets = {disguise.path(path): disguise.path(target) for path, target in recording.links.items()}
    files |= {f"/captures/{name}": data for name, data in (beside or {}).items()}
    files |= {path: disguise.content(data) for path, data in close.files.items()}
    overlay = {path: target for path, target in storage.links.items() if not is_device(path)}
    faults = {**storage.faults, **recording.faults}
    manifest = _manifest(source, keep, disguise, overlay, {**faults, **close.faults})
    folders = {disguise.path(path) for path in recording.folders} - {"/"}
    _write(file, _Contents(folders, files, targets, manifest))
    return Saved(file, len(files) + len(targets))


def _manifest(
    source: Source, keep: Kept, disguise: Disguise, overlay: Mapping[str, str], faults: Mapping[str, int]
) -> bytes:
    """The text of devices.yaml: what files cannot carry."""
    import yaml

    caller = source.caller()
    raw_devices = sorted(source.devices(), key=lambda raw: raw.path)
    told: dict[str, object] = {
        "run_as": {"uid": caller.uid, "gid": caller.gid, "groups": list(caller.groups)},
        "machine": source.machine(),
        "environment": disguise.variables(source.variables()),
        "devices": [_device(raw, keep) for raw in raw_devices],
        "symlinks": [{"path": path, "target": disguise.path(target)} for path, target in sorted(overlay.items())],
        "faults": [
            *({"path": raw.path, "errno": raw.fault, "op": "open"} for raw in raw_devices if raw.fault),
            *(
                {
                    "path": disguise.path(path),
                    "errno": errno.errorcode.get(number, "EIO"),
                    "op": "open" if is_device(path) else "read",
                }
                for path, number in sorted(faults.items())
            ),
        ],
    }
    text: str = yaml.safe_dump({key: value for key, value in told.items() if value}, sort_keys=False)
    return text.encode()


def _device(raw: RawDevice, keep: Kept) -> dict[str, object]:
    """One device node; `access` is the kernel's own word, where it was asked."""
    entry: dict[str, object] = {
        "path": raw.path,
        "type": "c",
        "major": raw.major,
        "minor": raw.minor,
        "mode": f"{raw.mode:04o}",
        "uid": raw.uid,
        "gid": raw.gid,
        "group": keep.groups.get(raw.gid),
        "acl": [f"{tag}:{number}:{bits}" for tag, number, bits in raw.acl] or None,
        "access": raw.allowed,
    }
    return {key: value for key, value in entry.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Close:
    """What a close look found that no file of the host's carries: the kernel log, stuck processes, refused opens."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def look(cls, root: Root, host: Host) -> _Close:
        """Read the host as the doctor does; every file that it reads is recorded on the way."""
        from rocenv.host.health import read_health

        health = read_health(root, host)
        files = {f"/proc/{one.pid}/stat": f"{one.pid} (process) D".encode() for one in health.stuck}
        files |= {f"/proc/{one.pid}/wchan": one.where.encode() for one in health.stuck}
        if health.kernel_log is not None:
            files["/captures/dmesg"] = "\n".join(health.kernel_log).encode()
        numbers = {name: number for number, name in errno.errorcode.items()}
        refused = {one.path: numbers.get(one.errno, errno.EIO) for one in health.opens if one.errno}
        return cls(files, {path: number for path, number in refused.items() if number != errno.EACCES})


@dataclass(frozen=True, slots=True)
class _Contents:
    """All that goes into an archive, by path below root/."""

    folders: Iterable[str]
    files: Mapping[str, bytes]
    targets: Mapping[str, str]
    manifest: bytes


def _write(file: str, contents: _Contents) -> None:
    """Write the archive beside its place, then put it there: whole, or not at all."""
    file = _place(file)
    name = os.path.basename(file)
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    draft = os.path.join(os.path.dirname(file), f".{os.path.basename(file)}.{os.getpid()}")
    try:
        try:
            _pack(draft, name or "host", contents)
            os.replace(draft, file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise UsageError(f"`{file}` cannot be written: {error.strerror}", "name a file in a folder of yours") from error


def _place(file: str) -> str:
    """Where the archive really goes, links followed. Raises UsageError for what must not be written over.

    Only an archive gives way to another: no device, FIFO or folder, and no file of another kind.
    """
    real = os.path.realpath(file)
    try:
        if not stat.S_ISREG(os.lstat(real).st_mode):
            raise UsageError(f"`{file}` cannot be written: it is no regular file", "give another name")
        with open(real, "rb") as stream:
            start = stream.read(2)
    except FileNotFoundError:
        return real
    except OSError as error:
        raise UsageError(f"`{file}` cannot be written: {error.strerror}", "name a file in a folder of yours") from error
    if start != b"\x1f\x8b":
        raise UsageError(f"`{file}` cannot be written over: it is no .tar.gz", "give another name")
    return real


def _pack(draft: str, name: str, contents: _Contents) -> None:
    """Put every member in, in order, so that the same host gives the same bytes."""
    with (
        open(draft, "xb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for folder in ("", *sorted(contents.folders)):
            _add(archive, f"{name}/root{folder}", tarfile.DIRTYPE)
        for path, target in sorted(contents.targets.items()):
            _add(archive, f"{name}/root{path}", tarfile.SYMTYPE, link=target)
        for path, data in sorted(contents.files.items()):
            _add(archive, f"{name}/root{path}", tarfile.REGTYPE, data)
        _add(archive, f"{name}/{MANIFEST}", tarfile.REGTYPE, contents.manifest)


def _add(archive: tarfile.TarFile, path: str, kind: bytes, data: bytes = b"", link: str = "") -> None:
    """Put one member in, owned by nobody in particular and without a time."""
    member = tarfile.TarInfo(path)
    member.type, member.linkname, member.size = kind, link, len(data)
    member.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    archive.addfile(member, io.BytesIO(data) if data else None)
