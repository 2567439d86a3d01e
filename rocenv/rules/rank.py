"""Which of several images that fit is the best, by how many points, and why another comes after it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

from rocenv.catalog import images, releases
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.versions import PREVIEW, Version
from rocenv.model.host import Host
from rocenv.model.wish import ImageWish
from rocenv.rules.fit import DOUBTFUL, Demand, Verdict, demand, judge, moves, on_previews, preview

_NOTHING = Version((0,))
# What each step is worth: more than all below it together, so that points tell the same order as ranks.
EXISTS, STAYS, PRODUCTION, SAFE, SURE, LISTED, NEWEST = 2048, 1024, 512, 256, 128, 64, 63


class Rank(NamedTuple):
    """What makes an image better than another that fits as well, most important first."""

    exists: bool  # nothing makes it doubtful that the tag exists
    stays: bool  # the tag is not made to be moved
    production: bool
    safe: bool  # no hazard is known
    sure: bool  # verified lists say that it serves every target
    listed: bool  # AMD lists the driver for its ROCm
    release: Version  # of the software's own, where its tags bear one
    rocm: Version
    frameworks: tuple[Version, ...]
    here: bool  # on the engine already
    usual: tuple[bool, ...]  # Python, Ubuntu and flavor as the family prefers them
    ubuntu: Version
    size: int  # bytes, negative: the smaller is the better

    @property
    def merit(self) -> tuple[object, ...]:
        """The part that says how well it serves: of images with the same one, that which is here saves a pull."""
        return self[:9]


def rank(one: Verdict, here: Collection[str] = ()) -> Rank:
    """The rank of an image that fits; `here` are the references (as Docker shows them) that the engine has."""
    image = one.image
    return Rank(
        exists=not image.doubtful,
        stays=not image.moving,
        production=not preview(image) and (image.rocm is not None or on_previews(image)),
        safe=not one.hazards,
        sure=one.sure,
        listed=one.listed,
        release=_version(image.release),
        rocm=image.rocm or _NOTHING,
        frameworks=tuple(Version.parse(value) for _, value in sorted(image.frameworks.items())),
        here=image.reference.familiar in here,
        usual=tuple(_usual(image).values()),
        ubuntu=_version(image.ubuntu),
        size=-(image.size_bytes or 0),
    )


def score(one: Verdict) -> int:
    """The rank as points, 4095 at most.

    2048 where nothing makes the tag's existence doubtful, 1024 where it does not move, 512 for a production release,
    256 where no hazard is known, 128 for verified code for every target, 64 where the driver is listed, and up to 63
    for how new it is, one less for each newer release that the catalog knows.
    """
    found = rank(one)
    worth = (EXISTS, STAYS, PRODUCTION, SAFE, SURE, LISTED)
    return sum(points for points, holds in zip(worth, found, strict=False) if holds) + _newness(one.image)


def behind(best: Verdict, other: Verdict, here: Collection[str] = ()) -> str:
    """Why an image that fits comes after the best one, in words: the first step of the rank where they differ."""
    first, second = best.image, other.image
    one, two = rank(best, here), rank(other, here)
    step = next((name for name, a, b in zip(Rank._fields, one, two, strict=True) if a != b), "")
    if step in ("sure", "listed") and second.rocm and first.rocm and second.rocm < first.rocm:
        step = "rocm"  # that it is older as well says more to a person
    missing = [name for name, liked in _usual(second).items() if not liked]
    words = {
        "exists": DOUBTFUL,
        "stays": moves(second),
        "production": "it is a preview, or its ROCm is unknown",
        "safe": f"{next(iter(other.hazards), '')}",
        "sure": "whether it serves these GPUs is less sure",
        "listed": "whether the driver fits it is less sure",
        "release": f"release {second.release} is older than {first.release}",
        "rocm": f"ROCm {second.rocm} is older than {first.rocm}",
        "frameworks": " and ".join(
            f"{name} {value} is older than {first.frameworks.get(name)}"
            for name, value in second.frameworks.items()
            if value != first.frameworks.get(name)
        ),
        "here": f"{first.reference.familiar} serves as well and is here already",
        "usual": f"its {missing[0] if missing else 'build'} is not the usual one ({_value(second, missing)})",
        "ubuntu": f"Ubuntu {second.ubuntu} is older than {first.ubuntu}",
        "size": "it is larger",
    }
    return words.get(step) or "it comes later in the catalog"


def _usual(image: CatalogImage) -> dict[str, bool]:
    family = images.family(image.family)
    facts = {"python": image.python, "ubuntu": image.ubuntu, "flavor": image.flavor}
    return {name: facts.get(name) == value for name, value in (family.prefer if family else {}).items()}


def _value(image: CatalogImage, missing: list[str]) -> str:
    facts = {"python": image.python, "ubuntu": image.ubuntu, "flavor": image.flavor}
    return (facts.get(missing[0]) or "none") if missing else "none"


def _version(text: str | None) -> Version:
    return Version.parse(text) if text else _NOTHING


def _newness(image: CatalogImage) -> int:
    """63 for the newest, one less for each that is newer.

    Counted are the production releases of ROCm (0 where it is unknown), and in a family whose tags bear releases of its
    own those with their ROCm.
    """
    family = images.known(image.family)
    if any(one.release for one in family):
        newer = {_age(one) for one in family if _age(one) > _age(image)}
        return max(NEWEST - len(newer), 0)
    if image.rocm is None:
        return 0
    known = _production()
    return max(NEWEST - (len(known) - bisect_right(known, image.rocm)), 0)


def _age(image: CatalogImage) -> tuple[Version, Version]:
    return _version(image.release), image.rocm or _NOTHING


@cache
def _production() -> list[Version]:
    return sorted(one.version for one in releases.releases() if one.version.stream != PREVIEW)


def verdict(image: CatalogImage, targets: Sequence[str], host: Host | None) -> Verdict:
    """The verdict on one image for GPUs of these targets; without a host no driver is asked."""
    return judge(image, _demand(image.family, targets, host))


def best(family: str, targets: Sequence[str], host: Host | None) -> Verdict | None:
    """The image of a family that a plan takes for GPUs of these targets, or None; without a host no driver is asked."""
    wanted = _demand(family, targets, host)
    fitting = [one for one in (judge(image, wanted) for image in images.known(family)) if one.refusal is None]
    return max(fitting, key=rank, default=None)


def _demand(family: str, targets: Sequence[str], host: Host | None) -> Demand:
    if host is None:
        return Demand(tuple(dict.fromkeys(targets)), gpus=False, driver=None, driver_name="")
    return demand(ImageWish(family), targets, host, gpus=True)
