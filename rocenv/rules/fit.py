"""One image before it is pulled: what speaks for it, what speaks against it or is not known, and what refuses it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rocenv.catalog import gpus as catalog
from rocenv.catalog import hazards, images, releases
from rocenv.catalog.hazards import ImageHazard
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.releases import LISTED, OUTSIDE, DriverSeries
from rocenv.catalog.versions import CORE_SDK, PREVIEW, Constraint, Version
from rocenv.errors import UsageError
from rocenv.model.host import Gpu, Host
from rocenv.model.wish import ImageWish

DOUBTFUL = "whether this tag exists is doubtful"
AMD64 = frozenset({"x86_64", "amd64", None})
INSTINCT = frozenset({"gfx908", "gfx90a", "gfx942", "gfx950"})  # the targets of AMD's line of that name
_TELLING = ("gfx950", "gfx942")
_RELEASE = re.compile(r"\d+(?:\.\d+)*")


class Demand(NamedTuple):
    """What an image must satisfy: the targets of all chosen GPUs, the driver, and the profile's constraints."""

    targets: tuple[str, ...]
    gpus: bool  # False where no GPU is given, and so no driver is asked
    driver: DriverSeries | None
    driver_name: str
    rocm: Constraint | None = None
    others: Mapping[str, Constraint] = {}  # python, ubuntu, and frameworks by name
    hazards: tuple[ImageHazard, ...] = ()  # of images, that hold for this host and these targets
    machine: str | None = None  # of a host that ROCm's images are not made for


class Verdict(NamedTuple):
    """What is to be said of an image; `kind` of a refusal is machine, wish, target, driver or hazard."""

    image: CatalogImage
    speaks_for: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    refusal: str | None = None
    kind: str | None = None
    sure: bool = False  # code for every target is in it, or can be built in it, by lists that were verified
    listed: bool = False  # the driver is listed for its ROCm, or no driver is asked


def demand(
    wish: ImageWish, targets: Sequence[str], host: Host, *, gpus: bool, driver: DriverSeries | None = None
) -> Demand:
    """The demand of a profile on a host whose GPUs count as `targets`. Raises UsageError for a constraint that is none.

    `driver` is its series, where the caller knows it already.
    """
    series = driver or releases.driver_series(host.driver.release, host.driver.version)
    others = {"python": wish.python, "ubuntu": wish.ubuntu, **wish.framework}
    state = hazards.State(host.kernel, None, host.driver.origin)
    return Demand(
        targets=tuple(dict.fromkeys(targets)),
        gpus=gpus,
        driver=series,
        driver_name=driver_name(host, series),
        rocm=_constraint("rocm", wish.rocm) if wish.rocm else None,
        others={name: _constraint(name, text) for name, text in others.items() if text},
        hazards=hazards.of_images(targets, state) if gpus else (),
        machine=host.machine if host.machine not in AMD64 else None,
    )


def usual(gpus: Sequence[Gpu]) -> Sequence[Gpu]:
    """The GPUs that a container is given unless others are asked for: the discrete ones, or all if there is none."""
    return [gpu for gpu in gpus if gpu.kind == "dgpu"] or gpus


def driver_name(host: Host, series: DriverSeries | None) -> str:
    """A host's driver, as messages call it."""
    if host.environment == "wsl2":
        return "Windows' driver"
    if series is not None:
        return f"{'' if series.exact else 'a '}driver {series.name} ({series.by})"
    if host.driver.origin == "dkms":
        return f"the driver with module version {host.driver.version}"
    return f"the kernel's own driver ({host.kernel})"


def judge(image: CatalogImage, wanted: Demand) -> Verdict:
    """The verdict on an image: the first fact that refuses it, or what speaks for it and what is unknown."""
    if wanted.machine:
        return Verdict(image, refusal=f"it is for amd64 alone, and this host is {wanted.machine}", kind="machine")
    refusal = _against_wish(image, wanted)
    if refusal:
        return Verdict(image, refusal=refusal, kind="wish")
    pro: list[str] = []
    unknown: list[str] = []
    for gfx in wanted.targets:
        refusal = _target(image, gfx, pro, unknown)
        if refusal:
            return Verdict(image, tuple(pro), tuple(unknown), refusal=refusal, kind="target")
    if image.only == "Instinct" and (others := [gfx for gfx in wanted.targets if gfx not in INSTINCT]):
        unknown.append(f"AMD lists it for Instinct alone, and {', '.join(others)} is none")
    sure = not unknown and (image.compiler or all(image.sure_of(gfx) for gfx in wanted.targets))
    refusal, listed = _driver(image, wanted, pro, unknown)
    if refusal:
        return Verdict(image, tuple(pro), tuple(unknown), refusal=refusal, kind="driver")
    met = [one.hazard for one in wanted.hazards if one.holds(image.rocm, image.family)]
    stop = next((one for one in met if one.refuses), None)
    if stop:
        return Verdict(image, tuple(pro), tuple(unknown), refusal=stop.what, kind="hazard")
    if image.moving:
        unknown.append(moves(image))
    if image.doubtful:
        unknown.append(DOUBTFUL)
    against = tuple(one.what for one in met)
    return Verdict(image, tuple(pro), tuple(unknown), against, sure=sure, listed=listed)


def moves(image: CatalogImage) -> str:
    """What is to be said of a tag that is made to be moved."""
    return f"the tag `{image.reference.tag}` moves: what is in it today may differ tomorrow"


def preview(image: CatalogImage) -> bool:
    """True for an image that holds a preview of ROCm, unless its family is built on those."""
    return image.rocm is not None and image.rocm.stream == PREVIEW and not on_previews(image)


def on_previews(image: CatalogImage) -> bool:
    """True for an image of a family whose own releases are built on previews of ROCm: those are no mark against it."""
    family = images.family(image.family)
    return family is not None and family.previews


def least(image: CatalogImage) -> Version | None:
    """The oldest ROCm that an image can hold whose release is unknown; None where nothing tells.

    A tag that moves holds no less than the newest that is known of its repository, a release of the software's own no
    less than those before it, and code for gfx942 and gfx950 is built by no ROCm before those that brought them.
    """
    targets = (catalog.target(gfx) for gfx in _TELLING if image.gfx and gfx in image.gfx)
    found = [since for target in targets if target and (since := _version(target.official_since))]
    same = [one for one in images.known(image.family) if one.reference.repository == image.reference.repository]
    if image.moving:
        found += [one.rocm for one in same if one.rocm]
    elif image.release:
        own = Version.parse(image.release)
        found += [one.rocm for one in same if one.rocm and one.release and Version.parse(one.release) <= own]
    return max(found, default=None)


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
    if preview(image) and not (wanted.rocm and image.rocm and wanted.rocm.names(image.rocm)):
        return f'ROCm {image.rocm} is a preview; a profile that wants it names it (`rocm: "{image.rocm}"`)'
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
        return _compiled(image, gfx, pro, unknown)
    carried = image.carries(gfx)
    if carried is None:
        refusal = _elsewhere(image, gfx) or _unlikely(image.rocm, gfx)
        if refusal is None:
            said = f" (AMD lists it for ROCm {image.rocm})" if image.rocm else ""
            unknown.append(f"whether it holds code for {gfx} is unknown{said}")
        return refusal
    if not carried:
        unverified = "" if image.gfx_verified else "; unverified list"
        return f"no code for {gfx} in it (it has {', '.join(image.gfx or ())}{unverified})"
    if image.sure_of(gfx):
        pro.append(f"holds code for {gfx}")
    else:
        pro.append(f"holds code for {gfx} by an unverified list")
    return None


def _elsewhere(image: CatalogImage, gfx: str) -> str | None:
    """Why an image that AMD lists for one line of GPUs alone is not for another, or None."""
    if image.only != "Instinct" or gfx in INSTINCT:
        return None
    return f"AMD lists it for Instinct alone, and {gfx} is none"


def _unlikely(rocm: Version | None, gfx: str) -> str | None:
    """Why an image whose targets nobody lists is not to be taken for one all the same, or None.

    What stands on none of AMD's lists for its release is not built for, unless somebody says so of the image.
    """
    said = "and nothing says that this image holds code for it"
    release = releases.release(rocm) if rocm else None
    if release is not None and release.gfx and rocm is not None and rocm.stream == CORE_SDK:
        listed = catalog.covered(gfx, release.gfx)
        return None if listed else f"ROCm {rocm} does not list {gfx}, {said}"
    target = catalog.target(gfx)
    if target is None or target.official_since is None:
        return f"AMD's lists never held {gfx}, {said}"
    since = _version(target.official_since)
    if target.official_until and (rocm is None or _over(rocm, target.official_until)):
        return f"AMD's lists held {gfx} up to ROCm {target.official_until}, {said}"
    if since is not None and rocm is not None and rocm < since:
        return f"AMD's lists hold {gfx} from ROCm {since} on, and this is {rocm}"
    return None


def _compiled(image: CatalogImage, gfx: str, pro: list[str], unknown: list[str]) -> str | None:
    """An image with hipcc is refused only what came after it: AMD's lists tell what its release is sure to know."""
    target = catalog.target(gfx)
    since = _version(target.official_since) if target else None
    if gfx in _TELLING and since and image.rocm and image.rocm < since:
        return f"{gfx} came with ROCm {since}, and this is {image.rocm}"
    if image.gfx and image.gfx_verified and image.carries(gfx):
        pro.append(f"hipcc in it builds for {gfx}, and its libraries hold code for it")
    elif target is None or target.official_since is None:
        unknown.append(f"AMD's lists never held {gfx}: hipcc may build for it, the libraries may lack it")
    elif target.official_until:
        unknown.append(f"AMD's lists held {gfx} up to ROCm {target.official_until}: the libraries may lack it")
    elif since and image.rocm and image.rocm < since:
        unknown.append(f"AMD's lists hold {gfx} from ROCm {since} on: whether {image.rocm} knows it is unknown")
    elif image.rocm is not None:
        pro.append(f"hipcc in it builds for {gfx}")
    return None


def _driver(image: CatalogImage, wanted: Demand, pro: list[str], unknown: list[str]) -> tuple[str | None, bool]:
    """A refusal or None, and whether the driver is listed for the image's ROCm."""
    if not wanted.gpus:
        return None, True
    if image.driver and wanted.driver and not Constraint.parse(image.driver).allows(wanted.driver.newest):
        return f"it wants AMD's driver {image.driver}, and this is {wanted.driver_name}", False
    if image.rocm is None:
        oldest = least(image)
        if oldest and wanted.driver and wanted.driver.verdict(oldest) == OUTSIDE and oldest > max(wanted.driver.rocm):
            return f"{wanted.driver_name} goes with ROCm {wanted.driver.span}, and it holds {oldest} or newer", False
        unknown.append("its ROCm release is unknown, and so whether the driver fits it")
        return None, False
    if wanted.driver is None:
        unknown.append(
            f"{wanted.driver_name} stands in no table of AMD's: whether it fits ROCm {image.rocm} is unknown"
        )
        return None, False
    verdict = wanted.driver.verdict(image.rocm)
    if verdict == OUTSIDE:
        return f"{wanted.driver_name} goes with ROCm {wanted.driver.span}, not with {image.rocm}", False
    others = [gfx for gfx in wanted.targets if gfx not in INSTINCT]
    if verdict == LISTED and others and wanted.driver.for_instinct(image.rocm):
        unknown.append(f"AMD lists {wanted.driver_name} with ROCm {image.rocm} for Instinct alone, not {others[0]}")
        return None, False
    if not wanted.driver.exact:
        unknown.append(f"no table holds {wanted.driver_name}: whether it fits ROCm {image.rocm} is unknown")
    elif verdict == LISTED:
        pro.append(f"{wanted.driver_name} is listed for ROCm {image.rocm}")
    else:
        unknown.append(f"the table of {wanted.driver_name} says nothing of ROCm {image.rocm}")
    return None, verdict == LISTED


def _version(text: str | None) -> Version | None:
    """A release of AMD's lists; of `5.x` nobody knows more than the 5."""
    match = _RELEASE.match(text or "")
    return Version.parse(match.group(0)) if match else None


def _over(rocm: Version, until: str | None) -> bool:
    """True for a release after the last that AMD's lists held a target in; `6.x` means any 6."""
    match = _RELEASE.match(until or "")
    if match is None:
        return False
    last = tuple(int(part) for part in match.group(0).split("."))[:2]
    return rocm.minor[: len(last)] > last
