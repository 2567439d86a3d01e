"""What the catalog knows of a family, against a host: every image judged as a plan would judge it, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocenv.catalog import images
from rocenv.catalog.images import CatalogImage, Family
from rocenv.catalog.references import Reference
from rocenv.errors import HostError
from rocenv.model.host import Gpu, Host
from rocenv.model.wish import ImageWish, Profile
from rocenv.plan import wsl
from rocenv.plan.select import select
from rocenv.report.images import GONE, NEW, THERE, Item, Shelf
from rocenv.rules import override
from rocenv.rules.fit import Demand, Verdict, demand, judge
from rocenv.rules.rank import rank

_WINDOWS = "on WSL2 Windows passes the GPUs on, and does not tell their targets"


def shelf(
    family: Family, host: Host, profile: Profile | None = None, told: Mapping[str, Sequence[str] | str] | None = None
) -> Shelf:
    """A family's images for the GPUs that a container is given on a host, by a profile's wish where there is one.

    `told`: by repository the tags that its registry has, or why it did not answer. What the catalog lacks of those is
    read by the family's grammar; what is of another build is left out. Raises UsageError as a plan does.
    """
    gpus, unjudged = _gpus(profile, host)
    wish = profile.image if profile else ImageWish(family.name)
    counted, _ = override.targets(gpus, host, profile.env if profile else {})
    wanted = demand(wish, [gfx for gfx in counted.values() if gfx], host, gpus=bool(gpus))
    known = images.known(family.name)
    everything = (*known, *_new(family, known, told or {}))
    items = sorted(
        ((_verdict(one, None if unjudged else wanted), _remote(one, told)) for one in everything),
        key=lambda found: (found[0].refusal is None, found[1] != GONE, rank(found[0])),
        reverse=True,
    )
    return Shelf(
        family,
        profile.name if profile else None,
        tuple((gpu.name, gpu.gfx) for gpu in gpus),
        wanted.driver_name if gpus else None,
        unjudged,
        tuple(_item(verdict, remote, judged=unjudged is None) for verdict, remote in items),
        {name: said if isinstance(said, str) else None for name, said in (told or {}).items()},
        _stand_ins(family, wanted.targets) if all(verdict.refusal for verdict, _ in items) else (),
    )


def _stand_ins(family: Family, targets: Sequence[str]) -> tuple[str, ...]:
    found = (one.family for gfx in targets for one in images.instead_of(family.name, gfx))
    return tuple(dict.fromkeys(found))


def _gpus(profile: Profile | None, host: Host) -> tuple[tuple[Gpu, ...], str | None]:
    """The GPUs that are chosen without a word, and why nothing is judged where there are none."""
    words = profile.gpus if profile else "auto"
    if wsl.applies(host):
        return (), _WINDOWS
    try:
        return select(words, host, rootless=False).gpus, None
    except HostError as error:
        return (), error.message


def _new(family: Family, known: Sequence[CatalogImage], told: Mapping[str, Sequence[str] | str]) -> list[CatalogImage]:
    listed = {(one.reference.repository, one.reference.tag) for one in known}
    found = (
        images.describe(Reference(family.registry, repository, tag, None))
        for repository, tags in told.items()
        for tag in (() if isinstance(tags, str) else tags)
        if (repository, tag) not in listed
    )
    return [one for one in found if one is not None and one.family == family.name]


def _remote(image: CatalogImage, told: Mapping[str, Sequence[str] | str] | None) -> str | None:
    tags = (told or {}).get(image.reference.repository)
    if tags is None or isinstance(tags, str):
        return None
    if not image.listed:
        return NEW
    return THERE if image.reference.tag in tags else GONE


def _verdict(image: CatalogImage, wanted: Demand | None) -> Verdict:
    return Verdict(image) if wanted is None else judge(image, wanted)


def _item(one: Verdict, remote: str | None, *, judged: bool) -> Item:
    if not judged:
        return Item(one.image, None, remote=remote)
    against = (*one.hazards, *one.unknown)
    return Item(one.image, one.refusal is None, one.refusal, one.speaks_for, against, remote)
