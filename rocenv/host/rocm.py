"""ROCm trees below /opt: one link and one folder a release, folders side by side, or core-X.Y folders in /opt/rocm."""

from __future__ import annotations

import re

from rocenv.host.source import Root, printable
from rocenv.model.host import RocmDefault, RocmInstall

DEFAULT = "/opt/rocm"
_VERSION_BYTES = 4096


def installed(root: Root) -> tuple[RocmInstall, ...]:
    """Every ROCm tree, leftovers without a version file among them, by version and then by path."""
    found: list[RocmInstall] = []
    for name in root.names("/opt"):
        path = f"/opt/{name}"
        if name.startswith("rocm") and _is_tree(root, path):
            found += [_install(root, core) for core in _cores(root, path)] or [_install(root, path)]
    return tuple(sorted(found, key=lambda install: (_numbers(install), install.path)))


def default(root: Root) -> RocmDefault | None:
    """What /opt/rocm is; None where there is no such name."""
    if not (root.files.target(DEFAULT) or root.resolve(DEFAULT)):
        return None
    end = root.resolve(DEFAULT)
    if end is not None and _cores(root, DEFAULT) and root.files.target(f"{DEFAULT}/core"):
        end = root.resolve(f"{DEFAULT}/core")
    version = _install(root, end).version if end is not None else None
    return RocmDefault(path=DEFAULT, resolves_to=None if end is None else printable(end), version=version)


def _is_tree(root: Root, path: str) -> bool:
    """True for a folder that is no link: links are other names of trees."""
    return root.files.target(path) is None and root.files.is_dir(path)


def _cores(root: Root, path: str) -> list[str]:
    """The core-X.Y folders of a tree that has no version file of its own; the links among them are not counted."""
    if _raw(root, path) is not None:
        return []
    names = [name for name in root.names(path) if re.fullmatch(r"core-[0-9]+(\.[0-9]+)*", name)]
    return [f"{path}/{name}" for name in names if _is_tree(root, f"{path}/{name}")]


def _install(root: Root, path: str) -> RocmInstall:
    """A tree with its version: all of the version file, and what stands before the first dash."""
    raw = _raw(root, path)
    return RocmInstall(path=printable(path), version=raw.split("-", 1)[0].strip() or None if raw else None, raw=raw)


def _raw(root: Root, path: str) -> str | None:
    """The text of a tree's version file; None where it is missing or blank."""
    return root.text(f"{path}/.info/version", _VERSION_BYTES)


def _numbers(install: RocmInstall) -> tuple[int, ...]:
    """The version as numbers, of a leftover that of its name: 6.3.0 stands between 6.2.4 and 6.4.1."""
    text = install.version or install.path.rpartition("/")[2]
    return tuple(int(number) for number in re.findall(r"[0-9]{1,9}", text))
