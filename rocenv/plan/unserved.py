"""When no image fits: why, told by the fact that refuses them, and the way that is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocenv.catalog import images
from rocenv.errors import ImageError
from rocenv.model.host import Gpu
from rocenv.model.wish import Profile
from rocenv.plan import override
from rocenv.plan.judge import Demand, Verdict


def no_image(
    profile: Profile,
    gpus: Sequence[Gpu],
    counted: Mapping[int, str | None],
    wanted: Demand,
    verdicts: Sequence[Verdict],
) -> ImageError:
    """The error for a family of which no known image fits."""
    family = f"`{profile.image.family}`"
    asked = [one for one in verdicts if one.kind != "wish"]
    if not asked:
        reasons = list(dict.fromkeys(one.refusal for one in verdicts if one.refusal))
        shown = "; ".join(filter(None, reasons[:4]))
        return ImageError(
            f"no image of {family} is what the profile wants: {shown}",
            f"`rocenv profiles show {profile.name} --origin` tells where each constraint comes from",
        )
    serving = {gfx: [one for one in asked if _serves(one, gfx)] for gfx in wanted.targets}
    lacking = [gfx for gfx, found in serving.items() if not found]
    if lacking:
        return _lacking(profile, gpus, counted, lacking, [gfx for gfx in serving if gfx not in lacking])
    if all(one.kind == "target" for one in asked):
        named = ", ".join(serving)
        return ImageError(
            f"no image of {family} serves {named} together, though each of them alone is served",
            f"choose GPUs of one kind: `--gpus {next(iter(serving))}`",
        )
    held = [one for one in asked if one.kind == "driver"]
    newest = held[0].image
    targets = ", ".join(wanted.targets)
    return ImageError(
        f"no image of {family} with code for {targets} fits the driver: {held[0].refusal}",
        f"update the amdgpu driver; or try one all the same: `--image {newest.reference.familiar}`",
    )


def _serves(one: Verdict, gfx: str) -> bool:
    if one.image.compiler:
        return one.kind != "target"
    return one.image.carries(gfx) is not False


def _lacking(
    profile: Profile, gpus: Sequence[Gpu], counted: Mapping[int, str | None], lacking: list[str], served: list[str]
) -> ImageError:
    """Targets for which no image of the family has code: another selection, an override, a community build, or no."""
    names = ", ".join(f"{gfx} ({gpu.name})" for gfx in lacking for gpu in gpus if counted[gpu.index] == gfx)
    names = ", ".join(dict.fromkeys(names.split(", ")))
    message = f"no image of `{profile.image.family}` that the catalog knows holds code for {names}"
    if served:
        return ImageError(message, f"choose the GPUs that are served: `--gpus {','.join(served)}`")
    for gfx in lacking:
        instead = next(images.instead_of(profile.image.family or "", gfx), None)
        if instead is not None:
            return ImageError(
                message, f"a community build for {gfx}, not AMD's: `--image {instead.reference.familiar}`"
            )
        known = override.known(gfx)
        if known is not None and len(lacking) == 1:
            value, works, why = known
            return ImageError(message, f"at your own risk, `-e {override.NAME}={value}` (works: {works}; {why})")
    return ImageError(message, "`--image REF` takes any image as named; `--cpu` runs without a GPU, on purpose")
