"""Image references as Docker reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocenv.catalog.references import Reference

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "full", "familiar"),
    [
        ("ubuntu", "docker.io/library/ubuntu:latest", "ubuntu:latest"),
        ("rocm/pytorch", "docker.io/rocm/pytorch:latest", "rocm/pytorch:latest"),
        ("docker.io/rocm/pytorch:1", "docker.io/rocm/pytorch:1", "rocm/pytorch:1"),
        ("index.docker.io/rocm/pytorch:1", "docker.io/rocm/pytorch:1", "rocm/pytorch:1"),
        ("ghcr.io/a/b:t", "ghcr.io/a/b:t", "ghcr.io/a/b:t"),
        ("localhost:5000/x", "localhost:5000/x:latest", "localhost:5000/x:latest"),
        ("localhost/x:1", "localhost/x:1", "localhost/x:1"),
        ("a/b/c:1", "docker.io/a/b/c:1", "a/b/c:1"),
        (f"x@{DIGEST}", f"docker.io/library/x@{DIGEST}", f"x@{DIGEST}"),
        (f"r.example/x:1@{DIGEST}", f"r.example/x:1@{DIGEST}", f"r.example/x:1@{DIGEST}"),
    ],
)
def test_references(text: str, full: str, familiar: str) -> None:
    found = Reference.parse(text)
    assert (found.full, found.familiar) == (full, familiar)
    assert Reference.parse(found.full) == Reference.parse(found.familiar) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "x:",
        "x:y:z",
        "x@",
        "x@sha256:1",
        "X",
        "Rocm/pytorch",
        "x y",
        "x\n",
        "x;y",
        "x:$(y)",
        "../x",
        "a//b",
        "-x",
        "x/-y",
        "x" * 600,
        "x:a/b",
        "é",
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no image reference"):
        Reference.parse(text)


@given(st.text(max_size=60))
def test_no_text_makes_it_crash_or_passes_signs_of_a_shell_s(text: str) -> None:
    try:
        found = Reference.parse(text)
    except ValueError:
        return
    assert not set(found.full) & set(" $`;|&<>()\\\"'\n\t*?{}~!#")
    assert not found.full.startswith("-")
