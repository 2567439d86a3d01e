"""Captures: a host's facts as files, in a folder or a .tar.gz (root/ and devices.yaml; docs/detect.md)."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

from rocenv.errors import UsageError
from rocenv.host.files import Confined, Folder, read_bounded
from rocenv.host.shapes import Files, Tree
from rocenv.host.source import VARIABLES, RawDevice, Storage, is_device, printable
from rocenv.model.host import Caller

MANIFEST = "devices.yaml"
_MANIFEST_BYTES = 4 << 20
SUFFIXES = (".tar.gz", ".tgz")
_NUMBERS = {name: number for number, name in errno.errorcode.items()}
_DEFAULT_CALLER = Caller(0, 0, (0,))


class Capture:
    """A captured host as a source of facts."""

    def __init__(self, name: str, tree: Tree, manifest: Mapping[str, Any]) -> None:
        links = {str(link["path"]): str(link["target"]) for link in _entries(manifest, "symlinks", "path", "target")}
        faults = {str(fault["path"]): str(fault["errno"]) for fault in _entries(manifest, "faults", "path", "errno")}
        self.name: str | None = printable(name)
        self._manifest = manifest
        self._links = links
        self._faults = {path: word for path, word in faults.items() if is_device(path)}
        numbers = {path: _NUMBERS.get(word, errno.EIO) for path, word in faults.items() if not is_device(path)}
        self._storage = Storage(tree, links, numbers)
        self._confined = Confined(tree, links, numbers)
        self.files: Files = self._confined

    def caller(self) -> Caller:
        """See Source; a capture that does not say is read as root."""
        told = self._manifest.get("run_as")
        if not isinstance(told, dict):
            return _DEFAULT_CALLER
        groups = told.get("groups")
        numbers = tuple(_whole(group) for group in groups) if isinstance(groups, list) else ()
        return Caller(_whole(told.get("uid")), _whole(told.get("gid")), numbers)

    def caller_name(self) -> str | None:
        """See Source; rocenv's own captures leave it out."""
        told = self._manifest.get("run_as")
        name = told.get("name") if isinstance(told, dict) else None
        return name if isinstance(name, str) and name else None

    def devices(self) -> list[RawDevice]:
        """See Source; links to nodes count as nodes."""
        nodes = {str(entry["path"]): entry for entry in _entries(self._manifest, "devices", "path")}
        found = []
        for path in {*nodes, *self._links}:
            entry = nodes.get(self._real(path)) if is_device(path) else None
            if entry is not None and str(entry.get("type", "c")) == "c":
                found.append(self._device(path, entry))
        return found

    def variables(self) -> Mapping[str, str]:
        """See Source."""
        told = self._manifest.get("environment")
        return {name: str(told[name]) for name in VARIABLES if name in told} if isinstance(told, dict) else {}

    def machine(self) -> str | None:
        """See Source."""
        told = self._manifest.get("machine")
        return told if isinstance(told, str) and told else None

    def storage(self) -> Storage:
        """See Source."""
        return self._storage

    def _real(self, path: str) -> str:
        """Where the links of a device's path lead; nowhere for a loop."""
        try:
            return self._confined.locate(path)
        except OSError:
            return ""

    def _device(self, path: str, entry: Mapping[str, Any]) -> RawDevice:
        """One entry of `devices`; what is no number counts as 0."""
        mode, acl, allowed = entry.get("mode"), entry.get("acl"), entry.get("access")
        return RawDevice(
            path=path,
            major=_whole(entry.get("major")),
            minor=_whole(entry.get("minor")),
            mode=(mode if isinstance(mode, int) else _whole(mode, 8)) & 0o7777,
            uid=_whole(entry.get("uid")),
            gid=_whole(entry.get("gid")),
            acl=tuple(_acl_entry(word) for word in acl if isinstance(word, str)) if isinstance(acl, list) else (),
            allowed=allowed if isinstance(allowed, bool) else None,
            fault=self._faults.get(self._real(path)),
        )


def open_capture(path: str) -> Capture:
    """The capture in a folder or a .tar.gz. Raises UsageError for anything else."""
    if os.path.isdir(path):
        name = os.path.basename(os.path.abspath(path))
        if os.path.islink(f"{path}/root"):
            raise _no_capture(path, "its `root` is a link, which may lead out of it")
        if not os.path.isdir(f"{path}/root"):
            raise _no_capture(path, "it has no folder `root`")
        return Capture(name, Folder(f"{path}/root"), _parsed(path, _manifest_of(path)))
    if not os.path.exists(path):
        raise _no_capture(path, "there is no such file or folder")
    if not os.path.isfile(path):  # a FIFO would be waited for
        raise _no_capture(path, "it is neither a file nor a folder")
    from rocenv.host.archive import read_archive

    name = os.path.basename(path)
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    tree, manifest = read_archive(path)
    return Capture(name, tree, _parsed(path, manifest))


def _no_capture(path: str, why: str) -> UsageError:
    """The error for what cannot be read as a host."""
    return UsageError(
        f"`{path}` is no host capture: {why}",
        "name a folder or .tar.gz with `root/` and `devices.yaml` in it; `rocenv detect --save FILE` writes one",
    )


def _manifest_of(path: str) -> bytes:
    """The text of a folder's devices.yaml; empty where there is none."""
    try:
        return read_bounded(f"{path}/{MANIFEST}", _MANIFEST_BYTES, os.O_NOFOLLOW)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _no_capture(path, f"`{MANIFEST}` cannot be read: {error.strerror}") from error


# What PyYAML's constructors raise on `!!int ""`, `!!bool xx` and the like, beside its own errors.
_CONSTRUCTORS_RAISE = (ValueError, RecursionError, IndexError, KeyError, AttributeError, TypeError, OverflowError)


def _parsed(path: str, text: bytes) -> Mapping[str, Any]:
    """devices.yaml as a mapping; an empty one is no error."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # A few aliases of aliases are a few lines of text and no end of data; nothing that is told here needs one.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, loader)):
            raise _no_capture(path, f"`{MANIFEST}` holds a YAML alias (`*name`)")
        found = yaml.load(text, loader)  # noqa: S506 (one of the two safe loaders)
    except (yaml.YAMLError, *_CONSTRUCTORS_RAISE) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise _no_capture(path, f"`{MANIFEST}` is no YAML: {why}") from error
    if found is not None and not isinstance(found, dict):
        raise _no_capture(path, f"`{MANIFEST}` holds no mapping")
    return found or {}


def _entries(manifest: Mapping[str, Any], key: str, *needed: str) -> list[Mapping[str, Any]]:
    """The entries of a list that are mappings with all that they need; others are passed over."""
    entries = manifest.get(key)
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict) and all(name in entry for name in needed)]


def _whole(value: object, base: int = 10) -> int:
    """A number given as such or as text, of 64 bits at most; 0 for all else."""
    if isinstance(value, str):
        try:
            value = int(value, base)
        except ValueError:
            return 0
    return int(value) if isinstance(value, int) and abs(value) < 1 << 64 else 0  # True is one, too


def _acl_entry(word: str) -> tuple[str, int, int]:
    """`group:109:6` as (tag, id, permissions)."""
    tag, _, rest = word.partition(":")
    number, _, bits = rest.partition(":")
    return tag, _whole(number), _whole(bits) & 7
