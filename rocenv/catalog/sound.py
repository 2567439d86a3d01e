"""Whether a table is what this rocenv can read: its schema, its shape, and what holds between its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rocenv.catalog import grammar
from rocenv.catalog.shape import Misshapen, check
from rocenv.catalog.shapes import SHAPES
from rocenv.catalog.table import keys
from rocenv.catalog.versions import Constraint
from rocenv.errors import UsageError

SCHEMA = 1  # counted up when a table may say what an older rocenv would read wrongly


def check_table(name: str, data: Any, where: str) -> None:
    """Raise UsageError, naming file and place, where a table is not what this rocenv can read."""
    hint = f"mend `{where}` there, or remove it: rocenv has a table of its own"
    try:
        check(data, dict)
        _known_schema(data, where)
        check({key: value for key, value in data.items() if key != "schema"}, SHAPES[name])
        for wrong in _within(name, data):
            raise Misshapen(wrong)
    except ValueError as error:
        raise UsageError(f"`{where}`: {error}", hint) from error


def _known_schema(data: Mapping[str, Any], where: str) -> None:
    schema = data.get("schema", None)
    if schema is None:
        raise Misshapen("the key `schema` is missing (it is 1)")
    check(schema, int, "schema")
    if schema > SCHEMA:
        raise UsageError(
            f"`{where}` is a catalog of schema {schema}, and this rocenv reads schema {SCHEMA}",
            f"update rocenv, or remove `{where}`",
        )
    if schema < 1:
        raise Misshapen(f"`schema`: there is no schema {schema}")


def _within(name: str, data: Mapping[str, Any]) -> Iterator[str]:
    """What no shape tells: tags that their own grammar does not read, sources that are not named."""
    if name == "images":
        if not data["families"]:
            yield "`families`: there is none"
        for family, table in data["families"].items():
            yield from (f"`families.{family}`: {wrong}" for wrong in _family_wrongs(table, data["sources"]))
    if name == "releases":
        if not data["releases"]:
            yield "`releases`: the list is empty"
        yield from (
            f"`drivers[{place}]`: the list `rocm` is empty"
            for place, row in enumerate(data["drivers"])
            if not row["rocm"]
        )


def _family_wrongs(table: Mapping[str, Any], sources: Mapping[str, Any]) -> Iterator[str]:
    rules = table.get("facts", ())
    if not table["repositories"]:
        yield "`repositories` is empty"
    if not all(grammar.sound(facts) for facts in table["repositories"].values()):
        yield "`repositories` hold what is no version"
    for entry in table["tags"]:
        yield from _tag_wrongs(table, entry if isinstance(entry, dict) else {"tag": entry})
    for key, wanted in ((key, wanted) for rule in rules for key, wanted in rule.get("when", {}).items()):
        if key not in grammar.WORDS and not _is_constraint(wanted):
            yield f"`facts`: `when` asks that {key} be `{wanted[:60]}`, which is no constraint"
    for source in (table["source"], *(rule["source"] for rule in rules)):
        yield from (f"there is no source `{key[:60]}`" for key in keys(source) if key not in sources)


def _tag_wrongs(table: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[str]:
    tag = entry["tag"]
    if entry.get("repository") not in (None, *table["repositories"]):
        yield f"the tag `{tag}` is of `{entry['repository']}`, which is no repository of it"
    if tag not in table.get("moving", ()) and grammar.parsed(table["grammars"], tag) is None:
        yield f"the tag `{tag}` fits none of its grammars"
    if not grammar.sound(entry.get("facts", {})):
        yield f"the facts of the tag `{tag}` hold what is no version"


def _is_constraint(text: str) -> bool:
    try:
        Constraint.parse(text)
    except ValueError:
        return False
    return True
