"""Compile the tables that people edit (`*.yaml`) to the JSON that is read: `python -m rocenv.catalog.compile`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from rocenv.catalog.shapes import SHAPES
from rocenv.catalog.sound import check_table
from rocenv.catalog.strict import from_yaml
from rocenv.catalog.table import COMPILED, FOLDER
from rocenv.errors import UsageError


def compiled(source: Path) -> str:
    """The JSON text of one table: the same bytes for the same YAML, keys in the order of the YAML.

    Raises UsageError with the line where the YAML is broken or would be read as something else than it says.
    """
    data = from_yaml(source.read_bytes(), str(source), own=True)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def sources() -> list[Path]:
    """The tables that people edit."""
    return sorted(FOLDER.glob("*.yaml"))


def target(source: Path) -> Path:
    """Where a table's JSON lies."""
    return COMPILED / f"{source.stem}.json"


def main() -> None:
    """Write what has changed, remove what has no YAML any more, and name both."""
    texts = {target(source): compiled(source) for source in sources()}
    for source in (one for one in sources() if one.stem in SHAPES):
        check_table(source.stem, json.loads(texts[target(source)]), str(source))
    COMPILED.mkdir(exist_ok=True)
    for path in set(COMPILED.glob("*.json")) - set(texts):
        path.unlink()
        print(f"removed {path}")  # noqa: T201
    for path, text in texts.items():
        renew(path, text)


def renew(path: Path, text: str) -> None:
    """Write the file if its text has changed, and name it then."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")  # noqa: T201


def run(program: Callable[[], None]) -> None:
    """Run a compiler's `main`; a fault in what people wrote ends it in words."""
    try:
        program()
    except UsageError as error:
        sys.exit(f"error: {error.message}\n\nhint: {error.hint}")


if __name__ == "__main__":
    run(main)
