"""`rocenv lock`: the record of what each profile runs on, made from the plan, the engine's copy and the registries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocenv.catalog.references import Reference
from rocenv.errors import HostError, UsageError
from rocenv.lifecycle.held import named, pinned
from rocenv.lifecycle.packages import added
from rocenv.lifecycle.sources import Sources, learn
from rocenv.model.lock import Lock, Locked, LockedBuild, LockedImage, LockedProof
from rocenv.model.plan import EngineFacts

if TYPE_CHECKING:
    from rocenv.model.host import Host
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile
    from rocenv.plan import Request

Tell = Callable[[str], None]
ASSUMED = EngineFacts("docker", assumed=True)  # which image is chosen does not depend on the engine


class Site(NamedTuple):
    """Where it is locked: the project, a way to read the host (it may fail, and not all need it), and whom to ask."""

    request: Request
    host: Callable[[], Host]
    sources: Sources
    tell: Tell

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return Path(self.request.project_folder)


def profiles_of(site: Site, names: Sequence[str], old: Lock) -> dict[str, Profile]:
    """The profiles to lock, by the name they are locked under: those named, else the project's and those locked before.

    One that was locked and is no more is left out. Raises UsageError where two have one name, or there is none at all.
    """
    from rocenv.profile import load_profile, own_profiles

    found: dict[str, Profile] = {}
    wanted: tuple[str | None, ...] = tuple(names) or own_profiles(site.folder)
    for name in wanted:
        profile = load_profile(name, project=site.folder, overrides={})
        if profile.name in found and found[profile.name] != profile:
            raise UsageError(f"two profiles are called `{profile.name}`", "give one of them another `name:`")
        found[profile.name] = profile
    for name in () if names else old.profiles:
        if name in found:
            continue
        try:
            found[name] = load_profile(name, project=site.folder, overrides={})
        except UsageError as error:
            site.tell(f"{name} is left out: {error.message}")
    if not found:
        load_profile(None, project=site.folder, overrides={})  # says what is missing
    return found


def locked_anew(site: Site, names: Sequence[str], old: Lock, *, update: bool) -> Lock:
    """The lock of these profiles; what is locked already and still wished stays as it is, unless `update`.

    Raises what planning raises, and ImageError where a digest cannot be told.
    """
    from rocenv.lock.compare import changed

    found = profiles_of(site, names, old)
    kept: Mapping[str, Locked] = old.profiles if names else {}
    fresh = {}
    for name, profile in found.items():
        before = old.profiles.get(name)
        stays = before is not None and not update and not changed(before, profile)
        fresh[name] = _filled(site, profile, before) if before and stays else _new(site, profile, update=update)
    return Lock({**kept, **fresh})


def _new(site: Site, profile: Profile, *, update: bool) -> Locked:
    """A profile decided afresh: its image chosen for this host, and its digests asked for."""
    from rocenv.catalog.table import load
    from rocenv.lock.compare import mirrored, wish_of
    from rocenv.plan import make_plan
    from rocenv.plan.here import settled

    plan = make_plan(free(profile), site.host(), ASSUMED, site.request)
    if site.sources.engine is not None and plan.image.equals:
        plan = settled(plan, site.sources.engine.images_here([plan.image.reference, *plan.image.equals]))
    reference = Reference.parse(plan.image.reference)
    known = learn(site.sources, reference, anew=update)
    site.tell(f"{profile.name}: {reference.familiar} is {known.digest[:19]}…, says {known.told_by}")
    image = LockedImage(
        reference=replace(reference, digest=None).familiar,
        digest=known.digest,
        places=tuple(sorted(mirrored(reference.familiar, profile.mirrors))),
        platforms=known.platforms,
        rocm=plan.image.rocm,
        gfx=tuple(sorted(plan.image.gfx)),
    )
    return _filled(site, profile, Locked(profile.name, wish_of(profile), image, str(load("images")["date"])))


def _filled(site: Site, profile: Profile, locked: Locked) -> Locked:
    """The same with what it builds and what a smoke test has shown, where that is not told yet and can be."""
    if builds(profile):
        locked = locked._replace(build=_build(site, profile, locked))
    engine = site.sources.engine
    if locked.build is not None and not locked.build.packages and engine is not None:
        packages = added(engine, locked.build.reference, (locked.image.pinned, *locked.image.names))
        locked = locked._replace(build=locked.build._replace(packages=packages or {}))
        if packages is None:
            built = locked.build.reference if locked.build else ""
            site.tell(f"{built} is not built here: `rocenv up`, then `rocenv lock` records what its packages came to")
    return locked if locked.proof is not None else locked._replace(proof=_proof(site, locked))


def builds(profile: Profile) -> bool:
    """Whether a profile builds an image on the one that is locked."""
    return profile.build.wanted


def _build(site: Site, profile: Profile, locked: Locked) -> LockedBuild:
    """What the profile builds on its locked image; what is locked of that stays where it is the same.

    It stays as well on a host that has no GPUs to build for.
    """
    try:
        plan = held_plan(site, profile, locked)
    except HostError:
        if locked.build is None:
            raise
        return locked.build
    same = locked.build is not None and locked.build.reference == plan.image.reference
    return locked.build if locked.build and same else LockedBuild(plan.image.reference, dockerfile_digest(plan))


def dockerfile_digest(plan: Plan) -> str:
    """The digest of the Dockerfile that a plan builds from."""
    import hashlib

    return f"sha256:{hashlib.sha256((plan.dockerfile or '').encode()).hexdigest()}"


def held_plan(site: Site, profile: Profile, locked: Locked) -> Plan:
    """The plan on this host with the locked image. Raises what planning raises."""
    from rocenv.lifecycle.build import built
    from rocenv.plan import make_plan

    wished = free(profile)
    plan = make_plan(pinned(wished, locked), site.host(), ASSUMED, site.request)
    return built(named(plan, locked, wished), profile, site.request.project_folder)


def _proof(site: Site, locked: Locked) -> LockedProof | None:
    """What a smoke test of this very image came to in an environment of the project; None where there was none."""
    engine = site.sources.engine
    if engine is None:
        return None
    from rocenv.lifecycle import proofs
    from rocenv.report.environments import gpus

    found = [one for one in engine.find(project=site.request.project) if one.profile == locked.profile]
    made = engine.made_of([one.id for one in found])
    for there in found:
        known = proofs.recall(there.id)
        same = there.reference == locked.build.reference if locked.build else made.get(there.id) in locked.image.ids
        if known is None or known["result"] is None or not same:
            continue
        return LockedProof(
            str(known["result"]), str(known["level"]), _counted(str(gpu["gfx"]) for gpu in gpus(there)), known["driver"]
        )
    return None


def _counted(targets: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for target in sorted(targets):
        counts[target] = counts.get(target, 0) + 1
    return counts


def free(profile: Profile) -> Profile:
    """The profile without the demand for a digest, which a lock is there to meet."""
    return profile._replace(policy=profile.policy._replace(digests=False))
