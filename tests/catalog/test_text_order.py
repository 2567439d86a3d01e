"""Nowhere in rocenv is a version put in order as text, where 10.0 comes before 7.2 and 7.14 before 7.9."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import rocenv

PACKAGE = Path(rocenv.__file__).parent
SUSPECT = re.compile(r"version|release|rocm|driver|series|kernel|tag(s|ged)?\b", re.IGNORECASE)
# What these say holds Versions already: a release's ROCm in the table of drivers, a version that was parsed.
VERSIONS = re.compile(r"\b(self|series|driver)\.rocm\)|Version\.parse|\bminor for\b")


def picks(path: Path) -> list[str]:
    """Every choice of a first or last out of what is called a version or the like, without a key of its own."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        call = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        first = call.func.id in ("max", "min") and len(call.args) == 1
        if not first and not (call.func.id == "sorted" and isinstance(node, ast.Subscript)):
            continue
        text = ast.unparse(call)
        if not any(word.arg == "key" for word in call.keywords) and SUSPECT.search(text):
            found += [] if VERSIONS.search(text) else [text]
    return found


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "probes" not in path.parts]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_version_is_picked_by_its_text(path: Path) -> None:
    assert picks(path) == [], "compare Versions (rocenv/catalog/versions.py)"


def test_a_text_order_would_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(
        "newest = max(versions)\nlast = sorted(image.tags)[-1]\nfor one in sorted(tags): show(one)\nmax(a, rocm)\n"
        "max(tags, key=by)\nmax(self.rocm)\nmin(Version.parse(one) for one in releases)\n"
    )
    assert picks(path) == ["max(versions)", "sorted(image.tags)"]
