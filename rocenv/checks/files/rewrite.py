"""A compose file mended: only the words and keys that are wrong are touched, all else stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rocenv.checks.files.asked import DRI
from rocenv.checks.files.compose_reading import below, entry, services, tree, word
from rocenv.checks.files.devices import meant
from rocenv.checks.files.groups import KEEP, number_of
from rocenv.errors import UsageError
from rocenv.model.host import Host
from rocenv.profile.tree import Items, Leaf, Node, Table
from rocenv.rules.nodes import KFD

_DEVICES = f"devices: [{KFD}, {DRI}]"
_GPU_DRIVERS = frozenset({"rocm", "amd", "amdgpu", "nvidia", "gpu", ""})
_WAY = ("deploy", "resources", "reservations", "devices")


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters of a text and what takes their place, with the line and the words for people."""

    start: int
    end: int
    new: str
    told: str


@dataclass(frozen=True, slots=True)
class Mended:
    """A text after its edits, and what was done, one line each; nothing where nothing could be."""

    text: str
    done: tuple[str, ...]


def mended(text: str, name: str, host: Host) -> Mended:
    """The compose file with group names as this host's numbers, misspelt devices, and drivers that do not exist.

    Raises UsageError for a file that cannot be read.
    """
    if "\ufffd" in text:
        return Mended(text, ())  # some bytes of the file were no text: writing it would lose them
    shift = 1 if text.startswith("\ufeff") else 0
    body = text[shift:]
    found: dict[tuple[int, int], Edit] = {}
    for _, table in services(tree(body, name)):
        for one in (*_groups(body, table, host), *_devices(body, table), *_drivers(body, table)):
            found[one.start, one.end] = one
    edits = sorted(found.values(), key=lambda one: one.start, reverse=True)
    if any(first.start < second.end for first, second in pairwise(edits)):
        return Mended(text, ())  # shared nodes whose edits run into each other: for a person to mend
    new = body
    for one in edits:
        new = new[: one.start] + one.new + new[one.end :]
    try:
        tree(new, name)
    except UsageError:
        return Mended(text, ())
    return Mended(text[:shift] + new, tuple(one.told for one in reversed(edits)))


def _groups(text: str, table: Table, host: Host) -> Iterator[Edit]:
    """Names by this host's numbers; a name whose number is there already is left out, for compose takes no double."""
    node = entry(table, "group_add")
    items = [one for one in node.items if isinstance(one, Leaf)] if isinstance(node, Items) else []
    present = {one.text for one in items if one.text and one.text.isdecimal()}
    for one in items:
        name = one.text or ""
        number = None if not name or name.isdecimal() or name == KEEP or "$" in name else number_of(name, host)
        if number is None or not isinstance(node, Items):
            continue
        if str(number) in present:
            start, end = _item(text, node, one)
            yield Edit(start, end, "", f"{one.where}: `{name}` removed, its number {number} is there")
        else:
            present.add(str(number))
            yield Edit(*one.span, f'"{number}"', f'{one.where}: `{name}` is now `"{number}"`')


def _devices(text: str, table: Table) -> Iterator[Edit]:
    node = entry(table, "devices")
    for one in node.items if isinstance(node, Items) else ():
        leaf = one if isinstance(one, Leaf) else entry(one, "source") if isinstance(one, Table) else None
        if not isinstance(leaf, Leaf) or leaf.text is None or word(leaf).open:
            continue
        path = leaf.text.partition(":")[0]
        right, raw = meant(path), text[leaf.span[0] : leaf.span[1]]
        if right is not None and path in raw:
            yield Edit(*leaf.span, raw.replace(path, right, 1), f"{leaf.where}: `{path}` is now `{right}`")


def _drivers(text: str, table: Table) -> Iterator[Edit]:
    """A reservation by a driver that reaches no AMD GPU gives way to devices; what would be left empty goes too."""
    node = below(table, *_WAY)
    reserved = [one for one in node.items if isinstance(one, Table)] if isinstance(node, Items) else []
    if not reserved or not all(_is_wrong(one) for one in reserved):
        return
    chain = [table]
    for key in _WAY[:-1]:
        inner = chain[-1].entries.get(key)
        if not isinstance(inner, Table):
            return  # a merge brings it, and others share it
        chain.append(inner)
    if _WAY[-1] not in chain[-1].entries:
        return
    at = max((depth for depth, one in enumerate(chain) if depth and len(one.entries) > 1), default=0)
    yield from _moved(text, table, chain[at], _WAY[at], reserved[0].where)


def _is_wrong(reserved: Table) -> bool:
    driver = entry(reserved, "driver")
    name = driver.text if isinstance(driver, Leaf) else ""
    ids = entry(reserved, "device_ids")
    return (name or "") in _GPU_DRIVERS and not (isinstance(ids, Items) and name == "nvidia" and len(ids.items) > 1)


def _moved(text: str, table: Table, holder: Table, key: str, where: str) -> Iterator[Edit]:
    """The reservation's pair away, and devices in its place or before `deploy`."""
    start, end = holder.keys[key][0], last(holder.entries[key])
    told = f"{where}: the reservation gives way to `{_DEVICES}`"
    has_devices = "devices" in table.entries
    if holder is table and not has_devices:
        yield Edit(start, end, _DEVICES, told)
        return
    yield Edit(*_pair(text, holder, start, end), "", told)
    if not has_devices:
        place = table.keys[_WAY[0]][0]
        indent = text[text.rfind("\n", 0, place) + 1 : place]
        yield Edit(
            place, place, f"{_DEVICES}, " if table.flow else f"{_DEVICES}\n{indent}", f"{where}: `{_DEVICES}` added"
        )


def last(node: Node) -> int:
    """Where the text of a node ends: of a block, with its last value, before blanks and comments behind it."""
    if isinstance(node, Leaf) or node.flow:
        return node.span[1]
    inner = node.items if isinstance(node, Items) else tuple(node.entries.values())
    return max((last(one) for one in inner), default=node.span[1])


def _pair(text: str, holder: Table, start: int, end: int) -> tuple[int, int]:
    """A pair with what joins it to its neighbours: its lines in a block, a comma in braces."""
    return _with_comma(text, start, end) if holder.flow else _lines(text, start, end)


def _item(text: str, node: Items, one: Leaf) -> tuple[int, int]:
    return _with_comma(text, *one.span) if node.flow else _lines(text, *one.span)


def _lines(text: str, start: int, end: int) -> tuple[int, int]:
    after = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if after < 0 else after + 1


def _with_comma(text: str, start: int, end: int) -> tuple[int, int]:
    before = text[:start].rstrip()
    if before.endswith(","):
        return len(before) - 1, end
    behind = text[end:]
    stripped = behind.lstrip()
    if stripped.startswith(","):
        rest = stripped[1:].lstrip()
        return start, len(text) - len(rest)
    return start, end
