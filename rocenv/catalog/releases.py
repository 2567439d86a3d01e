"""Which ROCm releases there are, what HIP number each has, and which of them a driver is listed for."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from rocenv.catalog import drivers
from rocenv.catalog.table import load
from rocenv.catalog.versions import PREVIEW, Version

# What a driver's table says of a ROCm release. Unknown is no refusal: it is said, and the user decides.
LISTED, OUTSIDE, UNKNOWN = "listed", "outside", "unknown"


class Release(NamedTuple):
    """One ROCm release. `gfx` are the targets that its lists hold, empty where no list was read."""

    version: Version
    date: str
    hip: Version
    driver: str | None
    gfx: tuple[str, ...]
    gfx_source: str | None
    note: str | None
    hip_build: str | None = None  # the last number of its HIP, which several releases may share
    source: str = ""


class DriverSeries(NamedTuple):
    """A series of AMD's driver releases (30.30) with the ROCm minor releases that AMD names with it."""

    name: str
    rocm: tuple[Version, ...]
    backward_known: bool  # False where nothing was read about releases older than the first of `rocm`
    source: str
    by: str  # how it was told: `release 30.30.4`, or `module 6.16.13`
    instinct: tuple[Version, ...] = ()  # of `rocm` those that AMD names for Instinct alone
    exact: bool = True  # False for a driver between two series: `rocm` is then what either of them is listed for

    def verdict(self, rocm: Version) -> str:
        """LISTED, OUTSIDE, or UNKNOWN where the table is older than the release or says nothing of older ones."""
        if any(rocm.within(minor) for minor in self.rocm):
            return LISTED if self.exact else UNKNOWN
        if rocm > max(self.rocm):
            return OUTSIDE if self._superseded else UNKNOWN
        if rocm.stream == PREVIEW:
            return UNKNOWN  # the tables are of production releases
        if rocm < min(self.rocm) and not self.backward_known:
            return UNKNOWN
        return OUTSIDE

    @property
    def _superseded(self) -> bool:
        """True where AMD published later tables that could have named a newer ROCm with this driver, and did not."""
        return max(self.rocm) < _newest_listed()

    def for_instinct(self, rocm: Version) -> bool:
        """True where AMD names a release with this driver for Instinct alone."""
        return any(rocm.within(minor) for minor in self.instinct)

    @property
    def newest(self) -> Version:
        """The newest series that the driver can be of."""
        return Version.parse(self.name.rpartition(" ")[2])

    @property
    def span(self) -> str:
        """The listed releases for people: `6.3, 6.4, 7.0`."""
        return ", ".join(map(str, self.rocm))


@cache
def releases() -> tuple[Release, ...]:
    """Every release that the catalog knows, in the catalog's order."""
    return tuple(_release(row) for row in load("releases")["releases"])


def release(version: Version) -> Release | None:
    """One release; 10.0 finds 10.0.0. None where the catalog does not know it."""
    return _by_version().get(version)


@cache
def _by_version() -> dict[Version, Release]:
    return {one.version: one for one in releases()}


def newest() -> Release:
    """The newest production release that the catalog knows."""
    return max(releases(), key=lambda one: one.version.rank)


def hip_of(rocm: Version) -> Version:
    """What HIP calls itself in a ROCm release: the same number up to 7.14, another one from 10.0 on.

    For a release that the catalog does not know, the one of the nearest earlier release.
    """
    earlier = [row for row in load("releases")["releases"] if "hip" in row and Version.parse(row["version"]) <= rocm]
    if not earlier:
        return Version(rocm.minor, None, f"{rocm.minor[0]}.{rocm.minor[1]}")
    return Version.parse(max(earlier, key=lambda row: Version.parse(row["version"]))["hip"])


def rocm_of_hip(hip: Version) -> tuple[Version, ...]:
    """The ROCm releases whose HIP has this number; empty where none is known.

    The build tells them apart as far as it can: 7.1.25424 is 7.1.0, 7.2.53211 one of 7.2.1 to 7.2.4. 7.15 is 10.0.0.
    """
    minor = [one for one in releases() if hip.within(one.hip) or one.hip.within(hip)]
    build = str(hip.numbers[2]) if len(hip.numbers) > 2 else None  # noqa: PLR2004
    exact = [one for one in minor if build is not None and one.hip_build == build]
    return tuple(one.version for one in exact or minor)


def driver_series(release_text: str | None, module: str | None) -> DriverSeries | None:
    """The series of an amdgpu driver: by AMD's release number where it is known, else by the module's version.

    None for a driver that came with the kernel (it has no number in AMD's tables) and for one that no table holds.
    """
    exact = release_text if release_text and release_text.count(".") > 1 else None
    by_module = f"module {module}" if module else f"release {release_text}"
    for text, by in ((exact, f"release {exact}"), (release_text, by_module), (_series_of_module(module), by_module)):
        found = None if text is None else _series(text, by)
        if found is not None:
            return found
    return _between(module) if module else None


def _between(module: str) -> DriverSeries | None:
    """A driver of a series that no table holds, older than one that a table holds: what that may be listed for."""
    older, newer = drivers.around(".".join(module.split(".")[:3]))
    found = [one for one in (older and _series(older, ""), newer and _series(newer, "")) if one]
    if newer is None or not found:
        return None
    name = f"between {older} and {newer}" if older else f"before {newer}"
    rocm = tuple(sorted({minor for one in found for minor in one.rocm}))
    known = older is not None and all(one.backward_known for one in found)
    return DriverSeries(name, rocm, known, found[-1].source, f"module {module}", exact=False)


def _series_of_module(module: str | None) -> str | None:
    return None if module is None else drivers.series_of(".".join(module.split(".")[:3]))


def _series(text: str, by: str) -> DriverSeries | None:
    try:
        name = "{}.{}".format(*Version.parse(text).minor)
    except ValueError:
        return None
    row = next((row for row in load("releases")["drivers"] if row["series"] == name), None)
    if row is None:
        return None
    known = row.get("backward") != "unknown"
    return DriverSeries(name, _versions(row["rocm"]), known, row["source"], by, _versions(row.get("instinct", [])))


@cache
def _newest_listed() -> Version:
    """The newest ROCm that any driver is listed for."""
    return max(minor for row in load("releases")["drivers"] for minor in _versions(row["rocm"]))


def _versions(texts: list[str]) -> tuple[Version, ...]:
    return tuple(Version.parse(text) for text in texts)


def _release(row: dict[str, Any]) -> Release:
    version = Version.parse(row["version"])
    return Release(
        version=version,
        date=row["date"],
        hip=Version.parse(row["hip"]) if "hip" in row else Version.parse(".".join(map(str, version.minor))),
        driver=row.get("driver"),
        gfx=tuple(row.get("gfx", ())),
        gfx_source=row.get("gfx_source"),
        note=row.get("note"),
        hip_build=row.get("hip_build"),
        source=row["source"],
    )
