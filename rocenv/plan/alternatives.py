"""Where no image serves the chosen GPUs: other selections, images and settings with which one does, never unasked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocenv.catalog import images
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.versions import Version
from rocenv.model.choice import COMMUNITY, OVERRIDE, SELECTION, UNTESTED, Alternative
from rocenv.model.host import Gpu
from rocenv.plan.choose import Weighed, weigh
from rocenv.rules import override
from rocenv.rules.fit import Demand, Verdict, demand, judge
from rocenv.rules.override import Way
from rocenv.rules.rank import rank

KNOWN_TO_WORK = frozenset({"fully", "mostly"})


def alternatives(found: Weighed) -> tuple[Alternative, ...]:
    """Every way that is left, the safest first. Pure; none where the profile's constraints alone refuse all images."""
    asked = [one for one in found.verdicts if one.kind not in ("wish", "machine")]
    if not asked:
        return ()
    return (*_selections(found, asked), *_community(found, asked), *_overrides(found, asked), *_untested(found))


def lacking(found: Weighed, asked: Sequence[Verdict]) -> list[str]:
    """The targets that no image of those asked holds code for, whatever the driver."""
    return [gfx for gfx in found.wanted.targets if not any(serves(one, found, gfx) for one in asked)]


def serves(one: Verdict, found: Weighed, gfx: str) -> bool:
    """True where nothing says that an image has no code for a target; the driver is not asked."""
    return judge(one.image, found.wanted._replace(targets=(gfx,), driver=None, hazards=())).kind != "target"


def nearest(found: Weighed) -> Verdict | None:
    """Of the images that the driver alone refuses the one whose ROCm is the least outside of what it is listed for."""
    held = [one for one in found.verdicts if one.kind == "driver" and not one.image.doubtful]
    if not held:
        return None
    newest = max(found.wanted.driver.rocm) if found.wanted.driver else Version((0,))
    above = [one.image.rocm for one in held if one.image.rocm and one.image.rocm > newest]
    return next(one for one in held if not above or one.image.rocm == min(above))


def words(found: Weighed, gpus: Sequence[Gpu]) -> str:
    """GPUs in the words of `--gpus`: by target where that means the same ones, else by their addresses."""
    kinds = tuple(dict.fromkeys(gpu.gfx for gpu in gpus if gpu.gfx))
    if [gpu for gpu in found.host.gpus if gpu.gfx in kinds] == list(gpus):
        return ",".join(kinds)
    return ",".join(f"{gpu.bdf}/{gpu.partition.index}" if gpu.partition.count > 1 else gpu.bdf for gpu in gpus)


def _selections(found: Weighed, asked: Sequence[Verdict]) -> Iterator[Alternative]:
    """The largest parts of the GPUs that one image serves."""
    kinds = tuple(dict.fromkeys(found.counted.values()))
    if len(kinds) < 2:  # noqa: PLR2004
        return
    served: dict[frozenset[str], Verdict] = {}
    for image in (one.image for one in asked):
        fits = frozenset(gfx for gfx in kinds if gfx and judge(image, _demand(found, (gfx,))).refusal is None)
        verdict = judge(image, _demand(found, tuple(sorted(fits))))
        if fits and (fits not in served or rank(verdict) > rank(served[fits])):
            served[fits] = verdict
    largest = [part for part in served if not any(part < other for other in served)]
    for part in sorted(largest, key=lambda part: (-len(part), sorted(part))):
        gpus = [gpu for gpu in found.gpus if found.counted[gpu.index] in part]
        chosen = words(found, gpus)
        yield Alternative(
            SELECTION,
            chosen,
            served[part].image.reference.familiar,
            f"serves {', '.join(sorted(part))}: GPU {', '.join(str(gpu.index) for gpu in gpus)}",
            f"--gpus {chosen}",
        )


def _community(found: Weighed, asked: Sequence[Verdict]) -> Iterator[Alternative]:
    """For targets that no image of the family serves: builds by others that stand in for it."""
    for gfx in lacking(found, asked):
        gpus = [gpu for gpu in found.gpus if found.counted[gpu.index] == gfx]
        some = len(gpus) < len(found.gpus)
        by_family: dict[str, list[CatalogImage]] = {}
        for image in images.instead_of(found.profile.image.family or "", gfx):
            by_family.setdefault(image.family, []).append(image)
        for them in by_family.values():
            verdicts = [judge(image, _demand(found, (gfx,))) for image in them]
            best = max(verdicts, key=lambda one: (one.refusal is None, rank(one)))
            reference = best.image.reference.familiar
            chosen = words(found, gpus) if some else None
            flags = f"--image {reference}" + (f" --gpus {chosen}" if chosen else "")
            but = f", and {best.refusal}" if best.refusal else ""
            why = f"a community build for {gfx}, not AMD's{but}"
            yield Alternative(COMMUNITY, chosen, reference, why, flags, known_to_work=not best.refusal)


def _overrides(found: Weighed, asked: Sequence[Verdict]) -> Iterator[Alternative]:
    """An override of the target that is known to work, where it makes an image fit."""
    if any(name.startswith(override.NAME) for name in found.profile.env):
        return
    targets = lacking(found, asked) or found.wanted.targets
    ways = {gfx: override.known(gfx) for gfx in targets}
    known = {gfx: way for gfx, way in ways.items() if way is not None}
    if not known or len(known) < len(ways):
        return
    env = {name: way.value for gfx, way in known.items() for name in override.names(gfx, found.gpus, found.host)}
    profile = found.profile._replace(env={**found.profile.env, **env})
    fitting = weigh(profile, found.gpus, found.host).fitting
    if fitting:
        why = "; ".join(_passing(gfx, way) for gfx, way in known.items())
        flags = " ".join(f"-e {name}={value}" for name, value in env.items())
        image = fitting[0].image
        works = all(way.works in KNOWN_TO_WORK and (image.compiler or image.carries(way.gfx)) for way in known.values())
        yield Alternative(OVERRIDE, None, image.reference.familiar, why, flags, env, bool(works))


def _passing(gfx: str, way: Way) -> str:
    return f"{gfx} passes for {way.gfx}, which works {way.works} ({way.why}); AMD does not support it"


def _untested(found: Weighed) -> Iterator[Alternative]:
    one = nearest(found)
    if one is not None:
        why = one.refusal or ""
        if not one.image.driver:  # of AMD's tables that is so, of what the software itself wants nobody says it
            why += "; that often works all the same"
        reference = one.image.reference.familiar
        yield Alternative(UNTESTED, None, reference, why, f"--image {reference}", known_to_work=False)


def _demand(found: Weighed, targets: tuple[str, ...]) -> Demand:
    return demand(found.profile.image, targets, found.host, gpus=True, driver=found.wanted.driver)
