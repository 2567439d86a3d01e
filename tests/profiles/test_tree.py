"""YAML as plain text, and every file that is hostile or broken answered with words, file and line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocenv.errors import UsageError
from rocenv.profile.tree import Items, Leaf, Table, from_value, read_yaml


def read(text: str | bytes) -> Table:
    return read_yaml(text if isinstance(text, bytes) else text.encode(), "f.yaml")


@pytest.mark.parametrize("text", ["3.10", "no", "0x10", "1e3", "2026-01-02", "017", "yes", "12:30:45", "'~'", '"null"'])
def test_scalars_stay_the_text_that_they_are(text: str) -> None:
    leaf = read(f"key: {text}").entries["key"]
    assert isinstance(leaf, Leaf)
    assert leaf.text == text.strip("'\"")


@pytest.mark.parametrize("text", ["", "~", "null", "Null"])
def test_null_is_nothing(text: str) -> None:
    leaf = read(f"key: {text}\nother: 1").entries["key"]
    assert isinstance(leaf, Leaf)
    assert leaf.text is None


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment", "---", "~", "{}"])
def test_an_empty_file_is_an_empty_mapping(text: str) -> None:
    assert read(text).entries == {}


def test_places_are_known() -> None:
    table = read("a: 1\nb:\n  - x\n  - y\n")
    assert table.places == {"a": "f.yaml:1", "b": "f.yaml:2"}
    items = table.entries["b"]
    assert isinstance(items, Items)
    assert [one.where for one in items.items] == ["f.yaml:3", "f.yaml:4"]


def test_aliases_mean_what_they_stand_for() -> None:
    table = read("a: &x {b: 1}\nc: *x\n")
    assert table.entries["c"] == table.entries["a"]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2", "f.yaml:2.*second time"),
        ("a:\n  b: 1\n  b: 2", "f.yaml:3.*second time"),
        (BOMB, "unfolds"),
        ("[" * 5000, "nested|no YAML"),
        ("a: " + "{b: " * 30 + "1" + "}" * 30, "nested too deeply"),
        ("- a\n- b", "a list where a mapping"),
        ("just words", "`just words` where a mapping"),
        ("a: 1\n---\nb: 2", "second document"),
        ("a: [1", "f.yaml:[12].*no YAML"),
        ("a: 'x", "no YAML"),
        ("\ta: 1", "f.yaml:1.*no YAML"),
        ("a: !!python/object/apply:os.system ['id']", "tag"),
        ("a: !own 1", "tag"),
        ("a: *nothing", "alias|no YAML"),
        ("a: &a [*a]", "alias|no YAML"),
        ("[a, b]: 1", "no plain word"),
        ("? {a: 1}\n: 2", "no plain word"),
        ("~: 1", "no plain word"),
        (b"\x00\x01\x02\xff", "no YAML"),
        (b"a: \xff\xfe", "no YAML"),
        (b"\x7fELF" + bytes(200), "no YAML"),
        (b"a: " + b"x" * (1 << 20), "bytes"),
        ("a: b: c", "no YAML"),
        ("%YAML 9.9\n---\na: 1", "no YAML"),
    ],
)
def test_what_cannot_be_followed_is_named_with_its_line(text: str | bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read(text)
    assert "f.yaml" in caught.value.message
    assert caught.value.hint


def test_explicit_plain_tags_do_no_harm() -> None:
    leaf = read("a: !!str 3").entries["a"]
    assert isinstance(leaf, Leaf)
    assert leaf.text == "3"


@given(st.binary(max_size=200))
def test_no_bytes_make_it_crash(data: bytes) -> None:
    try:
        read(data)
    except UsageError as refusal:
        said = refusal.message
    else:
        return
    assert "f.yaml" in said


@given(st.text(alphabet="ab:-[]{}&*!,?|>'\"#%@\n\t 1~", max_size=60))
def test_no_yaml_makes_it_crash(text: str) -> None:
    try:
        read(text)
    except UsageError as refusal:
        said = refusal.message
    else:
        return
    assert "f.yaml" in said


def test_values_of_flags_are_the_same_tree() -> None:
    made = from_value({"a": 3, "b": ["x", None], "c": True, "d": {"e": "f"}}, "--flag")
    assert isinstance(made, Table)
    assert [type(one) for one in made.entries.values()] == [Leaf, Items, Leaf, Table]
    assert made.entries["a"] == Leaf("3", "--flag")
    assert made.entries["c"] == Leaf("true", "--flag")
