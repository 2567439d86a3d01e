"""A Plan for people and for programs: what was decided, why, what was refused, and the command itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocenv.model.plan import GpuRef, Mount, Plan, Reason, Refusal
from rocenv.report.text import size, table

_FOLDED = 6  # refused images that are shown one by one


def plan_json(plan: Plan, argv: Sequence[str]) -> dict[str, Any]:
    """The plan as plain data, version 1; sizes in bytes. `argv` is the command line that it comes to."""
    return {
        "version": 1,
        "status": "ok",
        "profile": plan.profile,
        "project": plan.project,
        "name": plan.name,
        "container": plan.container,
        "engine": plan.engine.kind,
        "rootless": plan.engine.rootless,
        "engine_assumed": plan.engine.assumed,
        "image": {
            "reference": plan.image.reference,
            "rocm": plan.image.rocm,
            "source": plan.image.source,
            "digest": plan.image.digest,
            "gfx": list(plan.image.gfx),
            "size_bytes": plan.image.size_bytes,
            "base": plan.image.base,
        },
        "gpus": [gpu_json(gpu) for gpu in plan.gpus],
        "via": plan.via,
        "devices": list(plan.devices),
        "cdi": list(plan.cdi),
        "runtime": plan.runtime,
        "groups": list(plan.groups),
        "keep_groups": plan.keep_groups,
        "visible_indices": None if plan.visible_indices is None else list(plan.visible_indices),
        "env": dict(plan.env),
        "env_names": list(plan.env_names),
        "mounts": [_mount_json(mount) for mount in plan.mounts],
        "security": list(plan.security),
        "cap_add": list(plan.cap_add),
        "ipc": plan.ipc,
        "shm_size": plan.shm_size,
        "ulimits": list(plan.ulimits),
        "ports": list(plan.ports),
        "user": plan.user,
        "userns": plan.userns,
        "uidmap": list(plan.uidmap),
        "gidmap": list(plan.gidmap),
        "workdir": plan.workdir,
        "labels": dict(plan.labels),
        "smoke": {"level": plan.smoke_level, "probes": list(plan.smoke_probes)},
        "catalog": {"date": plan.catalog_date, "laid_in": list(plan.catalog_laid)},
        "dockerfile": plan.dockerfile,
        "argv": list(argv),
        "reasons": [{"choice": one.choice, "value": one.value, "why": one.why} for one in plan.reasons],
        "refused": [{"reference": one.reference, "why": one.why} for one in plan.refused],
        "warnings": list(plan.warnings),
    }


def plan_text(plan: Plan, command: str, *, all_refused: bool = False) -> str:
    """The plan for people; `command` is the command line, ready to copy."""
    parts = [_heading(plan), *([_gpus(plan.gpus)] if plan.gpus else []), _reasons(plan.reasons)]
    if plan.refused:
        parts.append(_refused(plan.refused, None if all_refused else _FOLDED))
    if plan.warnings:
        parts.append("\n".join(f"warning: {one}" for one in plan.warnings))
    return "\n\n".join([*parts, command])


def _heading(plan: Plan) -> str:
    image = plan.image
    known = [f"ROCm {image.rocm}" if image.rocm else "ROCm unknown"]
    if image.size_bytes:
        known.append(f"about {size(image.size_bytes)} unpacked")
    return f"{plan.container}: {image.reference} ({', '.join(known)})"


def _gpus(gpus: Sequence[GpuRef]) -> str:
    rows = [
        [str(gpu.index), gpu.gfx or "-", gpu.identity, gpu.render_node or "-", gpu.uuid or "-", gpu.name]
        for gpu in gpus
    ]
    return table(["GPU", "target", "BDF", "render node", "UUID", "name"], rows)


def _reasons(reasons: Sequence[Reason]) -> str:
    """One choice after the other with its why; caches that are kept for one reason are told together."""
    caches = [one for one in reasons if one.choice.startswith("cache ")]
    shown = [one for one in reasons if one not in caches]
    for why in dict.fromkeys(one.why for one in caches):
        kinds = ", ".join(one.choice.removeprefix("cache ") for one in caches if one.why == why)
        shown.append(Reason("caches", kinds, why))
    width = max(len(one.choice) for one in shown)
    return "\n".join(f"{one.choice:<{width}}  {one.value}\n{'':<{width}}    {one.why}" for one in shown)


def _refused(refused: Sequence[Refusal], most: int | None) -> str:
    shown = refused if most is None else refused[:most]
    lines = [f"  {one.reference}: {one.why}" for one in shown]
    if len(shown) < len(refused):
        lines.append(f"  and {len(refused) - len(shown)} more (`--refused` shows all)")
    return "\n".join(["not taken:", *lines])


def gpu_json(gpu: GpuRef) -> dict[str, Any]:
    """A chosen GPU as plain data."""
    return {
        "index": gpu.index,
        "gfx": gpu.gfx,
        "bdf": gpu.bdf,
        "partition": gpu.partition,
        "uuid": gpu.uuid,
        "render_node": gpu.render_node,
        "name": gpu.name,
    }


def _mount_json(mount: Mount) -> dict[str, Any]:
    return {"kind": mount.kind, "source": mount.source, "target": mount.target, "read_only": mount.read_only}
