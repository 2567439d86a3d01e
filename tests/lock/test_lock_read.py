"""A lock that was edited, merged, or made to harm: an error with its line and a way out, never a guess."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lock.locks import OTHER, TEXT

from rocenv.errors import UsageError
from rocenv.lock.read import read_lock

BOMB = "a: &a [x, x]\n" + "".join(
    f"{n}: &{n} [{', '.join([f'*{p}'] * 9)}]\n" for p, n in zip("abcdef", "bcdefg", strict=True)
)


def fault(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read_lock(text.encode())
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("version: 1\n", "", 3, "the key `version` is missing"),
        ("version: 1", "version: 0", 3, "no version"),
        ("version: 1", "version: one", 3, "not its form"),
        ("version: 1", "version: 2", 3, "is of version 2"),
        (f"digest: {OTHER}", f"digest: {OTHER[:-1]}", 11, "`digest`"),
        (f"digest: {OTHER}", f"digest: md5:{'0' * 64}", 11, "`digest`"),
        (f"digest: {OTHER}", "digst: x", 11, "there is no key `digst`"),
        ("      reference: rocm/dev-ubuntu-24.04:7.2-full\n", "", 10, "the key `reference` is missing"),
        ("      reference: rocm/dev-ubuntu", "      reference: rocm/$(id)", 10, "is no image reference"),
        (f"full\n      digest: {OTHER}", f"full@{OTHER}\n      digest: {OTHER}", 10, "a second time"),
        ("  train:", "  hip:", 13, "the key `hip` stands here a second time"),
        ("  train:", "  ../up:", 13, "is no name"),
        ("linux/amd64:", "linux:", 26, "is no name"),
        ("- mirror.example:5000/rocm/pytorch", "- https://mirror.example", 30, "is no repository"),
        ("- gfx90a", "- gfx90a;id", 33, "`gfx`"),
        ("rocenv/train:0123456789abcdef", "rocenv/train:latest", 36, "`reference`"),
        ("result: passed", "result: well", 43, "`result`"),
        (TEXT[TEXT.index("    proof:"):], "    proof: [x]\n", 42, "`proof` is a list"),
        ("version: 1", "version: !!python/object/apply:os.system 1", 3, "the tag"),
        ("version: 1", "version: &v 1\nagain: *w", 4, "stands for nothing"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line(old: str, new: str, line: int, says: str) -> None:
    assert TEXT.count(old) >= 1
    error = fault(TEXT.replace(old, new, 1))
    assert f"`rocenv.lock:{line}`" in error.message
    assert says in error.message


@pytest.mark.parametrize("text", ["a: [", "- a\n", "\tversion: 1\n", "\0", TEXT[: len(TEXT) // 2] + "\n  x"])
def test_what_is_no_yaml_is_taken_back_whole(text: str) -> None:
    """Nobody mends a file by hand that is not written by hand."""
    assert str(fault(text).hint).startswith("`git checkout rocenv.lock` brings the committed one back")


def test_a_merge_conflict_is_named_as_such() -> None:
    error = fault(TEXT.replace("  train:\n", "<<<<<<< HEAD\n  train:\n=======\n  eval:\n>>>>>>> theirs\n"))
    assert "`rocenv.lock:13`: a merge conflict" in error.message
    assert "git checkout --ours rocenv.lock && rocenv lock" in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB, "unfolds to more"),
        (TEXT + "---\nversion: 1\n", "second document"),
        ("version: 1\nprofiles: {a: {image: " + "{x: " * 50 + "1" + "}" * 52, "nested"),
        ("- a\n", "a list where a mapping"),
        ("version: 1\nprofiles: [", "no YAML"),
        ("", "the key `version` is missing"),
        ("x" * (1 << 21), "bytes"),
        ("version: 1\nprofiles: {}\nextra: 1\n", "there is no key `extra`"),
        ("version: 1\nprofiles:\n", "`profiles`"),
        ("version: 1\nprofiles:\n  hip: {}\n", "the key `image` is missing"),
    ],
)
def test_what_is_no_lock_is_refused(text: str, says: str) -> None:
    assert says in fault(text).message


@settings(deadline=None, max_examples=50)
@given(st.integers(0, len(TEXT) - 1), st.sampled_from([b"\x00", b"\xff", b"\t", b":", b"\n", b"&a ", b"- ", b'"']))
def test_one_odd_byte_is_an_error_in_words_or_nothing(place: int, byte: bytes) -> None:
    data = TEXT.encode()
    with suppress(UsageError):
        read_lock(data[:place] + byte + data[place:])


@settings(deadline=None, max_examples=50)
@given(st.integers(0, len(TEXT) - 1))
def test_a_file_that_was_cut_is_an_error_in_words_or_a_lock_of_less(end: int) -> None:
    with suppress(UsageError):
        read_lock(TEXT.encode()[:end])
