"""Loading: the layers of one profile found, laid over each other, and made a Profile."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocenv.errors import UsageError
from rocenv.model.wish import Profile
from rocenv.profile.keys import ENVIRONMENTS, KEYS, NAME, PROJECT_KEYS, Key
from rocenv.profile.layers import Layer, Setting, checked, laid
from rocenv.profile.places import SETTINGS, places, read_file
from rocenv.profile.tree import Items, Leaf, Node, Table, from_value
from rocenv.profile.wishes import make_profile

_PROJECT = {**KEYS, **PROJECT_KEYS}
_FLAGS = {"image.reference": "--image", "env": "-e", "mounts": "--mount", "ports": "--port", "shm_size": "--shm-size"}
_OTHER_VARIABLES = frozenset({"ROCENV_HOST", "ROCENV_ENGINE", "ROCENV_STAND_IN", "ROCENV_DEBUG", "ROCENV_CAPTURES"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A profile that could be used: its name, one line, and where it comes from."""

    name: str
    summary: str
    origin: str


def load_profile(name: str | None, *, project: Path, overrides: Mapping[str, object]) -> Profile:
    """The profile `name`, or the project's own for None, with all layers laid over it.

    Layers, later ones win: built-in profile, /etc/rocenv, ~/.config/rocenv, ./rocenv.yaml, ROCENV_* variables, and
    `overrides` (dotted key → value, from flags). Raises UsageError with file and line for what cannot be followed.
    """
    own = read_file(project / SETTINGS, SETTINGS) or Table({}, {}, SETTINGS)
    environments = _environments(own)
    own_layer = checked(own, _PROJECT, apart=ENVIRONMENTS)
    if name not in environments and name == _own_name(own_layer):
        name = None
    skipped = {("extends",)} if name is None else {("extends",), ("name",)}  # its name is the default profile's
    name = name or _default(own_layer, environments)
    if not re.fullmatch(NAME, name, re.ASCII):
        raise UsageError(f"`{name}` is no name of a profile", "`rocenv profiles list` shows them")
    layers = [
        *_profile_layers(name, environments, own_layer),
        {path: setting for path, setting in own_layer.items() if path not in skipped},
        *([checked(environments[name], KEYS)] if name in environments else []),
        _from_variables(),
        _from_flags(overrides),
    ]
    return make_profile(name, laid(layers))


def available(project: Path) -> tuple[Listed, ...]:
    """Every profile that can be used in a project, in the order of their names."""
    found: dict[str, Listed] = {}
    for place in places():
        label = "built-in" if place.settings is None else place.label
        for name in place.names():
            table = place.profile(name)
            summary = _text_of(table, "summary") if table else None
            found[name] = Listed(name, summary or (found[name].summary if name in found else ""), label)
    own = read_file(project / SETTINGS, SETTINGS)
    for name, table in (_environments(own) if own else {}).items():
        base = _text_of(table, "extends") or (_text_of(own, "extends") if own else None) or name
        summary = _text_of(table, "summary") or (found[base].summary if base in found else "")
        found[name] = Listed(name, summary, SETTINGS)
    return tuple(found[name] for name in sorted(found))


def own_profiles(project: Path) -> tuple[str | None, ...]:
    """The profiles that a project's rocenv.yaml defines: None for its default one, then its environments by name."""
    own = read_file(project / SETTINGS, SETTINGS) or Table({}, {}, SETTINGS)
    default = (None,) if _extended(checked(own, _PROJECT, apart=ENVIRONMENTS)) is not None else ()
    return (*default, *_environments(own))


def check_file(path: Path, name: str) -> None:
    """Check a rocenv.yaml or a profile without using it. Raises UsageError for the first fault."""
    table = read_file(path, name)
    if table is None:
        raise UsageError(f"there is no file `{name}`", "`rocenv profiles validate FILE` checks another one")
    checked(table, _PROJECT, apart=ENVIRONMENTS)
    environments = _environments(table)
    for one in environments.values():
        checked(one, KEYS)
    known = {*environments, *(name for place in places() for name in place.names())}
    for one in (table, *environments.values()):
        base = _text_of(one, "extends")
        if base is not None and base not in known:
            close = difflib.get_close_matches(base, known, n=1)
            hint = f"did you mean `{close[0]}`?" if close else "`rocenv profiles list` shows what there is"
            raise UsageError(f"`{one.entries['extends'].where}`: there is no profile `{base}` to build on", hint)


def _default(own: Layer, environments: Mapping[str, Table]) -> str:
    """The profile that a project means where none is named."""
    extends = _extended(own)
    if extends is not None:
        return extends
    if len(environments) == 1:
        return next(iter(environments))
    what = f"`{SETTINGS}` has several environments" if environments else f"no `{SETTINGS}` here names one"
    names = ", ".join(environments)
    raise UsageError(
        f"no profile is named, and {what}", f"name one of {names}" if names else "name one: `pytorch`, say"
    )


def _profile_layers(name: str, environments: Mapping[str, Table], own: Layer) -> Iterator[Layer]:
    """The layers below the project's: of what `name` builds on, then of its own files, place by place."""
    base: str | None = name
    if name in environments:
        base = _text_of(environments[name], "extends") or _extended(own) or name
    chain: list[str] = []
    while base is not None:
        if not re.fullmatch(NAME, base, re.ASCII):  # before it becomes part of a path
            raise UsageError(f"`{base!r}` is no name of a profile to build on", "`rocenv profiles list` shows them")
        if base in chain:
            raise UsageError(f"the profile `{base}` builds on itself: {' → '.join([*chain, base])}", "break the circle")
        chain.append(base)
        base = _parent(base, known_as=name)
    for one in reversed(chain[1:]):
        yield from _files(one)
    for place in places():
        table = place.profile(chain[0])
        if table is not None:
            yield checked(table, KEYS)
        general = place.general()
        if general is not None:
            yield checked(general, _PROJECT)


def _own_name(own: Layer) -> str | None:
    """What a rocenv.yaml calls its default profile, where it has one."""
    called = own.get(("name",))
    return str(called.value) if called is not None and _extended(own) is not None else None


def _extended(own: Layer) -> str | None:
    """What a rocenv.yaml builds on, at its top."""
    extends = own.get(("extends",))
    return extends.value if extends is not None and isinstance(extends.value, str) else None


def _files(name: str) -> Iterator[Layer]:
    for place in places():
        table = place.profile(name)
        if table is not None:
            yield checked(table, KEYS)


def _parent(name: str, *, known_as: str) -> str | None:
    """What a profile builds on; UsageError where no place has it."""
    tables = [table for place in places() if (table := place.profile(name)) is not None]
    if not tables:
        close = difflib.get_close_matches(name, [one for place in places() for one in place.names()], n=1)
        through = "" if name == known_as else f", which `{known_as}` builds on"
        hint = f"did you mean `{close[0]}`?" if close else "`rocenv profiles list` shows what there is"
        raise UsageError(f"there is no profile `{name}`{through}", hint)
    parents = [parent for table in tables if (parent := _text_of(table, "extends"))]
    return parents[-1] if parents else None


def _environments(table: Table) -> dict[str, Table]:
    """The environments that a rocenv.yaml defines."""
    node = table.entries.get(ENVIRONMENTS)
    if node is None or (isinstance(node, Leaf) and node.text is None):
        return {}
    if not isinstance(node, Table):
        raise UsageError(
            f"`{node.where}`: `{ENVIRONMENTS}` is no mapping", f"write `{ENVIRONMENTS}: {{NAME: {{extends: pytorch}}}}`"
        )
    found: dict[str, Table] = {}
    for name, one in node.entries.items():
        where = node.places.get(name, one.where)
        if not re.fullmatch(NAME, name, re.ASCII):
            raise UsageError(
                f"`{where}`: `{name}` is no name for an environment", "small letters, digits, `_`, `.` and `-`"
            )
        if isinstance(one, Leaf) and one.text is None:
            one = Table({}, {}, where)  # noqa: PLW2901
        if not isinstance(one, Table):
            raise UsageError(
                f"`{where}`: the environment `{name}` is no mapping", f"write `{name}: {{extends: pytorch}}`"
            )
        found[name] = one
    return found


def _text_of(table: Table | None, key: str) -> str | None:
    node = table.entries.get(key) if table else None
    return node.text if isinstance(node, Leaf) else None


def _from_variables() -> Layer:
    """Settings from ROCENV_* variables: `ROCENV_IMAGE_ROCM` is image.rocm; lists are divided by commas."""
    plain = {f"ROCENV_{name.replace('.', '_').upper()}": name for name, key in KEYS.items() if key.kind != "table"}
    plain = {**plain, "ROCENV_IMAGE": "image.reference"}
    del plain["ROCENV_NAME"], plain["ROCENV_EXTENDS"], plain["ROCENV_SUMMARY"]
    layer: dict[tuple[str, ...], Setting] = {}
    for variable, text in sorted(os.environ.items()):
        if variable in plain:
            layer.update(
                checked(_nested(plain[variable], _node(text, KEYS[plain[variable]], variable)), KEYS, variable)
            )
        elif variable.startswith("ROCENV_") and variable not in _OTHER_VARIABLES:
            close = difflib.get_close_matches(variable, plain, n=1, cutoff=0.9)
            if close:
                raise UsageError(f"the variable `{variable}` sets nothing", f"did you mean `{close[0]}`?")
    return layer


def _node(text: str, key: Key, where: str) -> Node:
    if key.kind == "list":
        return Items(tuple(Leaf(one.strip(), where) for one in text.split(",") if one.strip()), where)
    return Leaf(text, where)


def _from_flags(overrides: Mapping[str, object]) -> Layer:
    layer: dict[tuple[str, ...], Setting] = {}
    for name, value in overrides.items():
        flag = _FLAGS.get(name, f"--{name.replace('.', '-').replace('_', '-')}")
        layer.update(checked(_nested(name, from_value(value, flag)), KEYS, flag))
    return layer


def _nested(name: str, node: Node) -> Table:
    """`image.rocm` as a mapping in a mapping."""
    first, _, rest = name.partition(".")
    return Table({first: _nested(rest, node) if rest else node}, {}, node.where)
