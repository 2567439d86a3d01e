"""What the catalog holds of a family, or of all, for people and for programs; what fits a host is marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rocenv.catalog.images import CatalogImage, Family
from rocenv.report.text import size, table

THERE, NEW, GONE = "there", "new", "gone"  # what a registry says of a tag, against the catalog
_SHOWN = 40
_WIDE = 90  # characters of a reason that a line may hold


class Item(NamedTuple):
    """One image; `fits` is None where nothing was judged, `remote` None where its registry was not asked."""

    image: CatalogImage
    fits: bool | None
    why: str | None = None  # the fact that refuses it
    speaks_for: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    remote: str | None = None


class Shelf(NamedTuple):
    """A family's images, the best first. `unjudged` says why none is marked as fitting, where that is so."""

    family: Family
    profile: str | None
    gpus: tuple[tuple[str, str | None], ...]  # name and target of each
    driver: str | None
    unjudged: str | None
    items: tuple[Item, ...]
    remote: Mapping[str, str | None] = {}  # by repository that was asked: None, or why it did not answer
    stand_ins: tuple[str, ...] = ()  # where nothing fits: families with code for these GPUs in place of this one

    @property
    def fitting(self) -> int:
        """How many fit."""
        return sum(item.fits is True for item in self.items)


def shelf_json(shelf: Shelf, catalog: Mapping[str, Any]) -> dict[str, Any]:
    """One family as plain data, version 1. `catalog`: its date, and where it comes from."""
    family = shelf.family
    return {
        "version": 1,
        "status": "ok",
        "catalog": dict(catalog),
        "family": {
            "name": family.name,
            "summary": family.summary,
            "kind": family.kind,
            "community": family.community,
            "repositories": [f"{family.registry}/{name}" for name in family.repositories],
            "other_builds": family.cuda,
            "superseded_by": family.superseded_by,
            "note": family.note,
        },
        "profile": shelf.profile,
        "stand_ins": list(shelf.stand_ins),
        **_judged_json(shelf),
        "remote": [{"repository": name, "error": fault} for name, fault in shelf.remote.items()],
        "images": [_item_json(item) for item in shelf.items],
    }


def shelf_text(shelf: Shelf, *, everything: bool = False) -> str:
    """One family for people: what fits first, and of what does not the fact that refuses it."""
    family = shelf.family
    lines = [f"{family.name}: {family.summary}"]
    lines += [f"note: {note}" for note in (family.note, family.cuda) if note]
    lines += [f"superseded by {family.superseded_by}"] if family.superseded_by else []
    lines.append(_for_whom(shelf))
    shown = shelf.items if everything else shelf.items[:_SHOWN]
    parts = ["\n".join(lines), _rows(shown, remote=bool(shelf.remote))]
    if len(shown) < len(shelf.items):
        parts.append(f"and {len(shelf.items) - len(shown)} more (`--all` shows each)")
    if not shelf.unjudged and not shelf.fitting:
        parts.append(_nothing_fits(shelf))
    return "\n\n".join(parts)


def _nothing_fits(shelf: Shelf) -> str:
    others = ", ".join(f"`rocenv images {name}`" for name in shelf.stand_ins)
    left = f"`rocenv explain {shelf.profile}` tells what is left" if shelf.profile else ""
    return "; ".join(filter(None, ["none of them fits", others and f"made for these GPUs: {others}", left]))


def overview_json(shelves: Sequence[Shelf], catalog: Mapping[str, Any]) -> dict[str, Any]:
    """All families as plain data, version 1."""
    judged = _judged_json(shelves[0]) if shelves else {}
    return {
        "version": 1,
        "status": "ok",
        "catalog": dict(catalog),
        **judged,
        "families": [
            {
                "name": one.family.name,
                "kind": one.family.kind,
                "summary": one.family.summary,
                "community": one.family.community,
                "superseded_by": one.family.superseded_by,
                "images": len(one.items),
                "fitting": None if one.unjudged else one.fitting,
                "best": next((item.image.reference.familiar for item in one.items if item.fits), None),
            }
            for one in shelves
        ],
    }


def overview_text(shelves: Sequence[Shelf]) -> str:
    """One line for each family."""
    rows = [
        [one.family.name, one.family.kind, str(len(one.items)), _count(one), _newest(one), one.family.summary]
        for one in shelves
    ]
    heading = _for_whom(shelves[0]) if shelves else ""
    return f"{heading}\n\n" + table(["family", "kind", "images", "fit", "newest ROCm", "what it is"], rows)


def _count(shelf: Shelf) -> str:
    return "-" if shelf.unjudged else str(shelf.fitting) if shelf.fitting else "none"


def _newest(shelf: Shelf) -> str:
    known = [item.image.rocm for item in shelf.items if item.image.rocm is not None and not item.image.doubtful]
    return str(max(known, key=lambda one: one)) if known else "-"


def _for_whom(shelf: Shelf) -> str:
    if shelf.unjudged:
        return f"what fits is not marked: {shelf.unjudged}"
    kinds: dict[tuple[str, str | None], int] = {}
    for one in shelf.gpus:
        kinds[one] = kinds.get(one, 0) + 1
    gpus = ", ".join(f"{count} × {name} ({gfx or 'target unknown'})" for (name, gfx), count in kinds.items())
    wish = f" and the profile `{shelf.profile}`" if shelf.profile else ""
    return f"for {gpus or 'no GPU'}{f', {shelf.driver}' if gpus and shelf.driver else ''}{wish}"


def _rows(items: Sequence[Item], *, remote: bool) -> str:
    headers = [
        "fit",
        *(["registry"] if remote else []),
        "image",
        "ROCm",
        "system",
        "Python",
        "holds",
        "size",
        "because",
    ]
    rows = [
        [
            {True: "yes", False: "no", None: "-"}[item.fits],
            *([item.remote or "?"] if remote else []),
            item.image.reference.familiar,
            str(item.image.rocm or "?"),
            system(item.image) or "?",
            item.image.python or "?",
            ", ".join(f"{name} {value}" for name, value in item.image.frameworks.items()) or "-",
            size(item.image.size_bytes),
            _because(item),
        ]
        for item in items
    ]
    return table(headers, rows)


def _because(item: Item) -> str:
    said = item.why or "; ".join(item.against)
    return said if len(said) <= _WIDE else said[: _WIDE - 1] + "…"


def system(image: CatalogImage) -> str | None:
    """The operating system in an image, as far as it is known."""
    return image.os or (f"Ubuntu {image.ubuntu}" if image.ubuntu else None)


def _judged_json(shelf: Shelf) -> dict[str, Any]:
    return {
        "gpus": [{"name": name, "gfx": gfx} for name, gfx in shelf.gpus],
        "driver": shelf.driver,
        "not_judged": shelf.unjudged,
    }


def image_json(image: CatalogImage) -> dict[str, Any]:
    """All that is known of an image, each with where it was read."""
    return {
        "reference": image.reference.familiar,
        "family": image.family,
        "rocm": str(image.rocm) if image.rocm else None,
        "system": system(image),
        "python": image.python,
        "python_path": image.python_path,
        "frameworks": dict(image.frameworks),
        "flavor": image.flavor,
        "target": image.target,
        "release": image.release,
        "gfx": None if image.gfx is None else list(image.gfx),
        "gfx_verified": image.gfx_verified,
        "gfx_seen": list(image.gfx_seen),
        "gfx_source": image.gfx_source,
        "compiler": image.compiler,
        "only": image.only,
        "user": image.user,
        "workdir": image.workdir,
        "entrypoint": image.entrypoint,
        "command": image.command,
        "env": dict(image.env),
        "port": image.port,
        "volume": image.volume,
        "base": image.base,
        "driver": image.driver,
        "size_bytes": image.size_bytes,
        "size_note": image.size_note,
        "digest_begins": image.digest,
        "pushed": image.pushed,
        "moving": image.moving,
        "listed": image.listed,
        "doubtful": image.doubtful,
        "quirks": list(image.quirks),
        "unverified": list(image.unverified),
        "sources": dict(image.sources),
    }


def _item_json(item: Item) -> dict[str, Any]:
    return {
        **image_json(item.image),
        "fits": item.fits,
        "why": item.why,
        "for": list(item.speaks_for),
        "against": list(item.against),
        "registry": item.remote,
    }
