"""CDI specifications: which device nodes each names, with which numbers (cncf-tags/container-device-interface)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from rocenv.host.source import Root
from rocenv.model.health import CdiNode, CdiSpec
from rocenv.rules.cdi import FOLDERS, KIND

KINDS = (".json", ".yaml")  # other names no engine reads
_MAX_BYTES = 1 << 20
_VENDOR = KIND.encode()


def own_folder() -> str:
    """The caller's own folder of specifications; rootless Docker 29.2 and newer reads it."""
    return os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "cdi")


def read_specs(root: Root, more: Sequence[str] = (), *, closed: bool = False) -> tuple[CdiSpec, ...]:
    """Every specification that speaks of AMD's GPUs, in the folders where engines look; a user's own live.

    `more`: other folders that an engine reads. `closed`: also files that this user may not read, whatever they hold.
    """
    own = (own_folder(),) if root.source.name is None else ()
    found = []
    for folder in dict.fromkeys((*FOLDERS, *own, *more)):
        for name in sorted(root.names(folder)):
            if not name.endswith(KINDS):
                continue
            data = root.data(f"{folder}/{name}", _MAX_BYTES, quiet=True)
            if data is None and closed:
                found.append(CdiSpec(f"{folder}/{name}", None, problem="this user may not read it"))
            elif data is not None and _VENDOR in data:
                found.append(parse(f"{folder}/{name}", data))
    return tuple(found)


def parse(file: str, data: bytes) -> CdiSpec:
    """One specification; what it has in common for all devices is added to each."""
    try:
        spec = _load(file, data)
        edits = spec.get("containerEdits") or {}
        common, always = _nodes(edits), _more(edits)
        given = {str(one["name"]): one.get("containerEdits") or {} for one in spec.get("devices") or ()}
        devices = {name: (*common, *_nodes(own)) for name, own in given.items()}
        more = {name: tuple(sorted(always | _more(own))) for name, own in given.items() if always | _more(own)}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        return CdiSpec(file, None, problem=f"it is no CDI specification: {str(error).splitlines()[0][:200] or 'shape'}")
    return CdiSpec(file, str(spec.get("kind")), devices, version=str(spec.get("cdiVersion")), more=more)


def _load(file: str, data: bytes) -> dict[str, Any]:
    if file.endswith(".json"):
        found = json.loads(data)
    else:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            # A few aliases of aliases are a few lines of text and no end of data; amd-ctk writes none.
            if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(data, loader)):
                raise ValueError("it holds a YAML alias (`*name`)")
            found = yaml.load(data, loader)  # noqa: S506 (one of the two safe loaders)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error
    if not isinstance(found, dict):
        raise ValueError("it holds no mapping")  # noqa: TRY004 (a bad file, not a bad type of ours)
    return found


def _nodes(edits: Any) -> tuple[CdiNode, ...]:
    """The nodes of a set of edits; on the host a node may have another path."""
    entries = edits.get("deviceNodes") or ()
    return tuple(
        CdiNode(
            str(one.get("hostPath") or one["path"]),
            *(_number(one, key) for key in ("major", "minor", "fileMode", "gid")),
        )
        for one in entries
    )


def _more(edits: dict[str, Any]) -> set[str]:
    """What edits hold beside nodes and groups."""
    return {str(key) for key, value in edits.items() if value and key not in ("deviceNodes", "additionalGids")}


def _number(node: dict[str, Any], key: str) -> int | None:
    """A device number; YAML makes truths and dates of some, which are none."""
    value = node.get(key)
    return value if type(value) is int else None
