"""Releases of AMD's amdgpu driver, told from the versions that packages, DKMS and the module print."""

from __future__ import annotations

import re

from rocenv.catalog.table import load
from rocenv.catalog.versions import Version


def release_of(version: str) -> str | None:
    """The release that a package's or DKMS's version names: `6.16.13.30300400-2341068.24.04` is 30.30.4.

    DKMS drops the release code (`6.16.13-2341068.24.04`): then the build tells, where the table has it.
    """
    match = re.match(r"\d+\.\d+\.\d+(?:\.(\d{5,8}))?-(\d+)", version)
    if match is None:
        return None
    code, build = match.groups()
    if code:
        return _decoded(code)
    return next((str(row["release"]) for row in load("drivers")["releases"] if row.get("build") == build), None)


def _decoded(code: str) -> str:
    """30300400 → 30.30.4, 60200 → 6.2.0: three numbers of two digits, and in the newer form two digits more."""
    number = int(code)
    if len(code) > 6:  # noqa: PLR2004
        number //= 100
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def series_of(module: str) -> str | None:
    """The series (`30.30`) whose module prints this version: its releases share it, so that no more can be told."""
    rows = [row for row in load("drivers")["releases"] if row.get("module") == module]
    series = {".".join(str(row["release"]).split(".")[:2]) for row in rows}
    return series.pop() if len(series) == 1 else None


def around(module: str) -> tuple[str | None, str | None]:
    """The series whose modules are the next older and the next newer than one that no row has; None where none is.

    Modules are numbered in the order of AMD's releases, so that its driver is of a release between the two.
    """
    try:
        wanted = Version.parse(module)
    except ValueError:
        return None, None
    known = sorted(
        (Version.parse(row["module"]), Version.parse(row["release"]))
        for row in load("drivers")["releases"]
        if "module" in row
    )
    older = [release for number, release in known if number < wanted]
    newer = [release for number, release in known if number > wanted]
    return (_series(older[-1]) if older else None), (_series(newer[0]) if newer else None)


def _series(release: Version) -> str:
    return "{}.{}".format(*release.minor)
