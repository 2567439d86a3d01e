"""Layers of settings: each checked against the key table, flat, and laid one over the other."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rocenv.errors import UsageError
from rocenv.profile.keys import Key, children
from rocenv.profile.tree import Items, Leaf, Node, Table, kind_of

Path = tuple[str, ...]
Value = str | bool | tuple[str, ...] | None
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a layer says of one key; None unsets it and all below it. `origin` names the layer and the place."""

    value: Value
    origin: str


Layer = Mapping[Path, Setting]


def dotted(path: Path) -> str:
    """A path as people write it: `image.rocm`."""
    return ".".join(path)


def checked(table: Table, keys: Mapping[str, Key], label: str = "{}", *, apart: str = "") -> dict[Path, Setting]:
    """The settings in a mapping; `label` is what an origin looks like, with `{}` for file and line.

    `apart` is a key at the top that is read elsewhere.

    Raises UsageError for an unknown key (with the nearest one) and for a value of another type than the key's.
    """
    entries = {name: node for name, node in table.entries.items() if name != apart}
    return dict(_settings(Table(entries, table.places, table.where), (), keys, label))


def laid(layers: Iterable[Layer]) -> dict[Path, Setting]:
    """All layers as one, later ones over earlier: mappings merge, single values and lists replace, null unsets."""
    merged: dict[Path, Setting] = {}
    for layer in layers:
        for path, setting in layer.items():
            if setting.value is None:
                merged = {other: kept for other, kept in merged.items() if other[: len(path)] != path}
            else:
                merged[path] = setting
    return merged


def _settings(table: Table, parent: Path, keys: Mapping[str, Key], label: str) -> Iterator[tuple[Path, Setting]]:
    names = children(keys, dotted(parent))
    for name, node in table.entries.items():
        path = (*parent, name)
        if name not in names:
            raise _unknown(path, table.places.get(name, node.where), names)
        key = keys.get(dotted(path))
        if isinstance(node, Leaf) and node.text is None:
            yield path, Setting(None, label.format(node.where))
        elif key is None or key.kind == "table":
            if not isinstance(node, Table):
                example = key.example if key else f"{name}: {{{children(keys, dotted(path))[0]}: …}}"
                raise _wrong(path, node, "a mapping", example)
            yield from _settings(node, path, keys, label) if key is None else _own(node, path, key, label)
        else:
            yield path, Setting(value_of(node, path, key), label.format(node.where))


def _own(table: Table, parent: Path, key: Key, label: str) -> Iterator[tuple[Path, Setting]]:
    """The settings of a table whose names are the user's own."""
    for name, node in table.entries.items():
        path = (*parent, name)
        if key.names and not re.fullmatch(key.names, name, re.ASCII):
            raise UsageError(
                f"`{table.places.get(name, node.where)}`: `{name}` is no name for `{dotted(parent)}`",
                _like(key.example, node.where),
            )
        if isinstance(node, Leaf) and node.text is None:
            yield path, Setting(None, label.format(node.where))
            continue
        of = Key("list" if key.of_lists else "text", key.summary, key.example, pattern=key.pattern)
        yield path, Setting(value_of(node, path, of), label.format(node.where))


def value_of(node: Node, path: Path, key: Key) -> Value:
    """The value of one key, of its type and form. Raises UsageError where it is of another."""
    if key.kind == "list":
        if not isinstance(node, Items):
            raise _wrong(path, node, "a list", key.example)
        return tuple(_text(one, path, key, "a list of texts") for one in node.items)
    if key.kind == "flag":
        truth = _TRUTH.get((node.text or "").lower()) if isinstance(node, Leaf) else None
        if truth is None:
            raise _wrong(path, node, "true or false", key.example)
        return truth
    return _text(node, path, key, "a single text")


def _text(node: Node, path: Path, key: Key, expected: str) -> str:
    if not isinstance(node, Leaf) or node.text is None:
        raise _wrong(path, node, expected, key.example)
    wrong = "holds a NUL character" if "\0" in node.text else None if _encodes(node.text) else "is no UTF-8 text"
    if wrong is not None:
        raise UsageError(f"`{node.where}`: `{dotted(path)}` {wrong}", _like(key.example, node.where))
    if key.choices and node.text not in key.choices:
        raise _wrong(path, node, " or ".join(f"`{choice}`" for choice in key.choices), key.example, key.choices)
    if key.pattern and not re.fullmatch(key.pattern, node.text, re.ASCII):
        raise UsageError(
            f"`{node.where}`: `{dotted(path)}` is {kind_of(node)}, which is not its form",
            _like(key.example, node.where),
        )
    return node.text


def _wrong(path: Path, node: Node, expected: str, example: str, choices: tuple[str, ...] = ()) -> UsageError:
    close = difflib.get_close_matches(node.text or "", choices, n=1) if isinstance(node, Leaf) else []
    hint = f"did you mean `{close[0]}`?" if close else _like(example, node.where)
    return UsageError(f"`{node.where}`: `{dotted(path)}` is {kind_of(node)}, expected is {expected}", hint)


def _unknown(path: Path, where: str, names: tuple[str, ...]) -> UsageError:
    close = difflib.get_close_matches(path[-1], names, n=1, cutoff=0.5)
    hint = f"did you mean `{dotted((*path[:-1], close[0]))}`?" if close else f"known here: {', '.join(names)}"
    return UsageError(f"`{where}`: there is no key `{dotted(path)}`", hint)


def _like(example: str, where: str) -> str:
    """The form of a value, in the words of the place where it stands: a file, a flag, or a variable."""
    value = re.sub(r"(?<=\w): ", "=", example.partition(": ")[2].strip("[]{}")).replace('"', "")
    if where.startswith("-"):
        return f"write it like `{where} {value}`"
    return f"write it like `{where}={value}`" if where.startswith("ROCENV_") else f"write it like `{example}`"


def _encodes(text: str) -> bool:
    """False for bytes of the command line that are no text: no engine takes them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
