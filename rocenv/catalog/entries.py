"""One thing that the catalog knows, with all that its tables say of it: facts by name, and where each was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rocenv.catalog import gpus, images, releases
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.table import keys, load
from rocenv.catalog.versions import Version

_NAMES_OF_ROWS = ("of", "line", "way", "source")  # what says of a row what it is about, and where it was read


class Entry(NamedTuple):
    """A thing and its facts, in the order in which people want them; `sources`: fact → source, as its table says it."""

    kind: (
        str  # gpu | processor | target | generic target | packages | release | driver | family | image | hazard | rule
    )
    name: str
    table: str
    facts: Mapping[str, Any]
    sources: Mapping[str, str]


def abouts(entry: Entry) -> dict[str, dict[str, Any]]:
    """Each source that an entry leans on: what it is, its date, and whether it is hearsay."""
    known = load(entry.table).get("sources", {})
    named = dict.fromkeys(key for source in entry.sources.values() for key in keys(source))
    return {key: known[key] for key in named if key in known}


def _entry(kind: str, name: str, table: str, facts: Mapping[str, Any], sources: Mapping[str, str]) -> Entry:
    """An entry without the facts that say nothing."""
    said = {key: value for key, value in facts.items() if value not in (None, [], {}, "")}
    return Entry(kind, name, table, said, sources)


def device(pci: str, revision: str | None, *, listed: bool = False) -> Entry:
    """A PCI device, or one product of it where its revision is given; `listed`: AMD lists that as supported."""
    facts = load("gpus")["devices"][pci]
    names, sizes = facts.get("names", {}), facts.get("vram_gib", {})
    vram = {rev: one for rev, one in sizes.items() if revision in (None, rev)}
    said = {
        "pci_id": f"{load('gpus')['vendor']}:{pci}",
        "revision": revision,
        "target": facts["gfx"],
        "code_name": facts["code_name"],
        "line": facts["line"],
        "memory_gib": next(iter(vram.values()))["size"] if revision and vram else None,
        "products": {rev: name for rev, name in names.items() if revision is None},
        "pci_ids": facts.get("pci_ids"),
        "listed": f"supported by ROCm {load('gpus')['listed']['release']}" if listed else None,
    }
    sources = {"device": ", ".join(facts["source"]), **({"listed": "rocm-docs"} if listed else {})}
    sources |= {"memory_gib": next(iter(vram.values()))["source"]} if revision and vram else {}
    return _entry("gpu", names.get(revision or "", facts["code_name"]), "gpus", said, sources)


def product(name: str, gfx: str) -> Entry:
    """A product that AMD lists without a PCI id."""
    said = {"target": gfx, "listed": f"supported by ROCm {load('gpus')['listed']['release']}"}
    return _entry("processor" if "Ryzen" in name else "gpu", name, "gpus", said, {"listed": "rocm-docs"})


def target(gfx: str) -> Entry:
    """A gfx target: what runs on it, since when AMD lists it, what holds code for it, and what breaks it."""
    table = load("gpus")
    facts = table["targets"][gfx]
    official, override = facts["official"] or {}, facts["override"] or {}
    wheels = [row["rocm"] for row in table.get("pytorch_wheels", ()) if gfx in row["gfx"]]
    said = {
        "architecture": facts["arch"],
        "wave": facts["wave"],
        "version": gpus.hip_version(gfx),
        "generic_target": gpus.generic_target(gfx),
        "apu": gpus.is_apu(gfx, ""),
        "official_since": official.get("since"),
        "official_until": official.get("until"),
        "official": None if official else "never",
        "listed_by": [row["version"] for row in load("releases")["releases"] if gfx in row.get("gfx", ())],
        "products": _listed_products(gfx),
        "therock": facts["therock"],
        "therock_family": next((name for name, of in table["therock_families"].items() if gfx in of), None),
        "pytorch_wheels": wheels,
        "override": {key: value for key, value in override.items() if key != "source"},
        "image_families": _families_with(gfx),
        "hazards": [row["id"] for row in load("hazards")["hazards"] if gfx in row.get("targets", ())],
        "note": facts.get("note"),
    }
    sources = {"official": official.get("source", ""), "override": override.get("source", ""), "therock": "therock"}
    return _entry("target", gfx, "gpus", said, {key: source for key, source in sources.items() if source})


def _families_with(gfx: str) -> list[str]:
    """The families of which an image holds code for a target, as far as a list says so."""
    return [one.name for one in images.families() if any(image.carries(gfx) for image in images.known(one.name))]


def _listed_products(gfx: str) -> list[str]:
    listed = load("gpus").get("listed", {})
    boards = [name for name, of in boards_listed() if of == gfx]
    return boards + list(listed.get("processors", {}).get(gfx, ()))


def boards_listed() -> Iterator[tuple[str, str]]:
    """Each board that AMD lists as supported, by its whole name, with its target."""
    for line, names in load("gpus").get("listed", {}).get("gpus", {}).items():
        brand = line.split()[0]  # `Radeon PRO` lists `PRO W7900` and `AI PRO R9700`
        yield from ((f"{brand} {name}", gfx) for name, gfx in names.items())


def generic(name: str) -> Entry:
    """A generic target of LLVM."""
    facts = load("gpus")["generic"][name]
    return _entry("generic target", name, "gpus", {"members": facts["members"]}, {"members": facts["source"]})


def package_family(name: str, members: Sequence[str]) -> Entry:
    """A family of TheRock's packages."""
    return _entry("packages", name, "gpus", {"targets": list(members)}, {"targets": "therock"})


def release(row: Mapping[str, Any]) -> Entry:
    """A ROCm release, with what support.yaml adds."""
    version = Version.parse(row["version"])
    more = _support(row["version"])
    series = [one["series"] for one in load("releases")["drivers"] if _names(one, version)]
    said = {
        "date": row["date"],
        "stream": version.stream,
        "hip": f"{releases.hip_of(version)}{'.' + row['hip_build'] if 'hip_build' in row else ''}",
        "driver": row.get("driver"),
        "drivers_listed": series,
        "targets": row.get("gfx") or more.get("gfx"),
        **{key: value for key, value in more.items() if key not in ("source", "same_as", "gfx", "note")},
        "images": _images_of(version),
        "note": row.get("note") or more.get("note"),
    }
    sources = {"release": row["source"], "hip": row.get("hip_source", ""), "targets": row.get("gfx_source", "")}
    return _entry("release", f"ROCm {row['version']}", "releases", said, _with_support(sources, more))


def _names(series: Mapping[str, Any], version: Version) -> bool:
    return any(version.within(Version.parse(minor)) for minor in series["rocm"])


def _support(version: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = load("support")["releases"]
    found = table.get(version, {})
    return {**table.get(str(found.get("same_as")), {}), **found}


def _with_support(sources: Mapping[str, str], more: Mapping[str, Any]) -> dict[str, str]:
    """The sources of releases.yaml, and those of support.yaml written out, for they are of another table."""
    known = load("support")["sources"]
    named = [key for key in keys(str(more.get("source", ""))) if key in known]
    told = "; ".join(", ".join(str(of) for name, of in known[key].items() if name != "hearsay") for key in named)
    return {key: source for key, source in {**sources, "support": told}.items() if source}


def _images_of(version: Version) -> list[str]:
    return [
        image.reference.familiar
        for one in images.families()
        for image in images.known(one.name)
        if image.rocm == version and not image.doubtful
    ]


def driver(row: Mapping[str, Any]) -> Entry:
    """A release of AMD's driver."""
    series = releases.driver_series(row["release"] if row["release"].count(".") > 1 else f"{row['release']}.0", None)
    said = {
        "module": row.get("module"),
        "build": row.get("build"),
        "came_with": row["rocm"],
        "listed_for": [str(one) for one in series.rocm] if series else None,
        "older_releases": "nothing was read about them" if series and not series.backward_known else None,
    }
    return _entry("driver", f"amdgpu {row['release']}", "drivers", said, {"driver": row["source"]})


def of_hip(version: Version) -> Iterator[Entry]:
    """The ROCm releases whose HIP has this number."""
    met = set(releases.rocm_of_hip(version))
    yield from (release(row) for row in load("releases")["releases"] if Version.parse(row["version"]) in met)


def family(name: str) -> Entry:
    """A family of images, with its grammars, its facts and its tags."""
    table = load("images")["families"][name]
    said = {
        "summary": table["summary"],
        "kind": table["kind"],
        "registry": table.get("registry", "docker.io"),
        "repositories": list(table["repositories"]),
        "by": "the community" if table.get("community") else None,
        "superseded_by": table.get("superseded_by"),
        "stands_in_for": table.get("instead_of"),
        "other_builds": table.get("cuda"),
        "grammars": table["grammars"],
        "moving": table.get("moving"),
        "facts": [_told(rule) for rule in table.get("facts", ())],
        "targets_in_tags": {key: ", ".join(of["gfx"]) for key, of in table.get("targets", {}).items()},
        "images": [
            image.reference.familiar + (" (doubtful)" if image.doubtful else "") for image in images.known(name)
        ],
        "note": table.get("note"),
    }
    named = {f"fact {place}": rule["source"] for place, rule in enumerate(table.get("facts", ()))}
    return _entry("family", name, "images", said, {"tags": table["source"], **named})


def _told(rule: Mapping[str, Any]) -> str:
    """One rule of a family in a line: what it says, when, and where that was read."""
    what = "; ".join(f"{key} {_plain(value)}" for key, value in rule.items() if key not in ("when", "source"))
    when = ", ".join(f"{key} {value}" for key, value in rule.get("when", {}).items())
    return f"{what}{f', where {when}' if when else ''} [{rule['source']}]"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def image(one: CatalogImage) -> Entry:
    """An image, as far as its tag and the catalog tell."""
    said = {
        **{key: value for key, value in one._asdict().items() if key not in ("reference", "sources", "frameworks")},
        "rocm": str(one.rocm) if one.rocm else None,
        **one.frameworks,
        "gfx": list(one.gfx or ()),
        "quirks": list(one.quirks),
        "gfx_seen": list(one.gfx_seen),
    }
    shown = {key: value for key, value in said.items() if value is not False}
    gfx = {"gfx": one.gfx_source} if one.gfx_source else {}
    return _entry("image", one.reference.familiar, "images", shown, {**one.sources, **gfx})


def hazard(row: Mapping[str, Any]) -> Entry:
    """A known hazard."""
    said = {key: value for key, value in row.items() if key not in ("id", "source")}
    return _entry("hazard", row["id"], "hazards", said, {"hazard": row["source"]})


def general(table: str, parts: Sequence[str]) -> Iterator[Entry]:
    """Rules of what goes with what, and where packages come from."""
    for part in parts:
        for row in load(table).get(part, ()):
            said = {key: value for key, value in row.items() if key not in _NAMES_OF_ROWS}
            name = next(row[key] for key in _NAMES_OF_ROWS if key in row)
            yield _entry(part, name, table, said, {next(iter(said)): row["source"]})
