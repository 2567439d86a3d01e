"""A plan held to `rocenv.lock`: the locked image in the place of a chosen one, and a word wherever that does not hold.

Four ways: `auto` takes the lock where there is one that holds; `locked` demands one; `frozen` refuses whatever has
drifted as well; `off` does not look.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocenv.errors import ImageError, PolicyError
from rocenv.lifecycle import lockfile
from rocenv.lifecycle.build import built
from rocenv.model.lock import FILE, Locked
from rocenv.model.plan import Plan

if TYPE_CHECKING:
    from rocenv.model.host import Host
    from rocenv.model.plan import EngineFacts
    from rocenv.model.wish import Profile
    from rocenv.plan import Request

AUTO, LOCKED, FROZEN, OFF = "auto", "locked", "frozen", "off"


class Held(NamedTuple):
    """A profile as the lock lets it be planned; `locked` is None where the lock says nothing of it."""

    profile: Profile
    locked: Locked | None = None
    warnings: tuple[str, ...] = ()


def planned(
    wished: Profile, host: Host, facts: EngineFacts, request: Request, mode: str = OFF, *, text: bool = True
) -> Plan:
    """The plan of a profile, by the project's lock as `mode` wants it, with what it builds (`text`: see `built`).

    Raises PolicyError where a lock is demanded and is not there or does not hold, and whatever `make_plan` raises.
    """
    from rocenv.plan import make_plan

    found = held(wished, Path(request.project_folder), mode)
    plan = make_plan(found.profile, host, facts, request)
    plan = plan._replace(warnings=(*plan.warnings, *found.warnings))
    if found.locked is None:
        return built(plan, wished, request.project_folder, text=text)
    plan = built(named(plan, found.locked, wished), wished, request.project_folder, text=text)
    if mode == FROZEN:
        _must_be_as_locked(plan, found.locked)
        _must_fit(plan, found.profile, host)
        packages = found.locked.build.packages if found.locked.build else None
        plan = plan._replace(image=plan.image._replace(packages=packages))
    return plan


def held(wished: Profile, folder: Path, mode: str) -> Held:
    """The profile with the locked image in it, where there is one and it is what the profile wishes."""
    if mode == OFF:
        return Held(wished)
    lock = lockfile.load(folder)
    locked = lock.profiles.get(wished.name) if lock else None
    if locked is None:
        if mode == AUTO:
            return Held(wished)
        what = f"there is no `{FILE}` in {folder}" if lock is None else f"`{FILE}` does not hold `{wished.name}`"
        raise PolicyError(what, f"`rocenv lock {wished.name}` locks it")
    from rocenv.lock.compare import changed

    lines = changed(locked, wished)
    if not lines:
        return Held(pinned(wished, locked), locked)
    if wished.origins.get("image.reference") == "--image":
        if mode == AUTO:
            return Held(wished)  # the plan says itself by what its image is named
        raise PolicyError(f"`--image` names another image than `{FILE}` holds", f"leave `--image` or `--{mode}` away")
    what = f"`{FILE}` was made for another wish of `{wished.name}`: {'; '.join(lines)}"
    mend = f"`rocenv lock {wished.name}` locks what it wishes now"
    if mode != AUTO:
        raise PolicyError(what, mend)
    return Held(wished, None, (f"{what}; it is planned without the lock ({mend})",))


def pinned(wished: Profile, locked: Locked) -> Profile:
    """The profile with the locked image as the one that it names; on a bare system also with the locked ROCm."""
    from rocenv.catalog.distributions import FROM_SYSTEM
    from rocenv.catalog.wheels import TEMPLATE
    from rocenv.model.wish import ImageWish

    bare = wished.build.template in (*FROM_SYSTEM, TEMPLATE) and locked.image.rocm is not None
    image = ImageWish(reference=locked.image.pinned, rocm=f"=={locked.image.rocm}" if bare else None)
    origins = {key: value for key, value in wished.origins.items() if not key.startswith("image.")}
    return wished._replace(image=image, origins={**origins, "image.reference": FILE})


def unfit(profile: Profile, plan: Plan, host: Host) -> str | None:
    """Why the image that the (pinned) profile names does not fit the plan's GPUs on this host; None where it does."""
    from rocenv.plan import wsl
    from rocenv.plan.choose import choose

    chosen = {(gpu.bdf, gpu.partition) for gpu in plan.gpus}
    gpus = [gpu for gpu in host.gpus if (gpu.bdf, gpu.partition.index) in chosen]
    try:
        choose(profile._replace(strict=True), gpus, host, windows=plan.devices == (wsl.DXG,))
    except ImageError as error:
        return error.message
    return None


def named(plan: Plan, locked: Locked, wished: Profile) -> Plan:
    """The plan with all names of its locked image, and the lock as the reason for it."""
    image = plan.image._replace(
        source="lock",
        rocm=plan.image.rocm or locked.image.rocm,
        gfx=plan.image.gfx or locked.image.gfx,
        ids=locked.image.names,
        places=_places(locked, wished),
    )
    reasons = tuple(
        one._replace(why=one.why.replace(f"named by {FILE}", f"from {FILE}", 1)) if one.choice == "image" else one
        for one in plan.reasons
    )
    return plan._replace(image=image, reasons=reasons)


def _places(locked: Locked, wished: Profile) -> tuple[str, ...]:
    """The repositories beside the image's own where it can be had: the settings' mirrors, then what the lock names."""
    from rocenv.lock.compare import mirrored
    from rocenv.plan.loosen import check_policy

    found = []
    for place in dict.fromkeys((*mirrored(locked.image.reference, wished.mirrors), *locked.image.places)):
        try:
            check_policy(wished, f"{place}@{locked.image.digest}", ())
        except PolicyError:
            continue  # the policy does not allow that registry: it is not asked
        found.append(place)
    return tuple(found)


def _must_be_as_locked(plan: Plan, locked: Locked) -> None:
    was = locked.build.reference if locked.build else None
    if plan.image.base is not None and plan.image.reference != was:
        raise PolicyError(
            f"what `{locked.profile}` builds has drifted from `{FILE}`: {was or 'nothing'} → {plan.image.reference}",
            f"`rocenv lock {locked.profile}` locks what it is now",
        )


def _must_fit(plan: Plan, profile: Profile, host: Host) -> None:
    why = unfit(profile, plan, host)
    if why is not None:
        raise PolicyError(
            f"the image of `{FILE}` for `{profile.name}` is not for this host: {why}",
            f"`rocenv lock --update {profile.name}` on this host locks one that is, `--no-lock` leaves the lock out",
        )
