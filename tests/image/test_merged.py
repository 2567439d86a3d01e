"""Layers over each other, by the OCI image specification's rules on whiteouts; each case is also laid by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image.making import Content, host_elf, layer_of, plain_bundle

from rocenv.image.merged import visible

OLD, NEW = host_elf(plain_bundle("gfx906")), host_elf(plain_bundle("gfx942"))
LOWER: dict[str, Content] = {"opt/a/one.so": OLD, "opt/a/deep/two.so": OLD, "opt/b/three.so": OLD, "four.so": OLD}
ALL = {"opt/a/one.so", "opt/a/deep/two.so", "opt/b/three.so", "four.so"}


@pytest.mark.parametrize(
    ("upper", "left"),
    [
        ({}, ALL),
        ({"other": b""}, ALL),
        ({"opt/a": None, "opt/a/deep": None}, ALL),
        ({"opt/a/one.so": b"text"}, ALL - {"opt/a/one.so"}),
        ({"opt/a/one.so": None}, ALL - {"opt/a/one.so"}),
        ({"opt/a/one.so": "elsewhere"}, ALL - {"opt/a/one.so"}),
        ({"opt/a/.wh.one.so": b""}, ALL - {"opt/a/one.so"}),
        ({"opt/.wh.a": b""}, {"opt/b/three.so", "four.so"}),
        ({"opt/a/.wh..wh..opq": b""}, {"opt/b/three.so", "four.so"}),
        ({"opt/a": "b"}, {"opt/b/three.so", "four.so"}),
        ({".wh.opt": b""}, {"four.so"}),
        ({"opt": b"a file now"}, {"four.so"}),
        ({".wh..wh..opq": b""}, set()),
        ({"opt/.wh.aa": b"", "opt/a/.wh.on": b""}, ALL),
    ],
)
def test_what_is_left_of_the_lower_layer(upper: dict[str, Content], left: set[str]) -> None:
    assert set(visible([layer_of(LOWER), layer_of(upper)])) == left


def test_a_layer_does_not_hide_its_own_files() -> None:
    upper = layer_of({"opt/a/.wh..wh..opq": b"", "opt/.wh.a": b"", "opt/a/one.so": NEW})
    found = visible([layer_of(LOWER), upper])
    assert found["opt/a/one.so"].targets == ("gfx942",)
    assert set(found) == {"opt/a/one.so", "opt/b/three.so", "four.so"}


def test_what_comes_back_is_there_again() -> None:
    layers = [layer_of(LOWER), layer_of({".wh.four.so": b""}), layer_of({"four.so": NEW})]
    assert visible(layers)["four.so"].targets == ("gfx942",)
    assert "four.so" not in visible(layers[:2])


def test_a_path_as_deep_as_paths_can_be() -> None:
    deep = "a/" * 2000 + "x.so"
    assert set(visible([layer_of({deep: OLD}), layer_of({"b": b""})])) == {deep}
    assert set(visible([layer_of({deep: OLD}), layer_of({"a/a": b""})])) == set()


NAMES = st.sampled_from(["a", "a/b", "a/b/c", "a/d", "e"])
STEPS = st.one_of(
    st.tuples(st.just("file"), NAMES), st.tuples(st.just("gone"), NAMES),
    st.tuples(st.just("opaque"), NAMES), st.tuples(st.just("folder"), NAMES),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=6))
def test_any_layers_are_as_a_tree_of_dicts_would_have_it(steps: list[tuple[str, str]]) -> None:
    """The model: a file system as nested dicts, each layer applied to it; a layer names the folders above its files."""
    tree: Tree = {}
    layers = []
    for kind, name in steps:
        parts = name.split("/")
        folder = "/".join(parts[:-1])
        changes: dict[str, Content] = {"/".join(parts[:count]): None for count in range(1, len(parts))}
        if kind == "file":
            changes[name] = OLD
        elif kind == "gone":
            changes[f"{folder}/.wh.{parts[-1]}" if folder else f".wh.{parts[-1]}"] = b""
        else:
            changes[name] = None
            changes |= {f"{name}/.wh..wh..opq": b""} if kind == "opaque" else {}
        layers.append(layer_of(changes))
        _apply(tree, kind, parts)
    assert set(visible(layers)) == set(_files(tree, ""))


Tree = dict[str, Any]  # a folder; a file is its name


def _apply(tree: Tree, kind: str, parts: list[str]) -> None:
    at = tree
    for part in parts[:-1]:
        if not isinstance(at.get(part), dict):
            at[part] = {}
        at = at[part]
    name = parts[-1]
    if kind == "gone":
        at.pop(name, None)
    elif kind == "file":
        at[name] = "file"
    elif kind == "opaque" or not isinstance(at.get(name), dict):
        at[name] = {}


def _files(tree: Tree, above: str) -> list[str]:
    found = []
    for name, below in tree.items():
        found += _files(below, f"{above}{name}/") if isinstance(below, dict) else [above + name]
    return found
