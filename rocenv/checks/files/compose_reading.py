"""Compose files, read as far as GPUs are concerned: services, and what each asks of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from rocenv.checks.files.asked import Container, Variable, Word
from rocenv.errors import UsageError
from rocenv.profile.tree import Items, Leaf, Node, Table, kind_of, read_yaml

_TRUE = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
_TAGS = ("!reset", "!override")  # compose's own, for files that are laid over each other
_MERGE, _DEEPEST_MERGE = "<<", 8


@lru_cache(maxsize=8)
def tree(text: str, name: str) -> Table:
    """The file as nodes with places. Raises UsageError, with the line, for what is no compose file."""
    root = read_yaml(text.removeprefix("\ufeff").encode(errors="replace"), name, tags=_TAGS)
    if "services" not in root.entries:
        hint = "write the services below `services:`"
        raise UsageError(f"`{name}:1`: there is no `services`", hint)
    found = root.entries["services"]
    if not isinstance(found, Table):
        raise UsageError(f"`{found.where}`: `services` holds {kind_of(found)}, no mapping", "write `NAME: {image: …}`")
    return root


def services(root: Table) -> Iterator[tuple[str, Table]]:
    """The services by name. Raises UsageError for one that is no mapping."""
    found = root.entries["services"]
    assert isinstance(found, Table)  # noqa: S101 (`tree` has seen to it)
    for name, one in found.entries.items():
        if isinstance(one, Leaf) and one.text is None:
            continue
        if not isinstance(one, Table):
            raise UsageError(
                f"`{one.where}`: the service `{name}` holds {kind_of(one)}, no mapping", f"write `{name}: {{image: …}}`"
            )
        yield name, one


def containers(text: str, name: str) -> tuple[Container, ...]:
    """What each service asks for. Raises UsageError, with the line, for a file that cannot be read."""
    root = tree(text, name)
    return tuple(_container(service, table) for service, table in services(root))


def entry(table: Table, key: str, depth: int = 0) -> Node | None:
    """The node at a key, also where a merge (`<<: *defaults`) brings it."""
    if key in table.entries:
        return table.entries[key]
    merged = table.entries.get(_MERGE)
    bases = merged.items if isinstance(merged, Items) else (merged,)
    for base in bases if depth < _DEEPEST_MERGE else ():
        found = entry(base, key, depth + 1) if isinstance(base, Table) else None
        if found is not None:
            return found
    return None


def below(table: Table, *keys: str) -> Node | None:
    """The node at a path of keys."""
    node: Node | None = table
    for key in keys:
        node = entry(node, key) if isinstance(node, Table) else None
    return node


def _container(service: str, table: Table) -> Container:
    return Container(
        kind="compose",
        name=f"service `{service}`",
        where=table.where,
        image=_word(entry(table, "image")),
        devices=_devices(entry(table, "devices")),
        groups=_words(entry(table, "group_add")),
        mounts=_pairs(entry(table, "volumes")),
        security=_words(entry(table, "security_opt")),
        variables=tuple(_variables(entry(table, "environment"))),
        privileged=_switched_on(entry(table, "privileged")),
        ipc=_word(entry(table, "ipc")),
        shm_size=_word(entry(table, "shm_size")),
        runtime=_word(entry(table, "runtime")),
        user=_word(entry(table, "user")),
        gpus=_gpus(entry(table, "gpus")),
        rules=_words(entry(table, "device_cgroup_rules")),
        drivers=tuple(_drivers(below(table, "deploy", "resources", "reservations", "devices"))),
        partial=entry(table, "extends") is not None,
    )


def word(node: Leaf) -> Word:
    """A scalar as a word."""
    return Word(node.text or "", node.where, node.span)


def _word(node: Node | None) -> Word | None:
    return word(node) if isinstance(node, Leaf) and node.text is not None else None


def _words(node: Node | None) -> tuple[Word, ...]:
    items = node.items if isinstance(node, Items) else ()
    return tuple(word(one) for one in items if isinstance(one, Leaf) and one.text is not None)


def _switched_on(node: Node | None) -> Word | None:
    found = _word(node)
    return found if found is not None and found.text in _TRUE else None


def _pairs(node: Node | None) -> tuple[Word, ...]:
    """Mounts: short ones as they are, long ones as `SOURCE:TARGET`."""
    return _in_pairs(node, "target")


def _devices(node: Node | None) -> tuple[Word, ...]:
    return _in_pairs(node, "target")


def _in_pairs(node: Node | None, target: str) -> tuple[Word, ...]:
    found = []
    for one in node.items if isinstance(node, Items) else ():
        if isinstance(one, Leaf) and one.text is not None:
            found.append(word(one))
        elif isinstance(one, Table):
            first, second = entry(one, "source"), entry(one, target)
            if isinstance(first, Leaf) and first.text:
                behind = f":{second.text}" if isinstance(second, Leaf) and second.text else ""
                found.append(Word(first.text + behind, first.where, first.span))
    return tuple(found)


def _variables(node: Node | None) -> Iterator[Variable]:
    if isinstance(node, Table):
        for base in _merged(node):
            yield from _variables(base)
        for name, one in node.entries.items():
            if name != _MERGE and isinstance(one, Leaf):
                yield Variable(name, one.text, node.places[name])
    for leaf in _words(node):
        name, sign, value = leaf.text.partition("=")
        yield Variable(name.strip(), value if sign else None, leaf.where, listed=True)


def _merged(table: Table) -> tuple[Node, ...]:
    merged = table.entries.get(_MERGE)
    return merged.items if isinstance(merged, Items) else () if merged is None else (merged,)


def _gpus(node: Node | None) -> Word | None:
    if node is None or (isinstance(node, Leaf) and node.text is None):
        return None
    return word(node) if isinstance(node, Leaf) else Word("a list", node.where, node.span)


def _drivers(node: Node | None) -> Iterator[tuple[Word, tuple[str, ...]]]:
    """Reserved devices that are GPUs: the driver (empty for the engine's default one) and the ids."""
    for one in node.items if isinstance(node, Items) else ():
        if not isinstance(one, Table):
            continue
        capabilities = {leaf.text for leaf in _words(entry(one, "capabilities"))}
        driver = _word(entry(one, "driver"))
        ids = tuple(leaf.text for leaf in _words(entry(one, "device_ids")))
        if driver is not None or "gpu" in capabilities:
            yield driver or Word("", one.where, one.span), ids
