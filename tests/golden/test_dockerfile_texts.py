"""The reviewed Dockerfiles hold; none of them has a fault that anybody tells."""

from __future__ import annotations

import re

import pytest
from golden import dockerfile_texts

from rocenv.checks.files.dockerfile_reading import read
from rocenv.lifecycle import lint


@pytest.mark.parametrize("name", dockerfile_texts.names())
def test_a_reviewed_text_holds(name: str) -> None:
    said = dockerfile_texts.difference(name)
    assert said == "", f"look at `python tests/golden/dockerfile_texts.py`:\n{said}"


@pytest.mark.parametrize("name", dockerfile_texts.names())
def test_every_dockerfile_is_clean(name: str) -> None:
    """Of rocenv's own rules and hadolint's; each exception stands in the text by its rule, its reason in the docs."""
    template, _, host = name.removesuffix(".Dockerfiles").partition("--")
    faults: dict[str, list[str]] = {}
    seen: set[str] = set()
    for title, text in dockerfile_texts.sections(template, dockerfile_texts.described(host)):
        if text.startswith("refused:"):
            continue
        read(text, "Dockerfile")
        said = lint.own(text)
        likeness = re.sub(r"[\w./:@-]+", "", text)  # texts that differ in names alone are asked about once
        if likeness not in seen:
            asked = lint.hadolint(text)
            assert asked is not None, "hadolint is a development dependency: `./dev setup` installs it"
            said += asked
        seen.add(likeness)
        if said:
            faults[title] = said
    assert faults == {}


def test_the_table_has_all_templates() -> None:
    from rocenv.resources import data_folder

    there = {path.name.partition(".")[0] for path in data_folder("dockerfiles").glob("*.Dockerfile.j2")}
    assert there - {"base"} == set(dockerfile_texts.TEMPLATES)
