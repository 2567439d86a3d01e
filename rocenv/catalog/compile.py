"""Compile the tables that people edit (`*.yaml`) to the JSON that is read: `python -m rocenv.catalog.compile`.

What YAML would quietly bend is refused, with its line: a key twice, a key that is no text, a version without quotes
(7.10 would become 7.1), `yes` or `no` for text, and a key without a value (a comma in the text before it).
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path

import yaml

from rocenv.catalog.table import COMPILED, FOLDER
from rocenv.errors import UsageError


class _Strict(yaml.SafeLoader):
    """YAML that becomes JSON without loss, or is refused."""

    def refuse(self, node: yaml.Node, what: str) -> UsageError:
        mark = node.start_mark
        return UsageError(f"`{mark.name}` line {mark.line + 1}: {what}", "put it in quotes, or name it once")

    def mapping(self, node: yaml.MappingNode) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise self.refuse(key_node, f"the key {key!r} is no text")
            if key in found:
                raise self.refuse(key_node, f"the key `{key}` stands here twice")
            if isinstance(value_node, yaml.ScalarNode) and value_node.value == "" and value_node.style is None:
                raise self.refuse(key_node, f"the key `{key}` has no value")
            found[key] = self.construct_object(value_node, deep=True)
        return found

    def boolean(self, node: yaml.ScalarNode) -> bool:
        if node.value not in ("true", "false"):
            raise self.refuse(node, f"`{node.value}` would be read as a truth value")
        return bool(node.value == "true")

    def number(self, node: yaml.ScalarNode) -> object:
        raise self.refuse(node, f"`{node.value}` would be read as a number with a fraction")

    def date(self, node: yaml.ScalarNode) -> str:
        return dt.date.fromisoformat(node.value).isoformat()


_Strict.add_constructor("tag:yaml.org,2002:map", _Strict.mapping)
_Strict.add_constructor("tag:yaml.org,2002:bool", _Strict.boolean)
_Strict.add_constructor("tag:yaml.org,2002:float", _Strict.number)
_Strict.add_constructor("tag:yaml.org,2002:timestamp", _Strict.date)


def compiled(source: Path) -> str:
    """The JSON text of one table: the same bytes for the same YAML, keys in the order of the YAML.

    Raises UsageError with the line where the YAML is broken or would be read as something else than it says.
    """
    with source.open("rb") as stream:
        loader = _Strict(stream)
        try:
            data = loader.get_single_data()
        except (yaml.YAMLError, ValueError) as error:
            raise UsageError(f"`{source}` cannot be read: {error}", "mend the YAML there") from error
        finally:
            loader.dispose()
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
    COMPILED.mkdir(exist_ok=True)
    for path in set(COMPILED.glob("*.json")) - set(texts):
        path.unlink()
        print(f"removed {path}")  # noqa: T201
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")  # noqa: T201


if __name__ == "__main__":
    try:
        main()
    except UsageError as error:
        sys.exit(f"error: {error.message}\n\nhint: {error.hint}")
