"""YAML and JSON of a table read as what they say, or refused: nothing is bent, nothing blows up.

Refused, each with its place: a key twice, a key that is no text, a version without quotes (7.10 would become 7.1),
`yes` or `no` for text, a key without a value (a comma in the text before it), aliases, tags, and too deep a nest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from rocenv.errors import UsageError

_DEEPEST, _MOST = 12, 200_000
_HINT = "put it in quotes, or name it once"


def from_yaml(data: bytes, name: str, *, own: bool = False) -> Any:
    """What a YAML file says, as plain data; `name` is what messages call it. Raises UsageError with the line.

    `own`: a table of rocenv itself, which may have aliases.
    """
    import yaml

    loader = _loader()(data)
    loader.name = name
    try:
        if not own:
            _inspect(yaml, data, name)
        return loader.get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UsageError(f"`{name}` cannot be read: {reason}", "mend the YAML there") from error
    finally:
        loader.dispose()


def from_json(data: bytes, name: str) -> Any:
    """What a JSON file says, as plain data. Raises UsageError with the place."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = next(key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1)
            raise UsageError(f"`{name}`: the key `{twice[:60]}` stands there twice", "keep one of the two")
        return found

    def whole(text: str) -> Any:
        raise UsageError(f"`{name}`: `{text[:60]}` is no whole number", _HINT)

    try:
        return json.loads(data, object_pairs_hook=unique, parse_float=whole, parse_constant=whole)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"`{name}` is no JSON: {error}", "mend it there") from error


def _inspect(yaml: Any, data: bytes, name: str) -> None:
    """Refuse by its events alone what would grow when it is put together."""
    depth = 0
    for count, event in enumerate(yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
        line = f"`{name}` line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(f"{line}: a table has no aliases (`*{event.anchor}`)", "write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise UsageError(f"{line}: this is nested too deeply", "write it flatter")
        if count > _MOST:
            raise UsageError(f"{line}: this is more than any table holds", "make it smaller")


@cache
def _loader() -> Callable[[bytes], Any]:
    """YAML's loader with the constructors that refuse; made when the first YAML is read."""
    import datetime as dt

    import yaml

    class Strict(yaml.SafeLoader):
        """YAML that becomes JSON without loss, or is refused."""

        name: str

        def refuse(self, node: yaml.Node, what: str) -> UsageError:
            return UsageError(f"`{self.name}` line {node.start_mark.line + 1}: {what}", _HINT)

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

    Strict.add_constructor("tag:yaml.org,2002:map", Strict.mapping)
    Strict.add_constructor("tag:yaml.org,2002:bool", Strict.boolean)
    Strict.add_constructor("tag:yaml.org,2002:float", Strict.number)
    Strict.add_constructor("tag:yaml.org,2002:timestamp", Strict.date)
    return Strict
