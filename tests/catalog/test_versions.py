"""Versions by their streams: no text order anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocenv.catalog.versions import CORE_SDK, LEGACY, PREVIEW, Constraint, Version

V = Version.parse


def test_numbers_are_compared_and_not_text() -> None:
    texts = ["10.1.0", "7.9", "7.14", "7.2.4", "10.0", "6.4.3", "7.10.0", "7.2"]
    assert [str(one) for one in sorted(map(V, texts))] == [
        "6.4.3",
        "7.2",
        "7.2.4",
        "7.9",
        "7.10.0",
        "7.14",
        "10.0",
        "10.1.0",
    ]


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("5.7.0", LEGACY),
        ("6.4.4", LEGACY),
        ("7.2.4", LEGACY),
        ("7.9.0", PREVIEW),
        ("7.10", PREVIEW),
        ("7.13.0", PREVIEW),
        ("7.14", CORE_SDK),
        ("7.14.1", CORE_SDK),
        ("10.0", CORE_SDK),
        ("10.1.0", CORE_SDK),
        ("7.15.0a20260720", PREVIEW),
        ("10.1.0rc2", PREVIEW),
    ],
)
def test_streams(text: str, stream: str) -> None:
    assert V(text).stream == stream


def test_previews_never_outrank_production() -> None:
    ranked = sorted(map(V, ["7.13.0", "7.2.4", "10.0", "7.9", "6.1"]), key=lambda one: one.rank)
    assert [str(one) for one in ranked] == ["7.9", "7.13.0", "6.1", "7.2.4", "10.0"]


def test_a_zero_at_the_end_says_nothing() -> None:
    assert V("7.2") == V("7.2.0")
    assert hash(V("10.0")) == hash(V("10.0.0"))
    assert V("7.2") != V("7.2.1")


def test_what_leads_up_to_a_release_is_older() -> None:
    assert V("7.14.0rc1") < V("7.14.0rc2") < V("7.14.0")
    assert V("7.13.0") < V("7.14.0a20260608") < V("7.14.0")
    assert V("7.2.4") == V("7.2.4-93")
    assert V("2.12.0+rocm7.14.0") == V("2.12.0")


@pytest.mark.parametrize(
    ("text", "minor"), [("7.2.4", (7, 2)), ("10", (10, 0)), ("30.30.4", (30, 30)), ("6.16.13", (6, 16))]
)
def test_minor(text: str, minor: tuple[int, int]) -> None:
    assert V(text).minor == minor


@pytest.mark.parametrize("text", ["", "x", "7..2", "7.", "latest", "7.2.x", "٧", "1" * 12, "7.2 4", "-7"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="no version"):
        V(text)


@pytest.mark.parametrize(
    ("constraint", "allowed", "refused"),
    [
        (">=7.0", ["7.0.0", "7.2.4", "10.1"], ["6.4.3"]),
        (">=7.0,<10", ["7.14.1"], ["10.0", "6.4"]),
        ("7.2", ["7.2", "7.2.0", "7.2.4"], ["7.20", "7.1.1", "7.14"]),
        ("10", ["10.0", "10.1.0"], ["7.14", "1.0"]),
        ("10.0", ["10.0", "10.0.0"], ["10.1"]),
        ("==7.2", ["7.2.0"], ["7.2.4"]),
        ("!=7.1", ["7.2", "7.0"], ["7.1.1", "7.1"]),
        (">7.2", ["7.2.1", "10.0"], ["7.2.0", "7.1"]),
        ("<=7.2", ["7.2.0", "6.4"], ["7.2.4"]),
        (" >= 7.0 , != 7.1 ", ["7.2"], ["7.1.1"]),
    ],
)
def test_constraints(constraint: str, allowed: list[str], refused: list[str]) -> None:
    demand = Constraint.parse(constraint)
    assert [text for text in allowed + refused if demand.allows(V(text))] == allowed


def test_only_a_constraint_that_asks_for_it_names_a_version() -> None:
    assert Constraint.parse("7.13").names(V("7.13.0"))
    assert Constraint.parse("==7.13.0").names(V("7.13.0"))
    assert not Constraint.parse(">=7.13").names(V("7.13.0"))


@pytest.mark.parametrize("text", ["", ">=", "newest", ">=7,", "~=7.2", "7.2 || 8"])
def test_what_is_no_constraint(text: str) -> None:
    with pytest.raises(ValueError, match="no "):
        Constraint.parse(text)


NUMBERS = st.lists(st.integers(0, 99), min_size=1, max_size=4)


@given(NUMBERS, NUMBERS)
def test_the_order_is_that_of_the_padded_numbers(one: list[int], other: list[int]) -> None:
    left, right = V(".".join(map(str, one))), V(".".join(map(str, other)))
    padded = [numbers + [0] * (4 - len(numbers)) for numbers in (one, other)]
    assert (left < right) == (padded[0] < padded[1])
    assert (left == right) == (padded[0] == padded[1])
