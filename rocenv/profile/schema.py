"""The JSON Schema of profiles and `rocenv.yaml`, for editors: made from the table that checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocenv.profile.keys import ENVIRONMENTS, KEYS, NAME, PROJECT_KEYS, Key, children


def json_schema() -> dict[str, Any]:
    """The schema as plain data (draft 07, which editors know best). Every value may be null, which unsets it."""
    profile = _object({**KEYS}, "")
    whole = _object({**KEYS, **PROJECT_KEYS}, "")
    whole["properties"][ENVIRONMENTS] = {
        "description": "environments of this project, each a profile of its own",
        "type": ["object", "null"],
        "propertyNames": {"pattern": f"^{NAME}$"},
        "additionalProperties": {"oneOf": [{"$ref": "#/definitions/profile"}, {"type": "null"}]},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "rocenv",
        "description": "rocenv.yaml of a project, or a profile of rocenv",
        "definitions": {"profile": profile},
        **whole,
    }


def _object(keys: Mapping[str, Key], parent: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name in children(keys, parent):
        path = f"{parent}.{name}" if parent else name
        properties[name] = _value(keys[path]) if path in keys else {**_object(keys, path), "type": ["object", "null"]}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _value(key: Key) -> dict[str, Any]:
    base: dict[str, Any] = {"description": key.summary}
    if key.kind == "flag":
        return {**base, "type": ["boolean", "null"]}
    if key.kind == "list":
        return {**base, "type": ["array", "null"], "items": _text(key)}
    if key.kind == "table":
        item = {"type": "array", "items": {"type": "string"}} if key.of_lists else _text(key)
        names = {"propertyNames": {"pattern": f"^{key.names}$"}} if key.names else {}
        return {
            **base,
            "type": ["object", "null"],
            **names,
            "additionalProperties": {"anyOf": [item, {"type": "null"}]},
        }
    return {**base, "anyOf": [_text(key), {"type": "null"}]}


def _text(key: Key) -> dict[str, Any]:
    """A text; an editor may take `3.12` or `yes` for something else, which rocenv reads as the text that it is."""
    if key.choices:
        return {"type": "string", "enum": list(key.choices)}
    if key.pattern:
        return {"type": ["string", "number"], "pattern": f"^(?:{key.pattern})$"}
    return {"type": ["string", "number", "boolean"]}
