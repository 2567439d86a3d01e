"""Releases of AMD's amdgpu driver, told from the versions that packages, DKMS and the module print."""

from __future__ import annotations

import re

from rocenv.catalog.table import load


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
