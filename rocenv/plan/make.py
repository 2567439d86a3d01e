"""The Plan put together: selection, image, access, confinement, storage, labels; every choice with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rocenv.catalog import table
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.references import Reference
from rocenv.errors import EngineError
from rocenv.model.host import Gpu, Host
from rocenv.model.plan import EngineFacts, GpuRef, Plan, Reason
from rocenv.model.wish import Profile
from rocenv.plan import access, storage, via, wsl
from rocenv.plan.access import Access
from rocenv.plan.choose import Choice, choose
from rocenv.plan.environment import environment
from rocenv.plan.labels import labels
from rocenv.plan.loosen import Confinement, check_policy, confine
from rocenv.plan.ports import published
from rocenv.plan.select import Selection, select
from rocenv.plan.storage import WORKSPACE, Storage
from rocenv.rules.engines import BACK, DESKTOP, other_kernel

if TYPE_CHECKING:
    from rocenv.model.health import CdiSpec

_SUBSET = "a part of the GPUs on a rootless engine, which cannot isolate them"


class Request(NamedTuple):
    """What the command line adds to a profile: where it runs and under which name."""

    project: str
    project_folder: str
    name: str | None = None  # of the environment; None: the profile's
    cpu: bool = False  # none of the GPUs, on purpose
    home: str | None = None  # the caller's home folder, for `~` in mounts
    via: str | None = None  # devices | cdi | runtime; None: what is sure to work
    specs: tuple[CdiSpec, ...] = ()  # CDI's, read where `via` asks for them


def make_plan(profile: Profile, host: Host, facts: EngineFacts, request: Request) -> Plan:
    """The decided container. Pure: the same input gives the same Plan.

    Raises HostError, EngineError, ImageError, PolicyError or UsageError, each with what mends it.
    """
    words = "none" if request.cpu else profile.gpus
    if words != "none":
        _check_engine(facts, host)
    selection, given = _reach(words, profile, host, facts)
    given = via.by(request.via, given, host, facts, request.specs)
    picked = _qualified(choose(profile, selection.gpus, host, windows=given.devices == (wsl.DXG,)), facts)
    confined = confine(profile, host, facts, gpus=bool(given.devices))
    shared = ((_SUBSET, "choose all GPUs, or use a rootful engine"),) if given.visible_indices is not None else ()
    check_policy(profile, picked.image.reference, (*confined.loosened, *shared))
    named = request._replace(name=request.name or profile.name)
    stored = _stored(profile, picked, _Chosen(selection, given, host), named)
    plan = _assembled(profile, facts, named, _Decided(selection, picked, given, confined, stored))
    reasons = (*_engine_reason(facts), _gpus_reason(selection, request, host), *plan.reasons, *_catalog_reasons())
    return plan._replace(reasons=reasons, labels=labels(plan, host))


class _Chosen(NamedTuple):
    selection: Selection
    given: Access
    host: Host


class _Decided(NamedTuple):
    selection: Selection
    picked: Choice
    given: Access
    confined: Confinement
    stored: Storage


def _assembled(profile: Profile, facts: EngineFacts, request: Request, made: _Decided) -> Plan:
    """All decisions in one Plan, with their reasons and warnings in the order in which they were made."""
    given, confined, stored = made.given, made.confined, made.stored
    variables = environment(profile, given, stored)
    return Plan(
        profile=profile.name,
        project=request.project,
        name=request.name or profile.name,
        engine=facts,
        image=made.picked.image,
        gpus=tuple(named(gpu) for gpu in made.selection.gpus),
        devices=(*given.devices, *confined.devices),
        groups=() if given.keep_groups else tuple(dict.fromkeys((*given.groups, *confined.groups))),
        keep_groups=given.keep_groups,
        env=variables.values,
        mounts=stored.mounts,
        security=confined.security,
        cap_add=confined.cap_add,
        ipc=confined.ipc,
        shm_size=confined.shm_size,
        ports=published(profile.ports, profile.origins.get("ports", "ports")),
        user=given.user,
        workdir=WORKSPACE,
        labels={},
        smoke_level=profile.smoke.level,
        smoke_probes=profile.smoke.probes,
        visible_indices=given.visible_indices,
        reasons=(*made.picked.reasons, *given.reasons, *confined.reasons, *stored.reasons, *variables.reasons),
        refused=made.picked.refused,
        warnings=tuple(
            warning for part in (made.selection, made.picked, given, stored, variables) for warning in part.warnings
        ),
        env_names=variables.names,
        userns=given.userns,
        uidmap=given.uidmap,
        gidmap=given.gidmap,
        ulimits=confined.ulimits,
        catalog_date=table.origin("images").date,
        catalog_laid=tuple(one.path for _, one in table.laid() if one.path),
        via=given.via,
        injected=given.injected,
        cdi=given.cdi,
        runtime=given.runtime,
    )


def _check_engine(facts: EngineFacts, host: Host) -> None:
    """Refuse engines whose containers do not run on this host: what was read here is not true there."""
    if facts.desktop:
        raise EngineError(
            DESKTOP,
            "install Docker Engine and `docker context use default`; or `--cpu` for a container without GPUs",
        )
    if facts.remote:
        where = f" (`{facts.endpoint}`)" if facts.endpoint else ""
        raise EngineError(f"the engine is on another host{where}: the GPUs read here are not there", BACK)
    elsewhere = other_kernel(facts, host) if host.live else None
    if elsewhere is not None:
        raise EngineError(elsewhere, BACK)


def _reach(words: str, profile: Profile, host: Host, facts: EngineFacts) -> tuple[Selection, Access]:
    """The chosen GPUs and the access to them; on WSL2 what Windows passes on."""
    if words != "none" and wsl.applies(host):
        empty = Selection((), (), Reason("gpus", "what Windows passes on", "on WSL2 they are not told apart"))
        who = access.give(empty, host, facts, user=profile.user, visible=profile.visible)
        return empty, wsl.give(words, host, who)
    selection = select(words, host, rootless=facts.rootless)
    return selection, access.give(selection, host, facts, user=profile.user, visible=profile.visible)


def _qualified(picked: Choice, facts: EngineFacts) -> Choice:
    """For podman the reference with its registry: it does not take docker.io for granted."""
    if facts.kind != "podman":
        return picked
    image = picked.image
    full = image._replace(
        reference=Reference.parse(image.reference).full,
        equals=tuple(Reference.parse(other).full for other in image.equals),
    )
    return picked._replace(image=full)


def _stored(profile: Profile, picked: Choice, chosen: _Chosen, request: Request) -> Storage:
    """All mounts: the project, the caches, the profile's own, and on WSL2 the libraries."""
    parts = [
        storage.project(request.project_folder, request.home),
        storage.covered(picked.known),
        storage.caches(
            profile,
            picked.image,
            [gpu.gfx or "unknown" for gpu in chosen.selection.gpus],
            owner=str(chosen.host.caller.uid),
            environment=f"{request.project}/{request.name}",
            writer=_writer(chosen.given, picked.known),
        ),
        storage.mounts(profile, request.project_folder, request.home),
        *([wsl.storage(picked.image, chosen.host)] if chosen.given.devices == (wsl.DXG,) else []),
    ]
    mounts = tuple(mount for part in parts for mount in part.mounts)
    storage.check_targets(mounts)
    return Storage(
        mounts,
        {key: value for part in parts for key, value in part.env.items()},
        tuple(reason for part in parts for reason in part.reasons),
        tuple(warning for part in parts for warning in part.warnings),
    )


def _writer(given: Access, known: CatalogImage | None) -> str | None:
    if given.user is not None:
        return given.user
    return "0:0" if known is not None and known.user == "root" else None


def named(gpu: Gpu) -> GpuRef:
    """A GPU by all its names."""
    return GpuRef(gpu.index, gpu.gfx, gpu.bdf, gpu.partition.index, gpu.uuid, gpu.render_node, gpu.name)


def _engine_reason(facts: EngineFacts) -> tuple[Reason, ...]:
    mode = "rootless" if facts.rootless else "rootful"
    if facts.assumed:
        return (Reason("engine", facts.kind, f"assumed: {mode}; no engine was asked"),)
    return (
        Reason(
            "engine",
            facts.kind,
            f"{mode}, {facts.server_version or 'version unknown'}, at {facts.endpoint or 'its own socket'}",
        ),
    )


def _catalog_reasons() -> tuple[Reason, ...]:
    """Which tables of the catalog are not the ones that came with rocenv."""
    return tuple(
        Reason("catalog", f"{name} of {one.date}", f"{one.path}, in place of the one that came with rocenv")
        for name, one in table.laid()
    )


def _gpus_reason(selection: Selection, request: Request, host: Host) -> Reason:
    if not request.cpu:
        return selection.reason
    return Reason("gpus", "none", f"asked for: --cpu; none of the {len(host.gpus)} GPUs here is given, on purpose")
