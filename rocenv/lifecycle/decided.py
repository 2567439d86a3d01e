"""What a plan decided, kept in labels, so that a later `up` can say what changed instead of that something did.

Two labels: `rocenv.decided` holds what the user asked for and what was chosen (`rocenv.plan` is its short name);
`rocenv.nodes` the device numbers and group ids of the moment, which a reboot or a driver's reload may change.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from rocenv.model.plan import Plan
from rocenv.model.proof import Environment

DECIDED = "rocenv.decided"
NODES = "rocenv.nodes"


def labelled(plan: Plan) -> Plan:
    """The plan with both labels on it."""
    own = {DECIDED: _compact(decided(plan)), NODES: _compact(nodes(plan))}
    return plan._replace(labels={**plan.labels, **own})


def decided(plan: Plan) -> dict[str, Any]:
    """What makes this container another one when it changes; of variables only a digest, for they may be secret."""
    everything = {
        "image": plan.image.reference,
        "gpus": [gpu.identity for gpu in plan.gpus],
        "env": {name: hashlib.sha256(value.encode()).hexdigest()[:8] for name, value in plan.env.items()},
        "env_names": list(plan.env_names),
        "mounts": [f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}" for mount in plan.mounts],
        "security": list(plan.security),
        "cap_add": list(plan.cap_add),
        "ulimits": list(plan.ulimits),
        "ipc": plan.ipc,
        "shm_size": plan.shm_size,
        "ports": list(plan.ports),
        "user": plan.user,
        "userns": plan.userns,
        "workdir": plan.workdir,
        "via": plan.via if plan.via != "devices" else None,
    }
    return {key: value for key, value in everything.items() if value}


def nodes(plan: Plan) -> dict[str, Any]:
    """The numbers of the plan's device nodes as they are now, and the group ids that open them."""
    return {"devices": {path: _number(path) for path in plan.devices}, "groups": list(plan.groups)}


def changes(there: Environment, plan: Plan) -> list[str]:
    """What differs between a container and the (labelled) plan, one line each; empty where nothing does."""
    if there.plan == plan.labels.get("rocenv.plan"):
        return []
    old, new = _label(there.labels, DECIDED), _label(plan.labels, DECIDED)
    lines = [_difference(key, old.get(key), new.get(key)) for key in dict.fromkeys((*new, *old))]
    return [line for line in lines if line] or ["the plan, by another version of rocenv"]


def moved(there: Environment, plan: Plan) -> list[str]:
    """Which device nodes and groups are others now than those that the container was made with, one line each."""
    old, new = _label(there.labels, NODES), _label(plan.labels, NODES)
    if not old:
        return []
    lines = [_difference(key, old.get(key), new.get(key)) for key in ("devices", "groups")]
    return [line for line in lines if line]


def _number(path: str) -> str | None:
    """`major:minor` of a device node, None where there is none."""
    try:
        number = os.stat(path).st_rdev  # noqa: PTH116
    except OSError:
        return None
    return f"{os.major(number)}:{os.minor(number)}"


def _difference(key: str, old: Any, new: Any) -> str:
    """One line on how a value changed, or nothing: `image: A → B`, `env: HSA_X`, `mounts: + /data:/data`."""
    if old == new:
        return ""
    shape = type(new or old)
    if shape is dict:
        old, new = (value if isinstance(value, dict) else {} for value in (old, new))
        return f"{key}: " + ", ".join(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))
    if shape is list:
        old, new = (value if isinstance(value, list) else [] for value in (old, new))
        added = [f"+ {item}" for item in new if item not in old]
        gone = [f"− {item}" for item in old if item not in new]
        return f"{key}: " + (", ".join(added + gone) or "another order")
    return f"{key}: {old or 'none'} → {new or 'none'}"


def _compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _label(labels: Mapping[str, str], name: str) -> dict[str, Any]:
    """A label's mapping; one that cannot be read says nothing, nor does a value that `decided` never writes."""
    try:
        found = json.loads(labels.get(name, ""))
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in found.items() if _flat(value)} if isinstance(found, dict) else {}


def _flat(value: Any) -> bool:
    """Whether a value is a word or number, or a list or mapping of these alone."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not any(isinstance(item, (dict, list)) for item in inner)
