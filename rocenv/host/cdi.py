"""CDI specifications: which device nodes each names, with which numbers (cncf-tags/container-device-interface)."""

from __future__ import annotations

import json
import os
from typing import Any

from rocenv.host.source import Root
from rocenv.model.health import CdiNode, CdiSpec

FOLDERS = ("/etc/cdi", "/var/run/cdi")
_MAX_BYTES = 1 << 20
_VENDOR = b"amd.com/gpu"


def read_specs(root: Root) -> tuple[CdiSpec, ...]:
    """Every specification that speaks of AMD's GPUs, in the folders where engines look; a user's own live."""
    folders = [*FOLDERS]
    if root.source.name is None:
        folders.append(os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "cdi"))
    found = []
    for folder in folders:
        for name in sorted(root.names(folder)):
            if name.endswith((".json", ".yaml", ".yml")):
                data = root.data(f"{folder}/{name}", _MAX_BYTES, quiet=True) or b""
                if _VENDOR in data:
                    found.append(parse(f"{folder}/{name}", data))
    return tuple(found)


def parse(file: str, data: bytes) -> CdiSpec:
    """One specification; what it has in common for all devices is added to each."""
    try:
        spec = _load(file, data)
        common = _nodes(spec.get("containerEdits"))
        devices = {str(one["name"]): (*common, *_nodes(one.get("containerEdits"))) for one in spec.get("devices") or ()}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        return CdiSpec(file, None, problem=f"it is no CDI specification: {str(error).splitlines()[0][:200] or 'shape'}")
    return CdiSpec(file, str(spec.get("kind")), devices)


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
    entries = (edits or {}).get("deviceNodes") or ()
    return tuple(
        CdiNode(str(one.get("hostPath") or one["path"]), _number(one, "major"), _number(one, "minor"))
        for one in entries
    )


def _number(node: dict[str, Any], key: str) -> int | None:
    """A device number; YAML makes truths and dates of some, which are none."""
    value = node.get(key)
    return value if type(value) is int else None
