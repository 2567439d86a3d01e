"""Image references as Docker reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocenv.catalog.references import Reference

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "full", "familiar"),
    [  # the last nine from distribution/reference's own tests and Docker's rules for names
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
        ("docker.io/ubuntu", "docker.io/library/ubuntu:latest", "ubuntu:latest"),
        ("index.docker.io/library/ubuntu", "docker.io/library/ubuntu:latest", "ubuntu:latest"),
        ("registry:5000", "docker.io/library/registry:5000", "registry:5000"),
        ("registry:5000/x", "registry:5000/x:latest", "registry:5000/x:latest"),
        ("[::1]:5000/x:1", "[::1]:5000/x:1", "[::1]:5000/x:1"),
        ("xn--n3h.com/myimage:1", "xn--n3h.com/myimage:1", "xn--n3h.com/myimage:1"),
        ("sub-dom1.foo.com/bar/baz/quux:some-long-tag", "sub-dom1.foo.com/bar/baz/quux:some-long-tag",
         "sub-dom1.foo.com/bar/baz/quux:some-long-tag"),
        ("a__b/c--d_e.f:_", "docker.io/a__b/c--d_e.f:_", "a__b/c--d_e.f:_"),
        ("b.gcr.io/test.example.com/my-app:test", "b.gcr.io/test.example.com/my-app:test",
         "b.gcr.io/test.example.com/my-app:test"),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("https://ghcr.io/a/b", "no scheme"),
        ("rocm/Pytorch:1", "lower-case"),
        ("Rocm/pytorch", "lower-case"),
        ("rocm/pytorch:$(reboot)", r"the character '\$'"),
        ("rocm/pytorch:1;x", "the character ';'"),
        ("rocm/pytorch\x1b[2J", r"the character '\\x1b'"),
        ("../../etc/passwd", "like a path"),
        ("/etc/passwd", "like a path"),
        ("a//b", "like a path"),
        ("--privileged", "an option"),
        ("x:" + "a" * 129, "1 to 128"),
        ("x:-a", "1 to 128"),
        ("x@sha256:" + "a" * 32, "64 small hexadecimal"),
        ("x@sha256:" + "A" * 64, "64 small hexadecimal"),
        ("x@md5:" + "a" * 32, "64 small hexadecimal"),
        ("x" * 600, "more than 512"),
        ("a/" + "x" * 254, "255 characters"),
        ("a" * 64, "an image's id"),
        ("host:65536/x", "no port 65536"),
        ("a..b", "like a path"),
        ("a._b", "small letters and digits"),
        ("a___b", "small letters and digits"),
        ("a_/b", "small letters and digits"),
        ("-host.example/x", "an option"),
    ],
)
def test_the_rule_that_is_broken_is_named(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Reference.parse(text)


@pytest.mark.parametrize("text", ["x:" + "a" * 128, "a/" + "x" * 253, "host:65535/x", "x@sha512:" + "a" * 128])
def test_what_is_just_within_the_rules(text: str) -> None:
    assert text in Reference.parse(text).full


@given(st.text(max_size=60))
def test_no_text_makes_it_crash_or_passes_signs_of_a_shell_s(text: str) -> None:
    try:
        found = Reference.parse(text)
    except ValueError:
        return
    assert not set(found.full) & set(" $`;|&<>()\\\"'\n\t*?{}~!#")
    assert not found.full.startswith("-")
