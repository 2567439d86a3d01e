"""The tables that people edit and the JSON that is read are the same; what YAML would bend is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocenv.catalog import compile as compiler
from rocenv.catalog.table import COMPILED, load
from rocenv.errors import UsageError


@pytest.mark.parametrize("source", compiler.sources(), ids=lambda path: path.stem)
def test_yaml_and_json_are_equal(source: Path) -> None:
    path = compiler.target(source)
    assert path.exists(), f"{path.name} is missing: run `./dev catalog`"
    assert path.read_text(encoding="utf-8") == compiler.compiled(source), "run `./dev catalog`"


def test_no_json_without_its_yaml() -> None:
    assert {path.stem for path in COMPILED.glob("*.json")} == {path.stem for path in compiler.sources()}


def test_load_gives_the_compiled_table_once() -> None:
    assert load("gpus")["vendor"] == "1002"
    assert load("gpus") is load("gpus")


def written(folder: Path, text: str) -> Path:
    path = folder / "sample.yaml"
    path.write_text(text)
    return path


def test_dates_and_text_survive(tmp_path: Path) -> None:
    text = compiler.compiled(written(tmp_path, 'a: 2026-07-15\nb: "7.10"\nc: [1, true, null]\nd: {é: x}\n'))
    assert json.loads(text) == {"a": "2026-07-15", "b": "7.10", "c": [1, True, None], "d": {"é": "x"}}
    assert text.endswith("\n")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key `a` stands here twice"),
        ("a:\n  b: 7.10\n", 2, "`7.10` would be read as a number with a fraction"),
        ("a: yes\n", 1, "`yes` would be read as a truth value"),
        ("7448: x\n", 1, "the key 7448 is no text"),
        ("why: {a: first, then}\n", 1, "the key `then` has no value"),
        ("ok: {gfx: a, gfx: b}\n", 1, "the key `gfx` stands here twice"),
    ],
)
def test_what_yaml_would_bend_is_refused(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        compiler.compiled(written(tmp_path, text))
    assert f"line {line}: {words}" in caught.value.message


@pytest.mark.parametrize("text", ["a: [1\n", "a: b: c\n", "\t- x\n", "a: !!python/name:os.system\n"])
def test_broken_yaml_names_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"sample\.yaml"):
        compiler.compiled(written(tmp_path, text))
