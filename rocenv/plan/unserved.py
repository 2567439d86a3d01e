"""When no image fits: why, told by the fact that refuses them, and the way that is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocenv.catalog import images
from rocenv.catalog.versions import Version
from rocenv.errors import ImageError
from rocenv.model.host import Gpu
from rocenv.model.wish import Profile
from rocenv.plan.judge import Demand, Verdict
from rocenv.rules import override

_KERNELS_OWN = "use the kernel's own driver, as AMD wants for Ryzen APUs (`sudo apt-get remove amdgpu-dkms`, reboot)"


@dataclass(frozen=True, slots=True)
class Unserved:
    """A family of which no image fits: what was wanted, for which GPUs (by index what each counts as), the verdicts."""

    profile: Profile
    gpus: Sequence[Gpu]
    counted: Mapping[int, str | None]
    wanted: Demand
    verdicts: Sequence[Verdict]  # the best image first

    @property
    def family(self) -> str:
        """The family's name in a message."""
        return f"`{self.profile.image.family}`"

    def error(self) -> ImageError:
        """The error that says why, by the first of: the profile's constraints, the targets, the driver."""
        asked = [one for one in self.verdicts if one.kind != "wish"]
        if not asked:
            return self._unwanted()
        serving = {gfx: any(_serves(one, gfx) for one in asked) for gfx in self.wanted.targets}
        lacking = [gfx for gfx, served in serving.items() if not served]
        if lacking:
            return self._lacking(lacking, [gfx for gfx, served in serving.items() if served])
        if all(one.kind == "target" for one in asked):
            return ImageError(
                f"no image of {self.family} serves {', '.join(serving)} together, though each of them alone is served",
                f"choose GPUs of one kind: `--gpus {next(iter(serving))}`",
            )
        return self._outside([one for one in asked if one.kind == "driver"])

    def _unwanted(self) -> ImageError:
        reasons = list(dict.fromkeys(one.refusal for one in self.verdicts if one.refusal))
        return ImageError(
            f"no image of {self.family} is what the profile wants: {'; '.join(reasons[:4])}",
            f"`rocenv profiles show {self.profile.name} --origin` tells where each constraint comes from",
        )

    def _outside(self, held: Sequence[Verdict]) -> ImageError:
        """Images for these targets are there, and the driver is listed for none of them."""
        nearest = self._nearest(held)
        apus = all(gpu.kind == "apu" and gpu.gfx != "gfx942" for gpu in self.gpus)
        newer = _KERNELS_OWN if apus else "update the amdgpu driver"
        driver = self.wanted.driver
        if driver and nearest.image.rocm and nearest.image.rocm < min(driver.rocm):
            newer = f"let the profile take ROCm {min(driver.rocm)} or newer"
        targets = ", ".join(self.wanted.targets)
        return ImageError(
            f"no image of {self.family} with code for {targets} fits the driver: {nearest.refusal}",
            f"{newer}; or try one all the same: `--image {nearest.image.reference.familiar}`",
        )

    def _nearest(self, held: Sequence[Verdict]) -> Verdict:
        """The image whose ROCm is the least outside of what the driver is listed for."""
        newest = max(self.wanted.driver.rocm) if self.wanted.driver else Version((0,))
        above = [one.image.rocm for one in held if one.image.rocm and one.image.rocm > newest]
        return next(one for one in held if not above or one.image.rocm == min(above))

    def _lacking(self, lacking: Sequence[str], served: Sequence[str]) -> ImageError:
        """Targets without code: another selection, a community build, an override at the user's risk, or a clear no."""
        named = dict.fromkeys(
            f"{gfx} ({gpu.name})" for gfx in lacking for gpu in self.gpus if self.counted[gpu.index] == gfx
        )
        message = f"no image of {self.family} that the catalog knows holds code for {', '.join(named)}"
        if served:
            return ImageError(message, f"choose the GPUs that are served: `--gpus {','.join(served)}`")
        for gfx in lacking:
            instead = next(images.instead_of(self.profile.image.family or "", gfx), None)
            if instead is not None:
                reference = instead.reference.familiar
                return ImageError(message, f"a community build for {gfx}, not AMD's: `--image {reference}`")
        way = override.known(lacking[0])
        if way is not None and len(lacking) == 1 and any(one.image.carries(way.gfx) for one in self.verdicts):
            said = f"works {way.works}; {way.why}"
            return ImageError(message, f"at your own risk `-e {override.NAME}={way.value}`: {said}")
        return ImageError(message, "`--image REF` takes any image as named; `--cpu` runs without a GPU, on purpose")


def _serves(one: Verdict, gfx: str) -> bool:
    return one.image.compiler or one.image.carries(gfx) is not False
