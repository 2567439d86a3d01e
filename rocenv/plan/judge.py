"""One image before it is pulled: what speaks for it, what is not known, and the fact that refuses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rocenv.catalog import gpus as catalog
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.releases import LISTED, OUTSIDE, DriverSeries
from rocenv.catalog.versions import PREVIEW, Constraint, Version
from rocenv.errors import UsageError
from rocenv.model.wish import ImageWish

PREVIEWS = 'is a preview; a profile that wants it names it (`rocm: "7.13"`)'


@dataclass(frozen=True, slots=True)
class Demand:
    """What an image must satisfy: the targets of all chosen GPUs, the driver, and the profile's constraints."""

    targets: tuple[str, ...]
    gpus: bool  # False where no GPU is given, and so no driver is asked
    driver: DriverSeries | None
    driver_name: str
    rocm: Constraint | None = None
    others: Mapping[str, Constraint] = field(default_factory=dict)  # python, ubuntu, and frameworks by name


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of an image; `kind` of a refusal is wish, target or driver."""

    image: CatalogImage
    speaks_for: tuple[str, ...]
    unknown: tuple[str, ...]
    refusal: str | None = None
    kind: str | None = None
    sure: bool = False  # code for every target is in it, or can be built in it, by lists that were verified


def demand(
    wish: ImageWish, targets: Sequence[str], driver: DriverSeries | None, driver_name: str, *, gpus: bool
) -> Demand:
    """The demand of a profile on a host. Raises UsageError for a constraint that is none."""
    others = {"python": wish.python, "ubuntu": wish.ubuntu, **wish.framework}
    return Demand(
        targets=tuple(dict.fromkeys(targets)),
        gpus=gpus,
        driver=driver,
        driver_name=driver_name,
        rocm=_constraint("rocm", wish.rocm) if wish.rocm else None,
        others={name: _constraint(name, text) for name, text in others.items() if text},
    )


def judge(image: CatalogImage, wanted: Demand) -> Verdict:
    """The verdict on an image: the first fact that refuses it, or what speaks for it and what is unknown."""
    refusal = _against_wish(image, wanted)
    if refusal:
        return Verdict(image, (), (), refusal, "wish")
    pro: list[str] = []
    unknown: list[str] = []
    for gfx in wanted.targets:
        refusal = _target(image, gfx, pro, unknown)
        if refusal:
            return Verdict(image, tuple(pro), tuple(unknown), refusal, "target")
    sure = not unknown and (image.compiler or image.gfx_verified)
    refusal = _driver(image, wanted, pro, unknown)
    if refusal:
        return Verdict(image, tuple(pro), tuple(unknown), refusal, "driver")
    if image.moving:
        unknown.append(f"the tag `{image.reference.tag}` moves: what is in it today may differ tomorrow")
    if image.doubtful:
        unknown.append("whether this tag exists is doubtful")
    return Verdict(image, tuple(pro), tuple(unknown), sure=sure)


def _constraint(name: str, text: str) -> Constraint:
    try:
        return Constraint.parse(text)
    except ValueError as error:
        raise UsageError(
            f"`image.{name}` is `{text}`, which is no constraint: {error}", 'write it like ">=7.0,<10"'
        ) from error


def _against_wish(image: CatalogImage, wanted: Demand) -> str | None:
    if wanted.rocm and image.rocm and not wanted.rocm.allows(image.rocm):
        return f"ROCm {image.rocm} is not {wanted.rocm.text}"
    if wanted.rocm and image.rocm is None:
        return f"its ROCm is unknown, and {wanted.rocm.text} is wanted"
    if image.rocm and image.rocm.stream == PREVIEW and not (wanted.rocm and wanted.rocm.names(image.rocm)):
        return f"ROCm {image.rocm} {PREVIEWS}"
    facts = {"python": image.python, "ubuntu": image.ubuntu, **image.frameworks}
    for name, constraint in wanted.others.items():
        value = facts.get(name)
        if value is None:
            return f"its {name} is unknown, and {constraint.text} is wanted"
        if not constraint.allows(Version.parse(value)):
            return f"{name} {value} is not {constraint.text}"
    return None


def _target(image: CatalogImage, gfx: str, pro: list[str], unknown: list[str]) -> str | None:
    """Whether an image serves a target: a refusal, or a line more in one of the lists."""
    if image.compiler:
        _compiled(image, gfx, pro, unknown)
        return None
    carried = image.carries(gfx)
    if carried is None:
        unknown.append(f"whether it holds code for {gfx} is unknown")
    elif not carried:
        unverified = "" if image.gfx_verified else "; unverified list"
        return f"no code for {gfx} in it (it has {', '.join(image.gfx or ())}{unverified})"
    elif image.gfx_verified:
        pro.append(f"holds code for {gfx}")
    else:
        pro.append(f"holds code for {gfx} by an unverified list")
    return None


def _compiled(image: CatalogImage, gfx: str, pro: list[str], unknown: list[str]) -> None:
    """An image with hipcc is refused for no target: AMD's lists tell what its release is sure to know."""
    target = catalog.target(gfx)
    since = _version(target.official_since) if target else None
    if target is None or target.official_since is None:
        unknown.append(f"AMD's lists never held {gfx}: hipcc may build for it, the libraries may lack it")
    elif target.official_until:
        unknown.append(f"AMD's lists held {gfx} up to ROCm {target.official_until}: the libraries may lack it")
    elif since and image.rocm and image.rocm < since:
        unknown.append(f"AMD's lists hold {gfx} from ROCm {since} on: whether {image.rocm} knows it is unknown")
    elif image.rocm is not None:
        pro.append(f"hipcc in it builds for {gfx}")


def _driver(image: CatalogImage, wanted: Demand, pro: list[str], unknown: list[str]) -> str | None:
    if not wanted.gpus:
        return None
    if image.rocm is None:
        unknown.append("its ROCm release is unknown, and so whether the driver fits it")
        return None
    if wanted.driver is None:
        unknown.append(
            f"{wanted.driver_name} stands in no table of AMD's: whether it fits ROCm {image.rocm} is unknown"
        )
        return None
    verdict = wanted.driver.verdict(image.rocm)
    if verdict == OUTSIDE:
        return f"{wanted.driver_name} goes with ROCm {wanted.driver.span}, not with {image.rocm}"
    if verdict == LISTED:
        pro.append(f"{wanted.driver_name} is listed for ROCm {image.rocm}")
    else:
        unknown.append(f"the table of {wanted.driver_name} says nothing of ROCm {image.rocm}")
    return None


def _version(text: str | None) -> Version | None:
    try:
        return Version.parse(text) if text else None
    except ValueError:
        return None
