"""Which image: every one that the catalog knows of a family, judged, ranked, the best taken and the others refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocenv.catalog import images, releases
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.references import Reference
from rocenv.catalog.versions import PREVIEW, Version
from rocenv.errors import ImageError, UsageError
from rocenv.model.host import Gpu, Host
from rocenv.model.plan import ImageChoice, Reason, Refusal
from rocenv.model.wish import Profile
from rocenv.plan.judge import Demand, Verdict, demand, judge
from rocenv.plan.unserved import Unserved
from rocenv.rules import override

_SURE = 3  # the place in a rank of how sure it is that an image serves the GPUs; its release comes next
_AMD64 = frozenset({"x86_64", "amd64", None})


@dataclass(frozen=True, slots=True)
class Choice:
    """The image taken, what is known of it (None for an image that no family describes), and the others."""

    image: ImageChoice
    known: CatalogImage | None
    reasons: tuple[Reason, ...]
    refused: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()


def choose(profile: Profile, gpus: Sequence[Gpu], host: Host, *, windows: bool = False) -> Choice:
    """The image for a profile on these GPUs; `windows` where those are given that WSL2 passes on, whatever they are.

    Raises ImageError where none fits, with the fact that refuses them, and UsageError for a malformed reference.
    """
    counted, warnings = override.targets(gpus, host, profile.env)
    series = releases.driver_series(host.driver.release, host.driver.version)
    targets = [gfx for gfx in counted.values() if gfx]
    wanted = demand(profile.image, targets, series, _driver_name(host, series), gpus=bool(gpus) or windows)
    warnings += tuple(f"the target of GPU {index} is unknown" for index, gfx in counted.items() if gfx is None)
    if gpus and any(gpu.kind == "apu" and gpu.gfx != "gfx942" for gpu in gpus) and host.driver.origin == "dkms":
        warnings += ("AMD supports Ryzen APUs with the kernel's own driver alone, and this host runs the DKMS driver",)
    if profile.image.reference is not None:
        return _given(profile, profile.image.reference, wanted, warnings)
    if host.machine not in _AMD64:
        raise ImageError(f"ROCm's images are for amd64 alone, and this host is {host.machine}", "use an x86_64 host")
    return _best(profile, gpus, counted, wanted, warnings)


def _best(
    profile: Profile, gpus: Sequence[Gpu], counted: Mapping[int, str | None], wanted: Demand, warnings: tuple[str, ...]
) -> Choice:
    name = profile.image.family or ""
    family = images.family(name)
    if family is None:
        raise UsageError(
            f"`{profile.origins.get('image.family')}`: the catalog has no image family `{name}`",
            f"families: {', '.join(one.name for one in images.families())}",
        )
    verdicts = sorted((judge(image, wanted) for image in images.known(name)), key=_rank, reverse=True)
    fitting = [one for one in verdicts if one.refusal is None]
    if not fitting:
        raise Unserved(profile, gpus, counted, wanted, verdicts).error()
    best, *others = fitting
    image = best.image
    refused = [
        *(Refusal(other.image.reference.familiar, f"fits too, but {_behind(best, other)}") for other in others),
        *(Refusal(one.image.reference.familiar, one.refusal) for one in verdicts if one.refusal is not None),
    ]
    known = f"the best of {len(fitting)} that fit, out of {len(verdicts)} that the catalog knows of {name}"
    why = "; ".join([known, *best.speaks_for])
    choice = ImageChoice(image.reference.familiar, "catalog", None, *_facts(image))
    reasons = (Reason("image", choice.reference, why), *(Reason("image", "not known", one) for one in best.unknown))
    return Choice(choice, image, reasons, tuple(refused), warnings)


def _given(profile: Profile, text: str, wanted: Demand, warnings: tuple[str, ...]) -> Choice:
    """An image that the user names is taken; what speaks against it is said."""
    origin = profile.origins.get("image.reference", "")
    try:
        reference = Reference.parse(text)
    except ValueError as error:
        raise UsageError(f"`{origin}`: {error}", "write it like `rocm/pytorch:TAG`") from error
    source = "flag" if origin == "--image" else "profile"
    image = images.describe(reference)
    if image is None:
        unknown = (
            "no family of the catalog describes it: its ROCm, its gfx targets and whether the driver fits are unknown"
        )
        named = (Reason("image", reference.familiar, f"named by {origin}"), Reason("image", "not known", unknown))
        return Choice(ImageChoice(reference.familiar, source, reference.digest), None, named, (), warnings)
    verdict = judge(image, wanted)
    if verdict.refusal is not None:
        warnings += (f"`{reference.familiar}` is taken as named, though {verdict.refusal}",)
        if profile.strict and verdict.kind != "wish":
            raise ImageError(
                f"`{reference.familiar}` does not fit: {verdict.refusal}", f"leave `{origin}` away to have one chosen"
            )
    why = "; ".join([f"named by {origin}", *verdict.speaks_for])
    choice = ImageChoice(reference.familiar, source, reference.digest, *_facts(image))
    reasons = (Reason("image", choice.reference, why), *(Reason("image", "not known", one) for one in verdict.unknown))
    return Choice(choice, image, reasons, (), warnings)


def _facts(image: CatalogImage) -> tuple[str | None, tuple[str, ...], int | None]:
    return (str(image.rocm) if image.rocm else None), image.gfx or (), image.size_bytes


def _driver_name(host: Host, series: releases.DriverSeries | None) -> str:
    if host.environment == "wsl2":
        return "Windows' driver"
    if series is not None:
        return f"driver {series.name} ({series.by})"
    if host.driver.origin == "dkms":
        return f"the driver with module version {host.driver.version}"
    return f"the kernel's own driver ({host.kernel})"


def _rank(one: Verdict) -> tuple[object, ...]:
    """What makes an image better than another that fits as well, most important first."""
    image = one.image
    nothing = Version((0,))
    return (
        not image.doubtful,
        not image.moving,
        image.rocm is not None and image.rocm.stream != PREVIEW,
        one.sure,
        image.rocm or nothing,
        tuple(Version.parse(value) for _, value in sorted(image.frameworks.items())),
        tuple(_preferred(image).values()),
        Version.parse(image.ubuntu) if image.ubuntu else nothing,
        -(image.size_bytes or 0),
    )


def _preferred(image: CatalogImage) -> dict[str, bool]:
    family = images.family(image.family)
    facts = {"python": image.python, "ubuntu": image.ubuntu, "flavor": image.flavor}
    return {name: facts.get(name) == value for name, value in (family.prefer if family else {}).items()}


def _behind(best: Verdict, other: Verdict) -> str:
    """Why an image that fits comes after the best one, in words: the first step of the rank where they differ."""
    first, second = best.image, other.image
    place = next((n for n, (a, b) in enumerate(zip(_rank(best), _rank(other), strict=True)) if a != b), -1)
    if place == _SURE and second.rocm and first.rocm and second.rocm < first.rocm:
        place += 1  # that it is older as well says more to a person
    missing = [name for name, liked in _preferred(second).items() if not liked]
    words = {
        0: "whether its tag exists is doubtful",
        1: f"its tag `{second.reference.tag}` moves",
        2: "it is a preview, or its ROCm is unknown",
        3: "whether it serves these GPUs is less sure",
        4: f"ROCm {second.rocm} is older than {first.rocm}",
        5: " and ".join(
            f"{name} {value} is older than {first.frameworks.get(name)}" for name, value in second.frameworks.items()
        ),
        6: f"its {missing[0] if missing else 'build'} is not the usual one ({_value(second, missing)})",
        7: f"Ubuntu {second.ubuntu} is older than {first.ubuntu}",
    }
    return words.get(place, "it comes later in the catalog")


def _value(image: CatalogImage, missing: list[str]) -> str:
    facts = {"python": image.python, "ubuntu": image.ubuntu, "flavor": image.flavor}
    return (facts.get(missing[0]) or "none") if missing else "none"
