"""When no image fits: why, told by the fact that refuses them, and the way that is left."""

from __future__ import annotations

from collections.abc import Sequence

from rocenv.catalog import gpus as catalog
from rocenv.errors import ImageError
from rocenv.model.choice import COMMUNITY, OVERRIDE, SELECTION, Alternative
from rocenv.plan.alternatives import alternatives, lacking, nearest
from rocenv.plan.choose import Weighed
from rocenv.rules.fit import Verdict

_KERNELS_OWN = "use the kernel's own driver, as AMD wants for Ryzen APUs (`sudo apt-get remove amdgpu-dkms`, reboot)"


def error(found: Weighed) -> ImageError:
    """The error that says why, by the first of: the machine, the constraints, the targets, the driver, a hazard."""
    if found.wanted.machine:
        return ImageError(f"ROCm's images are for amd64 alone, and this host is {found.wanted.machine}", "use x86_64")
    asked = [one for one in found.verdicts if one.kind != "wish"]
    if not asked:
        return _unwanted(found)
    left = alternatives(found)
    missing = lacking(found, asked)
    if missing:
        return _lacking(found, missing, left)
    selection = next((one for one in left if one.kind == SELECTION), None)
    if selection is not None:
        return ImageError(
            f"no image of {_family(found)} serves {', '.join(found.wanted.targets)} together, though each of them "
            "alone is served",
            f"choose GPUs that one serves: `--gpus {selection.gpus}`",
        )
    held = [one for one in asked if one.kind == "driver"]
    if held:
        return _outside(found, left)
    return ImageError(
        f"no image of {_family(found)} can work here: {asked[0].refusal}", "`--image REF` takes any image as named"
    )


def _family(found: Weighed) -> str:
    return f"`{found.profile.image.family}`"


def _unwanted(found: Weighed) -> ImageError:
    reasons = list(dict.fromkeys(one.refusal for one in found.verdicts if one.refusal))
    told = dict.fromkeys(name for one in found.verdicts for name in one.image.frameworks)
    if told and (strange := next((name for name in found.profile.image.framework if name not in told), None)):
        return ImageError(
            f"no image of {_family(found)} tells a version of `{strange}`", f"name {' or '.join(told)} in `framework:`"
        )
    return ImageError(
        f"no image of {_family(found)} is what the profile wants: {'; '.join(reasons[:4])}",
        f"`rocenv profiles show {found.profile.name} --origin` tells where each constraint comes from",
    )


def _outside(found: Weighed, left: Sequence[Alternative]) -> ImageError:
    """Images for these targets are there, and the driver is listed for none of them."""
    one: Verdict = nearest(found) or next(one for one in found.verdicts if one.kind == "driver")
    apus = all(gpu.kind == "apu" and gpu.gfx != "gfx942" for gpu in found.gpus)
    newer = _KERNELS_OWN if apus else "update the amdgpu driver"
    driver = found.wanted.driver
    if driver and one.image.rocm and one.image.rocm < min(driver.rocm):
        newer = f"let the profile take ROCm {min(driver.rocm)} or newer"
    code = f" with code for {', '.join(found.wanted.targets)}" if found.wanted.targets else ""
    other = next((f"; or {_risk(way)}" for way in left if way.kind == OVERRIDE), "")
    return ImageError(
        f"no image of {_family(found)}{code} fits the driver: {one.refusal}",
        f"{newer}; or try one all the same: `--image {one.image.reference.familiar}`{other}",
    )


def _lacking(found: Weighed, missing: Sequence[str], left: Sequence[Alternative]) -> ImageError:
    """Targets without code: another selection, a community build, an override at the user's risk, or a clear no."""
    named = dict.fromkeys(
        f"{gfx} ({gpu.name})" for gfx in missing for gpu in found.gpus if found.counted[gpu.index] == gfx
    )
    message = f"no image of {_family(found)} that the catalog knows holds code for {', '.join(named)}"
    for way in left:
        if way.kind == SELECTION:
            return ImageError(message, f"choose the GPUs that are served: `--gpus {way.gpus}`")
        if way.kind == COMMUNITY:
            return ImageError(message, f"{way.why}: `--image {way.reference}`")
        if way.kind == OVERRIDE:
            return ImageError(message, _risk(way))
    if found.profile.image.family == "rocm/pytorch" and (extra := _wheels(missing)):
        return ImageError(
            f"{message}; AMD's wheels do (`{extra}`)",
            f"`rocenv build {found.profile.name} --template wheels` makes an image of them (not tried on such a GPU)",
        )
    return ImageError(message, "`rocenv images` shows which do fit; `--image REF` takes any as named")


def _risk(way: Alternative) -> str:
    return f"at your own risk `{way.flags}`: {way.why}"


def _wheels(missing: Sequence[str]) -> str:
    """What AMD publishes for a target beside its images, where that is known."""
    released = [gfx for gfx in missing if (target := catalog.target(gfx)) and target.therock == "released"]
    return f"torch[device-{released[0]}]" if released else ""
