"""YAML as plain text with line numbers: what a file says before any key gives it a type.

Scalars stay the text that they are (`3.10` is no number, `no` no truth value), and hostile files get an answer: a
key twice, tags, several documents, too deep, too large, aliases that multiply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from rocenv.errors import UsageError

_LARGEST, _DEEPEST, _MOST = 1 << 20, 12, 10_000
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
Span = tuple[int, int]  # where a node's text starts and ends in the file, in characters


class Leaf(NamedTuple):
    """A scalar: its text, None for null; `plain`: without quotes."""

    text: str | None
    where: str
    span: Span = (0, 0)
    plain: bool = True


class Items(NamedTuple):
    """A list; `flow`: in brackets."""

    items: tuple[Node, ...]
    where: str
    span: Span = (0, 0)
    flow: bool = False


class Table(NamedTuple):
    """A mapping; `places` tells where each of its keys stands, `keys` at which characters; `flow`: in braces."""

    entries: Mapping[str, Node]
    places: Mapping[str, str]
    where: str
    span: Span = (0, 0)
    keys: Mapping[str, Span] = MappingProxyType({})
    flow: bool = False


Node = Leaf | Items | Table
KINDS = {Leaf: "a single value", Items: "a list", Table: "a mapping"}


def kind_of(node: Node) -> str:
    """What a node is, in words."""
    if isinstance(node, Leaf):
        return "empty" if node.text is None else f"`{node.text[:60]}`"
    return KINDS[type(node)]


def read_yaml(data: bytes, name: str, *, tags: Collection[str] = ()) -> Table:
    """The mapping that a YAML file holds; `name` is what messages call it. An empty file is an empty mapping.

    `tags` are those that the file's format has beyond YAML's own; they change no node.

    Raises UsageError, with file and line, for everything that is no such mapping.
    """
    import yaml

    if len(data) > _LARGEST:
        raise UsageError(f"`{name}` has {len(data)} bytes, which is no configuration", f"look at `{name}`")
    try:
        root = _Reader(yaml, data, name, tags).document()
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"`{name}{line}` is no YAML: {error.problem}", f"mend `{name}` there") from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"`{name}` is no YAML: {reason}", f"mend `{name}`, or remove it") from error
    if root is None or (isinstance(root, Leaf) and root.text is None):
        return Table({}, {}, f"{name}:1")
    if not isinstance(root, Table):
        raise UsageError(
            f"`{name}` holds {kind_of(root)} where a mapping of keys is expected", "write `KEY: VALUE` lines"
        )
    return root


def from_value(value: object, where: str) -> Node:
    """A node of a Python value, for what comes from flags and variables."""
    if isinstance(value, Mapping):
        return Table({str(key): from_value(one, where) for key, one in value.items()}, {}, where)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Items(tuple(from_value(one, where) for one in value), where)
    if isinstance(value, bool):
        return Leaf("true" if value else "false", where)
    return Leaf(None if value is None else str(value), where)


def _span(first: Any, last: Any) -> Span:
    return first.start_mark.index, last.end_mark.index


class _Reader:
    """Builds nodes from the parser's events, so that no file decides how deep or how large they get."""

    def __init__(self, yaml: Any, data: bytes, name: str, tags: Collection[str]) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._yaml = yaml
        self._events: Iterator[Any] = yaml.parse(data, Loader=loader)
        self._name = name
        self._tags = tags
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._count = 0

    def document(self) -> Node | None:
        next(self._events)  # the stream starts
        if isinstance(next(self._events), self._yaml.StreamEndEvent):
            return None
        node = self._node(next(self._events), 0)
        next(self._events)  # the document ends
        after = next(self._events)
        if not isinstance(after, self._yaml.StreamEndEvent):
            raise self._refusal(after, "a second document starts here", "keep one document in the file")
        return node

    def _node(self, event: Any, depth: int) -> Node:
        if isinstance(event, self._yaml.AliasEvent):
            return self._alias(event)
        self._spend(event, 1)
        before = self._count
        if depth > _DEEPEST:
            raise self._refusal(event, "this is nested too deeply", "write it flatter")
        if event.tag is not None and event.tag != "!" and not self._plain_tag(event.tag):
            raise self._refusal(event, f"the tag `{event.tag}` means nothing here", "remove the tag")
        node = self._built(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, self._count - before + 1)
        return node

    def _built(self, event: Any, depth: int) -> Node:
        if isinstance(event, self._yaml.MappingStartEvent):
            return self._table(event, depth)
        if isinstance(event, self._yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(one := next(self._events), self._yaml.SequenceEndEvent):
                items.append(self._node(one, depth + 1))
            return Items(tuple(items), self._where(event), _span(event, one), bool(event.flow_style))
        plain = event.style is None or event.style == ""
        text = None if plain and event.value in _NULLS else event.value
        return Leaf(text, self._where(event), _span(event, event), plain)

    def _table(self, event: Any, depth: int) -> Table:
        entries: dict[str, Node] = {}
        places: dict[str, str] = {}
        keys: dict[str, Span] = {}
        while not isinstance(one := next(self._events), self._yaml.MappingEndEvent):
            key = self._node(one, depth + 1)
            if not isinstance(key, Leaf) or key.text is None:
                raise self._refusal(one, "this key is no plain word", "write `KEY: VALUE`")
            if key.text in entries:
                raise self._refusal(one, f"the key `{key.text}` stands here a second time", "keep one of the two")
            places[key.text] = self._where(one)
            keys[key.text] = key.span
            entries[key.text] = self._node(next(self._events), depth + 1)
        return Table(entries, places, self._where(event), _span(event, one), keys, bool(event.flow_style))

    def _alias(self, event: Any) -> Node:
        if event.anchor not in self._anchors:
            raise self._refusal(event, f"the alias `*{event.anchor}` stands for nothing before it", "remove the alias")
        node, size = self._anchors[event.anchor]
        self._spend(event, size)
        return node

    def _spend(self, event: Any, size: int) -> None:
        self._count += size
        if self._count > _MOST:
            raise self._refusal(event, f"this file unfolds to more than {_MOST} values", "make it smaller")

    def _plain_tag(self, tag: str) -> bool:
        own = tag.removeprefix("tag:yaml.org,2002:") in {"str", "int", "float", "bool", "null", "map", "seq"}
        return own or tag in self._tags

    def _where(self, event: Any) -> str:
        return f"{self._name}:{event.start_mark.line + 1}"

    def _refusal(self, event: Any, what: str, hint: str) -> UsageError:
        return UsageError(f"`{self._where(event)}`: {what}", hint)
