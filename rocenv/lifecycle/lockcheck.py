"""`rocenv lock --check`: does every digest still resolve, and has what was locked drifted. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rocenv.catalog.references import Reference
from rocenv.errors import ImageError, PolicyError, RocenvError, UsageError
from rocenv.lifecycle.held import pinned, unfit
from rocenv.lifecycle.lock import ASSUMED, Site, builds, free, held_plan
from rocenv.lifecycle.sources import PLATFORM
from rocenv.model.lock import FILE, Checked, Lock, Locked

if TYPE_CHECKING:
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile

OFFLINE = "no registry was asked (--offline)"


class _Asked(NamedTuple):
    """What one place says of one digest or tag: `has`, `lacks`, or `silent` where it could not be asked."""

    place: str
    answer: str
    said: str
    digest: str | None = None


def check(site: Site, lock: Lock, names: Sequence[str]) -> tuple[Checked, ...]:
    """What there is to say of every locked profile, or of those named. Raises UsageError for one that is not locked."""
    unknown = next((name for name in names if name not in lock.profiles), None)
    if unknown is not None:
        raise UsageError(f"`{FILE}` does not hold `{unknown}`", f"`rocenv lock {unknown}` locks it")
    defined = own(site)
    found = [
        row
        for name, locked in sorted(lock.profiles.items())
        if not names or name in names
        for row in _profile(site, defined.get(name), locked)
    ]
    missing = [] if names else sorted(defined.keys() - lock.profiles.keys())
    rows = [Checked(name, "profile", "fail", f"`{FILE}` does not hold it", f"`rocenv lock {name}`") for name in missing]
    return (*found, *rows)


def own(site: Site) -> dict[str, Profile]:
    """The project's profiles by the names that they are locked under."""
    from rocenv.profile import load_profile, own_profiles

    loaded = [load_profile(name, project=site.folder, overrides={}) for name in own_profiles(site.folder)]
    return {one.name: one for one in loaded}


def _profile(site: Site, profile: Profile | None, locked: Locked) -> Iterator[Checked]:
    from rocenv.lock.compare import changed
    from rocenv.profile import load_profile

    name = locked.profile
    mend = f"`rocenv lock {name}` locks what it wishes now"
    try:
        profile = profile or load_profile(name, project=site.folder, overrides={})
        lines = changed(locked, profile)
    except UsageError as error:
        lines, mend = [error.message], f"`rocenv lock` leaves it out; `rm {FILE}` where no other profile is left"
    if lines:
        yield Checked(name, "profile", "fail", "; ".join(lines), mend)
    else:
        yield Checked(name, "profile", "ok", "it wishes what was locked")
    yield from _digest(site, profile, locked)
    if "@" not in str(locked.wish.get("image.reference", "")):
        yield _tag(site, locked)
    if profile is not None and not lines:
        yield from _plan(site, profile, locked)


def _digest(site: Site, profile: Profile | None, locked: Locked) -> Iterator[Checked]:
    """Whether the engine or any place still has the locked image."""
    from rocenv.lock.compare import mirrored

    image, engine = locked.image, site.sources.engine
    here = any(engine is not None and engine.image(one) is not None for one in (image.pinned, *image.names))
    also = "; the engine has it" if here else ""
    own = Reference.parse(image.reference).name
    mirrors = mirrored(image.reference, profile.mirrors) if profile else ()
    asked = [_ask(site, f"{place}@{image.digest}") for place in dict.fromkeys((own, *mirrors, *image.places))]
    having = [one.place for one in asked if one.answer == "has"]
    said = "; ".join(f"{one.place}: {one.said}" for one in asked if one.answer != "has")
    if having:
        yield Checked(locked.profile, "digest", "ok", f"{image.digest[:19]}… is at {', '.join(having)}{also}")
        if said:
            yield Checked(locked.profile, "places", "info", said)
    elif any(one.answer == "silent" for one in asked):
        what = OFFLINE if site.sources.offline else said
        yield Checked(locked.profile, "digest", "skip", f"it could not be checked: {what}{also}")
    elif here:
        keep = f"`rocenv bundle save FILE {locked.profile}` keeps it"
        yield Checked(locked.profile, "digest", "warn", f"the engine here has it, and no place any more: {said}", keep)
    else:
        mend = "`rocenv bundle load FILE` where there is a bundle, else `rocenv lock --update` locks one that there is"
        yield Checked(locked.profile, "digest", "fail", f"{image.digest} is nowhere any more: {said}", mend)


def _tag(site: Site, locked: Locked) -> Checked:
    """Whether the tag still stands for the locked digest. One that moved is no fault: that is what a lock is for."""
    image = locked.image
    asked = _ask(site, image.reference)
    if asked.answer == "silent":
        why = OFFLINE if site.sources.offline else asked.said
        return Checked(locked.profile, "tag", "skip", f"it could not be checked: {why}")
    update = f"`rocenv lock --update {locked.profile}` locks what there is now"
    if asked.answer == "lacks":
        return Checked(locked.profile, "tag", "warn", f"`{image.reference}` is gone: {asked.said}", update)
    if asked.digest == image.digest:
        return Checked(locked.profile, "tag", "ok", f"`{image.reference}` still is what was locked")
    moved = f"`{image.reference}` has moved: {image.digest[:19]}… → {str(asked.digest)[:19]}…"
    return Checked(locked.profile, "tag", "warn", moved, update)


def _ask(site: Site, text: str) -> _Asked:
    """What the registry of a reference says of it."""
    reference = Reference.parse(text)
    if site.sources.offline:
        return _Asked(reference.name, "silent", OFFLINE)
    from rocenv.engine.registry import RegistryError, find

    try:
        found = find(reference, site.sources.config, platform=PLATFORM)
    except RegistryError as error:
        gone = error.state in ("no-tag", "no-repository", "no-platform")
        return _Asked(reference.name, "lacks" if gone else "silent", error.said)
    found.session.close()
    return _Asked(reference.name, "has", "", found.index_digest or found.manifest.digest)


def _plan(site: Site, profile: Profile, locked: Locked) -> Iterator[Checked]:
    """Whether the locked image fits this host, whether the build is the same, and what would be chosen today."""
    name = locked.profile
    try:
        plan = held_plan(site, profile, locked)
        why = unfit(pinned(free(profile), locked), plan, site.host())
    except PolicyError as error:
        yield Checked(name, "policy", "fail", error.message, error.hint)
        return
    except RocenvError as error:
        yield Checked(name, "host", "skip", f"it could not be checked on this host: {error.message}")
        return
    if why is None:
        yield _fits(plan, locked)
    else:
        yield Checked(name, "host", "fail", why, f"`rocenv lock --update {name}` on this host locks one that fits")
    if builds(profile) and locked.build is not None:
        same = plan.image.reference == locked.build.reference
        what = "the Dockerfile is the same" if same else f"{locked.build.reference} → {plan.image.reference}"
        yield Checked(name, "build", "ok" if same else "fail", what, None if same else f"`rocenv lock --update {name}`")
    yield from _choice(site, profile, locked)


def _choice(site: Site, profile: Profile, locked: Locked) -> Iterator[Checked]:
    """What would be chosen today where that is another image. No fault: a lock is there so that it does not matter."""
    from rocenv.plan import make_plan

    try:
        image = make_plan(free(profile), site.host(), ASSUMED, site.request).image
    except (ImageError, PolicyError):
        return
    today = replace(Reference.parse(image.reference), digest=None)
    if locked.image.reference not in (today.familiar, *image.equals):
        why = f"today `{today.familiar}` would be chosen"
        yield Checked(locked.profile, "choice", "info", why, f"`rocenv lock --update {locked.profile}` takes it")


def _fits(plan: Plan, locked: Locked) -> Checked:
    """What there is to say of an image that nothing speaks against: of one that nobody knows, that is all."""
    from rocenv.catalog import images

    reference = Reference.parse(locked.image.reference)
    known = images.describe(reference)
    if not plan.gpus:
        return Checked(locked.profile, "host", "ok", "no GPU is asked for")
    if locked.image.gfx or plan.image.gfx or (known is not None and known.compiler):
        return Checked(locked.profile, "host", "ok", f"it fits {_gpus(len(plan.gpus))} here")
    why = f"nothing speaks against it on {_gpus(len(plan.gpus))} here, and nobody tells which it has code for"
    return Checked(locked.profile, "host", "info", f"{why}: `rocenv audit {reference.familiar}` reads that")


def _gpus(count: int) -> str:
    return "the GPU" if count == 1 else f"the {count} GPUs"
