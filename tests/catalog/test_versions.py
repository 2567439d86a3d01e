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
    assert V("7.2.0.dev0") < V("7.2.0a20260720") < V("7.2.0b1") < V("7.2.0rc1") < V("7.2.0")


def test_what_mends_a_release_is_newer() -> None:
    """SGLang's tags: v0.5.13, v0.5.13.post1, v0.5.14."""
    assert V("0.5.13") < V("0.5.13.post1") < V("0.5.13.post2") < V("0.5.14")
    assert V("0.5.13.post1") != V("0.5.13")
    assert Constraint.parse(">=0.5.13").allows(V("0.5.13.post1"))
    assert Constraint.parse("0.5.13").allows(V("0.5.13.post1"))
    assert V("7.2.0.post1").stream == LEGACY


def test_the_jump_from_seven_to_ten() -> None:
    """There is no 8 and no 9: 10.0.0 came after 7.14, and in time before 7.14.1."""
    row = ["6.4.4", "7.0", "7.2.4", "7.9.0", "7.13.0", "7.14.0", "7.14.1", "10.0.0", "10.1.0"]
    assert sorted(row, key=V) == row
    assert not Constraint.parse("7").allows(V("10.0.0"))
    assert Constraint.parse(">=7.14").allows(V("10.0.0"))
    assert Constraint.parse("<10").allows(V("7.14.1"))


# Driver releases and module versions as packages, DKMS and the kernel print them.
@pytest.mark.parametrize(
    "row",
    [
        ["5.7", "6.0", "6.4", "30.10", "30.10.1", "30.20.0", "30.30.4", "31.10.0", "31.50.0", "31.60.0"],
        ["6.0.5", "6.8.5", "6.10.5", "6.12.12", "6.14.14", "6.16.6", "6.16.13", "6.19.4", "6.19.14"],
        ["6.14.14.30100100-2212064", "6.16.6.30200100-2255209", "6.16.13.30300000-2278356", "6.16.13.30300400-2341068"],
        ["6.3.42131", "6.4.43483", "7.0.51831", "7.1.25424", "7.2.26015", "7.2.53211", "7.15.26333"],
    ],
)
def test_drivers_modules_and_hip_are_in_the_order_of_their_numbers(row: list[str]) -> None:
    assert sorted(set(row), key=V) == row


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
