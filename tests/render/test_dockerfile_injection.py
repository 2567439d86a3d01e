"""Nothing that a profile says becomes an instruction: it is refused with a clear error, or it is inert."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from render.recipes import DEV, PYTORCH, dockerfile, packages, plan, profile

from rocenv.checks.files.dockerfile_reading import read
from rocenv.errors import UsageError
from rocenv.model.recipe import Config
from rocenv.model.wish import SourceWish
from rocenv.render.dockerfile import render_dockerfile
from rocenv.render.recipe import recipe_of

# What ends a line, a quote or a word; what Docker, a shell or Jinja would expand; what an eye takes for something else.
EVIL = (
    "\n", "\r\n", "\r", "\x00", "\x85", "\u2028", "\u2029", "\x0b", "\u202e", "\u200b", "\ufeff", "\ud800", "ｔorch",
    "\nRUN id", "\nUSER root", "\n# escape=`\n", "RUN id", "'", '"', "`id`", "$(id)", "${PATH}", "$PATH", "\\", "\\\n",
    "#", "# syntax=evil/frontend", "<<EOF", "{{ 7 * 7 }}", "{% include 'x' %}", ";", "&& id", "| sh", " ",
    "--network=host", "é", "日本", "раckage", "x" * 3000,
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(EVIL), st.text(max_size=12)), min_size=1, max_size=4).map("".join)


def fields(value: str) -> dict[str, Callable[[], str]]:
    """Every place of a profile where a text of the user's goes into a Dockerfile."""

    def packaged(manager: str) -> Callable[[], str]:
        return lambda: dockerfile(packages=packages(**{manager: ("first", value)}), context=".")

    def named(**changed: Any) -> str:
        wished = profile(PYTORCH, packages=packages(pip=("einops",)))
        return render_dockerfile(recipe_of(plan(PYTORCH), wished._replace(**changed)))

    def compiled(**source: Any) -> Callable[[], str]:
        return lambda: dockerfile(DEV, template="from-source", context=".", source=SourceWish(**source))

    def wheeled(**build: Any) -> Callable[[], str]:
        wished = profile("python:3.12-slim", template="wheels", **build)
        return lambda: render_dockerfile(recipe_of(plan("python:3.12-slim", rocm="7.14.0"), wished))

    def said(**config: Any) -> Callable[[], str]:
        recipe = recipe_of(plan(PYTORCH), profile(PYTORCH, template="slim", user="image"))
        assert recipe.slim is not None
        return lambda: render_dockerfile(
            recipe._replace(slim=recipe.slim and recipe.slim._replace(config=Config(**config)))
        )

    return {
        "apt": packaged("apt"),
        "pip": packaged("pip"),
        "argument": lambda: dockerfile(packages=packages(pip=("einops",)), args={"OWN": value}),
        "argument's name": lambda: dockerfile(packages=packages(pip=("einops",)), args={value: "x"}),
        "secret": lambda: dockerfile(packages=packages(pip=("einops",)), secrets=(value,)),
        "secret's file": lambda: dockerfile(packages=packages(pip=("einops",)), secrets=(f"TOKEN={value}",)),
        "base": lambda: dockerfile(value, packages=packages(pip=("einops",))),
        "template": lambda: dockerfile(template=value),
        "system": lambda: dockerfile(template="distribution", os=value),
        "component": lambda: dockerfile("ubuntu:24.04", template="distribution", components=(value,)),
        "target": lambda: dockerfile("ubuntu:24.04", template="distribution", gfx=(value,), components=("math",)),
        "release": lambda: dockerfile("ubuntu:24.04", template="distribution", rocm=value),
        "health": lambda: dockerfile(packages=packages(pip=("einops",)), health=value, ports=("8000:8000",)),
        "port": lambda: dockerfile(packages=packages(pip=("einops",)), health="/", ports=(value,)),
        "an image's variable": said(env=(("OWN", value),)),
        "an image's variable's name": said(env=((value, "x"),)),
        "an image's entrypoint": said(entrypoint=("/enter", value)),
        "an image's command": said(command=(value,)),
        "an image's label": said(labels=(("own", value),)),
        "an image's user": said(user=value or "x"),
        "wheel": wheeled(wheels=(value,)),
        "wheel's target": wheeled(gfx=(value,)),
        "source file": compiled(files=(value,)),
        "source folder": compiled(folder=value),
        "program": compiled(files=("add.hip",), program=value),
        "hipify": compiled(hipify=value),
        "compiler's option": compiled(files=("add.hip",), options=("-O2", value)),
        "cmake's option": compiled(options=("-DX=1", value)),
        "compiler's package": compiled(packages=(value,)),
        "runtime": compiled(files=("add.hip",), runtime=value),
        "compiled target": lambda: dockerfile(DEV, template="from-source", context=".", gfx=(value,)),
        "profile": lambda: named(name=value),
        "user": lambda: named(user=value),
        "mirror": lambda: dockerfile(packages=packages(pip=("einops",)), mirrors={"pip": value}),
    }


PLAIN = {"health": "/health", "port": "8000:8000", "target": "gfx1100", "component": "math", "system": "ubuntu-24.04"}
PLAIN |= {"wheel": "rocm", "wheel's target": "gfx942"}
PLAIN |= {"hipify": "perl", "compiled target": "gfx1100", "runtime": PYTORCH}
PLAIN |= {"template": "on-image", "release": "7.2", "base": PYTORCH, "argument's name": "OWN", "secret": "TOKEN"}


def instructions(text: str) -> list[str]:
    return [one.keyword for one in file_of(text)]


def file_of(text: str) -> list[Any]:
    whole = read(text, "Dockerfile")
    return [*whole.before, *(one for stage in whole.stages for one in stage.instructions)]


@pytest.mark.parametrize("field", sorted(fields("x")))
@settings(max_examples=60, deadline=None)
@given(value=TEXTS)
@example(value="\nRUN id\n")
@example(value="x\\")
@example(value="x" * 1_000_000)
@example(value="x\u2028RUN id")
@example(value="x\x00y")
def test_a_value_is_refused_or_inert(field: str, value: str) -> None:
    plain = fields(PLAIN.get(field, "plain"))[field]()
    try:
        text, refused = fields(value)[field](), None
    except UsageError as error:
        text, refused = "", error
    if refused is not None:
        assert len(refused.message) < 400
        assert refused.hint
        assert not set(refused.message) & {"\n", "\x00", "\u202e"}
        return
    if field in (
        "base",
        "template",
        "release",
        "system",
        "component",
        "target",
        "compiled target",
        "wheel",
        "wheel's target",
    ):  # what it names decides what is done
        assert "id" not in [word for one in file_of(text) for word in one.text.split()]
        return
    assert instructions(text) == instructions(plain)
    assert len(text.splitlines()) == len(text.split("\n")) - 1, (
        "a character that only some readers take for a line's end"
    )


@given(value=TEXTS)
@settings(max_examples=200, deadline=None)
def test_what_passes_as_a_package_is_one_word_of_the_step(value: str) -> None:
    try:
        text = dockerfile(packages=packages(pip=("first", value)))
    except UsageError:
        return
    step = next(line for line in text.splitlines() if "hold.py pip" in line)
    assert shlex.split(step)[-1] == value


@given(value=TEXTS)
@settings(max_examples=200, deadline=None)
def test_what_passes_as_an_argument_is_read_back_as_it_was(value: str) -> None:
    """By Docker's rules for a double-quoted word: a backslash before `"`, `$` and itself is taken away, no other."""
    try:
        text = dockerfile(template="on-image", args={"OWN": value})
    except UsageError:
        return
    (line,) = (line for line in text.split("\n") if line.startswith("ARG OWN="))
    quoted = line.removeprefix("ARG OWN=")
    assert (quoted[0], quoted[-1]) == ('"', '"')
    seen, rest = [], iter(quoted[1:-1])
    for sign in rest:
        assert sign not in '"$'
        seen.append(next(rest) if sign == "\\" else sign)
    assert "".join(seen) == value


def test_a_health_check_is_a_json_array() -> None:
    text = dockerfile(template="on-image", health="/a", ports=("8000:8000",))
    line = next(line for line in text.splitlines() if line.startswith("HEALTHCHECK"))
    assert json.loads(line.partition(" CMD ")[2])[:2] == ["/bin/bash", "-c"]


@pytest.mark.parametrize("word", ["--index-url=https://evil", "-e .", "-o APT::X::=id", "-r /etc/passwd x"])
@pytest.mark.parametrize("manager", ["apt", "pip"])
def test_an_option_is_no_package(manager: str, word: str) -> None:
    with pytest.raises(UsageError):
        dockerfile(packages=packages(**{manager: (word,)}), context=".")


@pytest.mark.parametrize("word", ["git+https://me:token@host/x.git", "x @ https://token@host/x.whl"])
def test_a_password_in_an_address_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="password or a token"):
        dockerfile(packages=packages(pip=(word,)))


@pytest.mark.parametrize(
    "word",
    ["transformers>=4.40", "a[b,c]==1.0; python_version > '3.9'", "git+https://host/x.git@v1", "x @ https://h/x.whl"],
)
def test_what_pip_takes_is_taken(word: str) -> None:
    step = next(line for line in dockerfile(packages=packages(pip=(word,))).splitlines() if "hold.py pip" in line)
    assert shlex.split(step)[-1] == word
