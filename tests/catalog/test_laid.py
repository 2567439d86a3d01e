"""A table laid into a configuration folder: the newest is used, and one that is not sound is told, file and place."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from catalog.conftest import Places, forget

from rocenv.catalog import hazards, images, table
from rocenv.catalog.references import Reference
from rocenv.errors import UsageError

NEWER, SAME, OLDER = "2026-12-24", "2026-12-01", "2026-11-30"


def hazard_table(date: str, name: str = "laid") -> dict[str, Any]:
    row = {"id": name, "targets": ["gfx1151"], "what": "it breaks", "fix": "mend it", "source": "a test", "date": date}
    return {"schema": 1, "date": date, "hazards": [row]}


def lay(folder: Path, name: str, data: object) -> Path:
    path = folder / "catalog" / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def ids() -> list[str]:
    return [one.id for one in hazards.hitting({"gfx1151"}, hazards.State("6.17.0", None, "in-tree"))]


@pytest.mark.parametrize("date", [NEWER, SAME])
def test_one_that_is_not_older_is_used(places: Places, date: str) -> None:
    path = lay(places.user, "hazards.json", hazard_table(date))
    assert ids() == ["laid"]
    assert table.origin("hazards") == table.Origin(str(path), date)
    assert [name for name, _ in table.laid()] == ["hazards"]


def test_an_older_one_is_not_used(places: Places) -> None:
    lay(places.user, "hazards.json", hazard_table(OLDER))
    assert "laid" not in ids()
    assert table.origin("hazards").path is None
    assert table.laid() == ()


def test_the_newest_of_all_is_used_and_of_one_date_the_user_s(places: Places) -> None:
    lay(places.system, "hazards.json", hazard_table("2026-12-25", "system"))
    lay(places.user, "hazards.json", hazard_table(NEWER, "user"))
    assert ids() == ["system"]
    lay(places.user, "hazards.json", hazard_table("2026-12-25", "user"))
    forget()
    assert ids() == ["user"]


def test_yaml_is_read_as_well(places: Places) -> None:
    """What `rocenv/catalog/hazards.yaml` looks like, with a date as YAML writes it."""
    lay(
        places.user,
        "hazards.yaml",
        "schema: 1\ndate: 2026-12-24\nhazards:\n"
        "  - {id: laid, targets: [gfx1151], what: it breaks, fix: mend it, source: a test, date: 2026-12-24}\n",
    )
    assert ids() == ["laid"]


def test_a_newer_table_of_images_is_the_one_that_is_asked(places: Places) -> None:
    data = table.built_in("images")
    data["date"] = NEWER
    data["families"]["rocm/pytorch"]["tags"] = ["rocm11.0.0_ubuntu26.04_py3.14_pytorch_release_3.0.0"]
    lay(places.user, "images.json", data)
    (image,) = images.known("rocm/pytorch")
    assert image.frameworks == {"pytorch": "3.0.0"}
    old = images.describe(Reference.parse("rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"))
    assert old is not None
    assert not old.listed


@pytest.mark.parametrize("name", table.NAMES)
def test_each_built_in_table_would_be_taken(places: Places, name: str) -> None:
    lay(places.system, f"{name}.json", {**table.built_in(name), "date": NEWER})
    assert table.origin(name).date == NEWER


def test_without_a_folder_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "SYSTEM", tmp_path / "none")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    forget()
    assert table.folders() == ()
    assert table.origin("images").path is None
    forget()


@pytest.mark.parametrize("base", ["/" + "x" * 5000, "relative/folder", "/dev/null", "/proc/1/root/none"])
def test_a_folder_that_cannot_be_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: str) -> None:
    monkeypatch.setattr(table, "SYSTEM", tmp_path / "none")
    monkeypatch.setenv("XDG_CONFIG_HOME", base)
    monkeypatch.setenv("HOME", str(tmp_path))
    forget()
    assert table.folders() == ()
    forget()


def bent(**changes: object) -> dict[str, Any]:
    return {**hazard_table(NEWER), **changes}


def row(**changes: object) -> dict[str, Any]:
    return bent(hazards=[{**hazard_table(NEWER)["hazards"][0], **changes}])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bent(schema=2), "is a catalog of schema 2, and this rocenv reads schema 1"),
        (bent(schema=10**9), "is a catalog of schema 1000000000"),
        (bent(schema="2"), "`schema`: a text, where a whole number is expected"),
        (bent(schema=True), "`schema`: true or false, where a whole number is expected"),
        (bent(schema=0), "there is no schema 0"),
        ({"date": NEWER, "hazards": []}, "the key `schema` is missing"),
        ({"schema": 1, "hazards": []}, "the key `date` is missing"),
        (bent(date="2026-13-01"), "`date`: `2026-13-01` is no date"),
        (bent(date=20261224), "`date`: a whole number, where a text is expected"),
        (bent(hazards={}), "`hazards`: a mapping, where a list is expected"),
        (bent(hazards=[3]), "`hazards[0]`: a whole number, where a mapping is expected"),
        (bent(more=1), "there is no key `more`; there are date, hazards"),
        (row(targets="gfx1151"), "`hazards[0].targets`: a text, where a list is expected"),
        (row(targets=["gfx1151", "Navi"]), "`hazards[0].targets[1]`: `Navi` is not written as it should be"),
        (row(kernel="newest"), "`hazards[0].kernel`: `newest` is no version"),
        (row(fix=None), "`hazards[0].fix`: null, where a text is expected"),
        (row(origin="fast"), "`hazards[0].origin`: `fast` is not written as it should be"),
        ([1], "a list, where a mapping is expected"),
        ("null", "null, where a mapping is expected"),
        ("", "is no JSON"),
        ('{"schema": 1,', "is no JSON"),
        ('{"schema": 1, "date": 1.5}', "`1.5` is no whole number"),
        ('{"schema": NaN}', "`NaN` is no whole number"),
        ('{"schema": 1, "schema": 1}', "the key `schema` stands there twice"),
        ("[" * 100_000, "is no JSON"),
        ("1" * 5000, "is no JSON"),
    ],
)
def test_json_that_is_not_sound_is_told(places: Places, data: object, words: str) -> None:
    path = lay(places.user, "hazards.json", data)
    with pytest.raises(UsageError) as caught:
        hazards.count()
    assert str(path) in caught.value.message
    assert words in caught.value.message
    assert caught.value.hint


BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "line 2: a table has no aliases (`*a`)"),
        ("a: " + "[" * 30 + "]" * 30, "line 1: this is nested too deeply"),
        ("schema: 1\ndate: 2026-12-24\nhazards: [\n", "cannot be read"),
        ("schema: 1\nschema: 1\n", "line 2: the key `schema` stands here twice"),
        ("schema: 1.0\n", "line 1: `1.0` would be read as a number with a fraction"),
        ("schema: !!python/object/apply:os.system [true]\n", "cannot be read"),
        ("--- 1\n--- 2\n", "cannot be read"),
        ("schema: 9\n", "is a catalog of schema 9"),
        ("date: 2026-02-31\n", "cannot be read"),
    ],
)
def test_yaml_that_is_not_sound_is_told(places: Places, text: str, words: str) -> None:
    path = lay(places.user, "hazards.yaml", text)
    with pytest.raises(UsageError) as caught:
        hazards.count()
    assert str(path) in caught.value.message
    assert words in caught.value.message


def test_what_is_no_plain_file_is_not_waited_for(places: Places) -> None:
    os.mkfifo(places.user / "catalog" / "hazards.json")
    with pytest.raises(UsageError, match="no regular file"):
        hazards.count()


def test_a_huge_file_is_not_read(places: Places) -> None:
    path = places.user / "catalog" / "hazards.json"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # a hole: it takes no room
    with pytest.raises(UsageError, match="larger than 4 MiB"):
        hazards.count()


def test_bytes_that_are_no_text_are_told(places: Places) -> None:
    (places.user / "catalog" / "hazards.json").write_bytes(b'{"schema": "\xff\xfe"}')
    with pytest.raises(UsageError, match="is no JSON"):
        hazards.count()


IMAGES: list[tuple[tuple[object, ...], object, str]] = [
    (("rocm/pytorch", "grammars"), ["(unclosed"], "`(unclosed` is no pattern"),
    (("rocm/pytorch", "tags"), ["not-a-tag-of-it"], "the tag `not-a-tag-of-it` fits none of its grammars"),
    (("rocm/pytorch", "tags"), ["../../etc"], "is not written as it should be"),
    (("rocm/pytorch", "tags"), [{"tag": "latest", "repository": "rocm/other"}], "which is no repository of it"),
    (("rocm/pytorch", "tags"), [{"tag": "latest", "facts": {"rocm": "newest"}}], "hold what is no version"),
    (("rocm/pytorch", "repositories"), {}, "`repositories` is empty"),
    (("rocm/pytorch", "kind"), "toy", "`toy` is not written as it should be"),
    (("rocm/pytorch", "facts"), [{"user": "root", "source": "nowhere"}], "there is no source `nowhere`"),
    (("rocm/pytorch", "facts"), [{"user": "root", "source": "docs", "when": {"rocm": "~7"}}], "no constraint"),
    (("rocm/pytorch", "facts"), [{"workdir": "here", "source": "docs"}], "`here` is not written as it should be"),
]


@pytest.mark.parametrize(("where", "value", "words"), IMAGES)
def test_images_that_are_not_sound_are_told(places: Places, where: tuple[str, str], value: object, words: str) -> None:
    data = table.built_in("images")
    data["date"] = NEWER
    data["families"][where[0]][where[1]] = value
    lay(places.user, "images.json", data)
    with pytest.raises(UsageError) as caught:
        images.families()
    assert words in caught.value.message
    assert "families.rocm/pytorch" in caught.value.message


def test_a_grammar_that_reads_no_version_takes_no_tag(places: Places) -> None:
    """A pattern may be sound and catch what is no version: such a tag is not taken, and nothing crashes."""
    data = table.built_in("images")
    data["date"] = NEWER
    data["families"]["rocm/pytorch"] |= {"grammars": ["(?P<rocm>.*)"], "tags": []}
    lay(places.user, "images.json", data)
    assert images.describe(Reference.parse("rocm/pytorch:whatever")) is None
    assert images.describe(Reference.parse("rocm/pytorch:7.2")) is not None
