"""Whether data has the shape that it should: the first place where it has not, in words. No schema language beneath."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_UNLIKE = " is expected"  # how a failure ends that is about the kind of a value
_NAMES = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
    type(None): "null",
}


class Record(NamedTuple):
    """A mapping with keys of its own."""

    needed: Mapping[str, Any]
    other: Mapping[str, Any] = {}


class Each(NamedTuple):
    """A mapping whose keys are names; every value has the one shape."""

    shape: Any
    key: re.Pattern[str] = re.compile(r"[^\x00-\x1f]{1,100}")


class Misshapen(ValueError):  # noqa: N818 - it names what is wrong with the data
    """What is wrong, and where: `families.rocm/pytorch.tags[3]`."""


def check(value: Any, shape: Any, where: str = "") -> None:
    """Raise Misshapen where `value` is not of `shape`.

    A shape is a type; a pattern, for a text; `[shape]`, a list of such; a tuple of shapes, of which one must do;
    Record; Each; or a function that raises ValueError.
    """
    match shape:
        case type():
            _is(value, shape, where)
        case re.Pattern():
            _is(value, str, where)
            if shape.fullmatch(value) is None:
                raise Misshapen(f"{_at(where)}`{value[:60]}` is not written as it should be")
        case list():
            _is(value, list, where)
            for place, one in enumerate(value):
                check(one, shape[0], f"{where}[{place}]")
        case Record():
            _record(value, shape, where)
        case Each():
            _is(value, dict, where)
            for key, one in value.items():
                check(key, shape.key, where)
                check(one, shape.shape, _below(where, key))
        case tuple():
            _one_of(value, shape, where)
        case _:
            _asked(value, shape, where)


def _is(value: Any, wanted: type, where: str) -> None:
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        said = _NAMES.get(type(value), "something else")
        raise Misshapen(f"{_at(where)}{said}, where {_NAMES[wanted]}{_UNLIKE}")


def _record(value: Any, shape: Record, where: str) -> None:
    _is(value, dict, where)
    for key, one in value.items():
        if key not in shape.needed and key not in shape.other:
            known = ", ".join([*shape.needed, *shape.other])
            raise Misshapen(f"{_at(where)}there is no key `{key[:60]}`; there are {known}")
        check(one, shape.needed.get(key) or shape.other[key], _below(where, key))
    for key in shape.needed:
        if key not in value:
            raise Misshapen(f"{_at(where)}the key `{key}` is missing")


def _one_of(value: Any, shapes: tuple[Any, ...], where: str) -> None:
    """The failure told is that of the shape of the value's own kind, else the last shape's: the fullest stands last."""
    told: Misshapen | None = None
    for shape in shapes:
        try:
            return check(value, shape, where)
        except Misshapen as error:
            told = error if told is None or _UNLIKE in str(told) else told
    raise told or Misshapen(f"{_at(where)}nothing fits here")


def _asked(value: Any, ask: Callable[[Any], object], where: str) -> None:
    try:
        ask(value)
    except ValueError as error:
        raise Misshapen(f"{_at(where)}{error}") from error


def _at(where: str) -> str:
    return f"`{where}`: " if where else ""


def _below(where: str, key: str) -> str:
    return f"{where}.{key[:60]}" if where else key[:60]
