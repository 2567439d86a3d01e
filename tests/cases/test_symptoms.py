"""What people saw leads the doctor to what it was: each case's error text points to a check that it expects."""

from __future__ import annotations

import pytest
from cases.test_reports import BY_ID

from rocenv.checks.symptoms import pointed

# Cases whose "error" is no text that anything printed.
WORDLESS = {
    "rootless-07": "it works by one way and not by the other",
    "engine-09": "another tool's own words, of either machine",
    "image-10": "nothing happens",
    "driver-16": "a question",
}


def expected(name: str) -> set[str]:
    """The checks that a case expects to find something."""
    expect = BY_ID[name]["repro"]["expect"]
    checks = expect.get("checks", {}) if isinstance(expect, dict) else {}
    return {check for check, verdict in checks.items() if verdict in ("fail", "warn")}


@pytest.mark.parametrize("name", [name for name in BY_ID if expected(name) and name not in WORDLESS])
def test_an_error_text_points_to_its_check(name: str) -> None:
    error = str(BY_ID[name]["error"])
    assert expected(name) & set(pointed(error)), error
