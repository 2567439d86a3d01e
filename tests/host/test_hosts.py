"""Hosts of every kind, built from descriptions: each answer as its description expects it, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hosts import builder

from rocenv.host import read_host
from rocenv.report.host import host_json

Build = Callable[..., Path]


def differences(expected: object, found: object, where: str = "") -> list[str]:
    """What of `expected` is not so in `found`: mappings in their keys, for a list a mapping of its numbers."""
    if isinstance(expected, Mapping) and isinstance(found, list):
        found = dict(enumerate(found))
        if not expected:
            return [f"{where}: {len(found)} entries"] if found else []
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        lines = [f"{where}.{key} is missing" for key in expected if key not in found]
        for key in [key for key in expected if key in found]:
            lines += differences(expected[key], found[key], f"{where}.{key}")
        return lines
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for number, (one, other) in pairs for line in differences(one, other, f"{where}[{number}]")]
    same = expected == found and type(expected) is type(found)
    return [] if same else [f"{where}: {found!r}, not {expected!r}"]


@pytest.mark.parametrize("name", builder.names())
def test_a_host_is_read_as_its_description_expects(name: str, built: Build) -> None:
    description = builder.describe(name)
    assert description["expect"], "a description without expectations tests nothing"
    assert differences(description["expect"], host_json(read_host(str(built(name))))) == []


@pytest.mark.parametrize("name", builder.names())
def test_a_packed_host_reads_as_its_folder(
    name: str, built: Build, packed: Callable[[Path], Path], tmp_path: Path
) -> None:
    folder = built(name)
    before = sorted(tmp_path.rglob("*"))
    archive = packed(folder)
    assert read_host(str(archive)) == read_host(str(folder))
    left = set(tmp_path.rglob("*")) - set(before)
    assert left == {archive, archive.parent}, "reading an archive leaves nothing behind"


def test_every_kind_of_host_is_described() -> None:
    assert len(builder.names()) >= 30


def test_differences_see_what_differs() -> None:
    assert differences({"a": {0: {"b": 1}}}, {"a": [{"b": 1, "c": 2}]}) == []
    assert differences({"a": 1}, {"a": True}) == [".a: True, not 1"]
    assert differences({"a": [1, 2]}, {"a": [1]}) == [".a: [1], not [1, 2]"]
    assert differences({"gpus": {}}, {"gpus": [1]}) == [".gpus: 1 entries"]
    assert differences({"gpus": {3: {}}}, {"gpus": [1]}) == [".gpus.3 is missing"]
