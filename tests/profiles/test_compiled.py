"""The built-in profiles' JSON: nothing but what their YAML says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocenv.profile.compiled import FILE, built_in, text
from rocenv.profile.tree import Items, Node, Table, read_yaml
from rocenv.resources import data_folder

FOLDER = data_folder("profiles")


def test_it_is_as_the_yaml_is_now() -> None:
    assert (FOLDER / FILE).read_text(encoding="utf-8") == text(FOLDER), "run `./dev catalog`"


def spanless(node: Node) -> Node:
    if isinstance(node, Items):
        return Items(tuple(map(spanless, node.items)), node.where)
    if isinstance(node, Table):
        return Table({key: spanless(one) for key, one in node.entries.items()}, dict(node.places), node.where)
    return node._replace(span=(0, 0))


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_a_profile_is_what_its_yaml_says_with_every_line(file: Path) -> None:
    name = f"profiles/{file.name}"
    assert built_in(FOLDER, file.stem, "profiles") == spanless(read_yaml(file.read_bytes(), name))


def test_a_profile_that_there_is_not_is_none() -> None:
    assert built_in(FOLDER, "no-such-profile", "profiles") is None
