"""ROCm for a bare system: of the releases that have packages there, the newest that fits the GPUs and their driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rocenv.catalog import distributions, releases, wheels
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.versions import Constraint
from rocenv.errors import UsageError
from rocenv.rules.fit import Demand, Verdict, judge

if TYPE_CHECKING:
    from rocenv.catalog.references import Reference
    from rocenv.catalog.versions import Version
    from rocenv.model.wish import Profile


class Release(NamedTuple):
    """The release to install, with what speaks for it; where none fits the newest, with what refuses it."""

    rocm: Version
    verdict: Verdict
    passed_over: Sequence[Verdict] = ()  # newer ones that do not fit


def release(profile: Profile, reference: Reference, wanted: Demand) -> Release | None:
    """The release for a profile that builds on a bare system; None for other profiles, and where there is none at all.

    Raises UsageError for a system that there is not.
    """
    template = profile.build.template or ""
    if template == wheels.TEMPLATE:
        return _newest(profile, reference, wanted, _allowed(profile.image.rocm, wheels.available()))
    if template not in distributions.FROM_SYSTEM:
        return None
    of = distributions.system(profile.build.os) if profile.build.os else distributions.system_of(reference.familiar)
    there = _allowed(profile.image.rocm, distributions.available(of, template)) if of else []
    return _newest(profile, reference, wanted, there)


def _newest(profile: Profile, reference: Reference, wanted: Demand, there: Sequence[Version]) -> Release | None:
    verdicts = [judge(_as_image(profile, reference, version), wanted) for version in reversed(there)]
    at = next((place for place, one in enumerate(verdicts) if one.refusal is None), None)
    if not verdicts:
        return None  # the recipe tells what there is instead
    chosen = verdicts[at or 0]
    if chosen.image.rocm is None:
        return None
    return Release(chosen.image.rocm, chosen, verdicts[:at] if at else ())


def _allowed(wanted: str | None, there: Sequence[Version]) -> list[Version]:
    try:
        constraint = Constraint.parse(wanted or ">0")
    except ValueError as error:
        raise UsageError(
            f"`image.rocm`: {str(wanted)[:60]!a} names no releases", "write it like `>=7.0,<10`"
        ) from error
    return [version for version in there if constraint.allows(version)]


def _as_image(profile: Profile, reference: Reference, rocm: Version) -> CatalogImage:
    """The image that would come of it, as the catalog would describe it."""
    known = releases.release(rocm)
    listed = known.gfx if known else ()
    return CatalogImage(
        family="", reference=reference, rocm=rocm, ubuntu=None, python=None, frameworks={}, flavor=None,
        gfx=listed or None, gfx_verified=bool(listed), gfx_source=known.gfx_source if known else None,
        compiler=bool({"hip-sdk", "all"} & set(profile.build.components)), user="root", python_path=None,
        entrypoint=None, moving=False,
    )  # fmt: skip
