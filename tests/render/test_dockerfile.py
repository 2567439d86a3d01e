"""Dockerfiles: the same bytes for the same wish, and nothing of a value can become an instruction."""

from __future__ import annotations

import pytest

from rocenv.errors import UsageError
from rocenv.model.wish import BuildWish
from rocenv.render.dockerfile import built_reference, render_dockerfile

BASE = "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"


def render(**packages: tuple[str, ...]) -> str:
    return render_dockerfile(BuildWish(packages=packages), base=BASE, profile="pytorch", gfx=("gfx942",))


def test_base_and_packages() -> None:
    text = render(apt=("git", "libsndfile1"), pip=("transformers>=4.40",))
    assert text.startswith(f"FROM {BASE}\n")
    assert "apt-get install -y --no-install-recommends git libsndfile1 " in text
    assert "--constraint /tmp/rocenv-held.txt 'transformers>=4.40'" in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_nothing_wanted_is_nothing_run() -> None:
    assert "RUN" not in render()


def test_same_wish_same_bytes_and_tag() -> None:
    assert render(apt=("git",)) == render(apt=("git",))
    assert built_reference("pytorch", render(apt=("git",))) != built_reference("pytorch", render(apt=("curl",)))


@pytest.mark.parametrize("word", ["git; rm -rf /", "$(id)", "`id`", "a b", "--x=$HOME", "'", '"'])
def test_a_package_is_one_shell_word(word: str) -> None:
    line = next(line for line in render(apt=("first", word)).splitlines() if "apt-get install" in line)
    import shlex

    words = shlex.split(line.removesuffix("\\"))
    assert words[-1] == word


def test_a_line_break_is_refused() -> None:
    with pytest.raises(UsageError, match="line break"):
        render(pip=("a\nUSER root",))


@pytest.mark.parametrize("base", ["x\nRUN id", "a b", "", "-x", "$(id)"])
def test_a_base_that_is_no_reference_is_refused(base: str) -> None:
    with pytest.raises(UsageError, match="no image reference"):
        render_dockerfile(BuildWish(), base=base, profile="p", gfx=())


def test_unknown_template_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        render_dockerfile(BuildWish(template="nope"), base=BASE, profile="p", gfx=())
    assert "on-image" in str(caught.value.hint)


def test_a_template_may_not_leave_its_folder() -> None:
    with pytest.raises(UsageError, match="no Dockerfile template"):
        render_dockerfile(BuildWish(template="../../etc/passwd"), base=BASE, profile="p", gfx=())
