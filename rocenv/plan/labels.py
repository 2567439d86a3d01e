"""The labels by which rocenv knows its own containers, and the short name of what was decided."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import rocenv
from rocenv.model.host import Host
from rocenv.model.plan import Plan
from rocenv.plan.access import VISIBLE
from rocenv.plan.storage import WORKSPACE
from rocenv.plan.via import DEVICES, RUNTIME_LIST


def labels(plan: Plan, host: Host) -> dict[str, str]:
    """The labels by which rocenv knows its own, and the GPUs that a proof is held against."""
    gpus = [
        {
            "index": gpu.index,
            "gfx": gpu.gfx,
            "bdf": gpu.bdf,
            "partition": gpu.partition,
            "uuid": gpu.uuid,
            "render_node": gpu.render_node,
            "name": gpu.name,
        }
        for gpu in plan.gpus
    ]
    return {
        "rocenv.version": rocenv.__version__,
        "rocenv.project": plan.project,
        "rocenv.folder": next((one.source for one in plan.mounts if one.target == WORKSPACE), ""),
        "rocenv.name": plan.name,
        "rocenv.profile": plan.profile,
        "rocenv.plan": digest(plan),
        "rocenv.gpus": json.dumps(gpus, separators=(",", ":")),
        "rocenv.owner": str(host.caller.uid),
    }


def digest(plan: Plan) -> str:
    """A short hash of what was asked and decided, without node numbers, group ids and reasons.

    The same wish on the same host after a reboot has the same hash, whatever numbers its nodes have got.
    """
    # Where a variable makes the subset its numbers are of this moment; the GPUs themselves stand in the hash.
    counted = () if plan.visible_indices is None else tuple(VISIBLE.values())
    if plan.runtime is not None:
        counted = (*counted, RUNTIME_LIST)
    decided: dict[str, Any] = {
        "engine": [plan.engine.kind, plan.engine.rootless],
        "image": [plan.image.reference, plan.image.digest],
        "gpus": [gpu.identity for gpu in plan.gpus],
        "env": {key: value for key, value in plan.env.items() if key not in counted},
        "env_names": plan.env_names,
        "mounts": [[one.kind, one.source, one.target, one.read_only] for one in plan.mounts],
        "confinement": [plan.security, plan.cap_add, plan.ipc, plan.shm_size, plan.ulimits],
        "ports": plan.ports,
        "user": [plan.user, plan.userns],
        "workdir": plan.workdir,
    }
    if plan.via != DEVICES:  # the names of CDI devices may be numbers of this moment
        decided["via"] = plan.via
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()[:16]
