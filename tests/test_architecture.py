"""The import rule, held: imports point down, never sideways (docs/architecture.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rocenv

PACKAGE = Path(rocenv.__file__).parent
# From the top down. A part imports parts on rows below its own, and itself; nothing on its own row or above.
ROWS: tuple[frozenset[str], ...] = (
    frozenset({"__main__"}),
    frozenset({"cli"}),
    frozenset({"lifecycle"}),
    frozenset({"smoke"}),
    frozenset({"engine"}),
    frozenset({"render", "host", "checks", "plan", "image"}),
    frozenset({"lock"}),
    frozenset({"rules"}),
    frozenset({"profile", "report"}),
    frozenset({"catalog"}),
    frozenset({"process"}),
    frozenset({"model", "errors", "resources", "__init__"}),
)
# What may do no I/O at all: decisions and renderings are pure.
PURE = ("plan", "checks", "image", "lock", "rules", "render", "report", "model")
IMPURE_MODULES = {"os", "io", "socket", "shutil", "tempfile", "pathlib", "sys", "time", "rocenv.process"}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def row_of(part: str) -> int:
    return next(number for number, row in enumerate(ROWS) if part in row)


def sources() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "probes" not in path.parts]


def imports(path: Path) -> set[str]:
    """Full dotted names of all that a module imports, also inside functions, but for the type checker alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = part_of(path)
    for name in imports(path):
        if not name.startswith("rocenv.") or name == "rocenv.__version__":
            continue
        part = name.split(".")[1]
        assert part == own or row_of(part) > row_of(own), f"{own} imports {name}, which stands beside or above it"


@pytest.mark.parametrize("path", [path for path in sources() if part_of(path) in PURE], ids=str)
def test_decisions_do_no_io(path: Path) -> None:
    for name in imports(path):
        top = name if name.startswith("rocenv.") else name.split(".")[0]
        assert top not in IMPURE_MODULES, f"{path.name} imports {name}: decisions and renderings do no I/O"


def test_every_part_has_its_row() -> None:
    for path in sources():
        row_of(part_of(path))
