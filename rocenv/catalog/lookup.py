"""Whatever a name means to the catalog: a GPU, a target, a release, a driver, a family, an image, a hazard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from rocenv.catalog import drivers, entries, gpus, images
from rocenv.catalog.entries import Entry
from rocenv.catalog.references import Reference
from rocenv.catalog.table import load
from rocenv.catalog.versions import Version

_GFX = re.compile(r"gfx[0-9a-z-]+", re.IGNORECASE)
_PCI = re.compile(r"(?:(?:0x)?1002[:,])?(?:0x)?([0-9a-f]{4})", re.IGNORECASE)
_BRAND = re.compile(r"\b(amd|radeon|instinct|graphics|rx|pro|ai|ryzen|gpu|series|tm)\b|[\s()™®+_-]+")
_VERSION = re.compile(r"(?:rocm|hip|amdgpu|driver)?[\s-]*v?([0-9]+(?:\.[0-9]+)+[0-9A-Za-z.+-]*)", re.IGNORECASE)
_HIP_BUILD = 1000  # the third number of a HIP version is larger than this, of a release never
_TELLING = 4  # letters of a word that tell a name in which they stand


class Product(NamedTuple):
    """One name on a box: of a PCI device and revision, or of a processor (device None)."""

    name: str
    gfx: str
    device: str | None
    revision: str | None


def found(name: str) -> list[Entry]:
    """All that the catalog says of a name, the nearest meaning first; empty where it knows none."""
    word = name.strip()
    for meaning in (_hazards, _target, _versions, _image, _family, _pci, _products):
        entries_ = list(meaning(word))
        if entries_:
            return entries_
    return []


def nearest(name: str) -> list[str]:
    """Names that the catalog does know: those first that begin with this one, then those that look like it."""
    import difflib

    known: dict[str, str] = {word.lower(): word for word in _words()}
    short: dict[str, str] = {}
    for word in known:
        short.setdefault(_bare(word), word)
        short.setdefault(word.rpartition("/")[2], word)
    wanted, bare = name.strip().lower(), _bare(name)
    if not wanted:
        return []
    begun = [word for one, word in short.items() if one.startswith(bare)]
    close = difflib.get_close_matches(wanted, known, n=3, cutoff=0.6)
    close += [short[one] for one in difflib.get_close_matches(bare, short, n=3, cutoff=0.75)]
    within = [word for word in known if len(wanted) >= _TELLING and wanted in word]
    return [known[word] for word in dict.fromkeys([*begun, *close, *within])][:3]


def _words() -> Iterator[str]:
    yield from gpus.targets()
    yield from load("gpus")["generic"]
    yield from load("gpus")["therock_families"]
    yield from load("images")["families"]
    yield from (row["version"] for row in load("releases")["releases"])
    yield from (row["release"] for row in load("drivers")["releases"])
    yield from (row["id"] for row in load("hazards")["hazards"])
    yield from (one.name for one in products())
    yield from ("hazards", "rules", "indexes")


def products() -> Iterator[Product]:
    """Every name on a box that the catalog holds."""
    table = load("gpus")
    for device, facts in table["devices"].items():
        for revision, name in facts.get("names", {}).items():
            yield Product(name, facts["gfx"], device, revision)
    for gfx, names in table.get("listed", {}).get("processors", {}).items():
        for name in names:
            yield from (Product(one, gfx, None, None) for one in _spelled(name))
    yield from (Product(name, gfx, None, None) for name, gfx in entries.boards_listed())


def _spelled(name: str) -> list[str]:
    """`Ryzen AI 9 HX 475/470` as the processors that it stands for."""
    front, _, numbers = name.rpartition(" ")
    return [f"{front} {number}" for number in numbers.split("/")]


@cache
def _by_bare_name() -> dict[str, list[Product]]:
    found: dict[str, list[Product]] = {}
    for one in products():
        found.setdefault(_bare(one.name), []).append(one)
    return found


def _bare(name: str) -> str:
    """A product's name without what is said of all of them: `AMD Radeon RX 7900 XTX` is 7900xtx."""
    return _BRAND.sub("", name.lower()) or name.strip().lower()


def _products(word: str) -> Iterator[Entry]:
    if not word:
        return
    met = _by_bare_name().get(_bare(word), [])
    if not met:
        code = word.strip().lower()
        met = [
            Product(facts["code_name"], facts["gfx"], device, None)
            for device, facts in load("gpus")["devices"].items()
            if code in [part.strip().lower() for part in re.split(r"[/(),]", facts["code_name"])]
        ]
    listed = [one for one in met if not one.device]
    devices = [one for one in met if one.device]
    yield from (entries.device(str(one.device), one.revision, listed=bool(listed)) for one in devices)
    yield from (entries.product(one.name, one.gfx) for one in listed if not devices)
    yield from (entries.target(gfx) for gfx in dict.fromkeys(one.gfx for one in met))


def _pci(word: str) -> Iterator[Entry]:
    match = _PCI.fullmatch(word)
    device = match.group(1).lower() if match else ""
    facts = load("gpus")["devices"].get(device)
    if facts:
        yield entries.device(device, None)
        yield entries.target(facts["gfx"])


def _target(word: str) -> Iterator[Entry]:
    table, wanted = load("gpus"), word.lower().partition(":")[0]  # gfx90a:sramecc+:xnack- is gfx90a
    if not _GFX.fullmatch(wanted):
        return
    if wanted in table["targets"]:
        yield entries.target(wanted)
    families = {name.lower(): (name, members) for name, members in table["therock_families"].items()}
    if wanted in table["generic"]:
        yield entries.generic(wanted)
    elif wanted in families:
        yield entries.package_family(*families[wanted])


def _versions(word: str) -> Iterator[Entry]:
    """A ROCm release (or all of a minor one), a driver's release, series or package version, or a version of HIP."""
    match = _VERSION.fullmatch(word)
    try:
        version = Version.parse(match.group(1)) if match else None
    except ValueError:
        version = None
    if version is None or match is None:
        return
    if len(version.numbers) > 2 and version.numbers[2] > _HIP_BUILD:  # noqa: PLR2004
        yield from entries.of_hip(version)
    told = drivers.release_of(match.group(1))
    exact = [row for row in load("releases")["releases"] if Version.parse(row["version"]) == version]
    minor = [row for row in load("releases")["releases"] if Version.parse(row["version"]).within(version)]
    yield from (entries.release(row) for row in exact or minor)
    for row in load("drivers")["releases"]:
        number = Version.parse(row["release"])
        if number.within(version) or row["release"] == told or (row.get("module") == match.group(1)):
            yield entries.driver(row)


def _image(word: str) -> Iterator[Entry]:
    """An image by its reference, where it names a tag or a digest."""
    if ":" not in word.rpartition("/")[2]:
        return
    try:
        known = images.describe(Reference.parse(word))
    except ValueError:
        return
    if known is not None:
        yield entries.image(known)


def _family(word: str) -> Iterator[Entry]:
    """A family by its own name, by a repository's, or by the last part of either."""
    table: Mapping[str, Mapping[str, Any]] = load("images")["families"]
    wanted = word.lower().removeprefix("docker.io/")
    tests: tuple[Callable[[str], bool], ...] = (
        lambda name: name == wanted,
        lambda name: wanted in table[name]["repositories"],
        lambda name: wanted == name.rpartition("/")[2],
    )
    for test in tests:
        met = [name for name in table if test(name)]
        if met:
            yield from (entries.family(name) for name in met)
            return


def _hazards(word: str) -> Iterator[Entry]:
    rows = load("hazards")["hazards"]
    wanted = word.lower()
    if wanted in ("hazard", "hazards"):
        yield from (entries.hazard(row) for row in rows)
    elif wanted in ("rules", "rule", "indexes", "index"):
        if wanted.startswith("rule"):
            yield from entries.general("support", ("rules", "systems", "conflicts"))
            yield from entries.general("images", ("notes",))
        else:
            yield from entries.general("support", ("indexes",))
            yield from entries.general("images", ("build",))
    else:
        yield from (entries.hazard(row) for row in rows if row["id"] == wanted)
