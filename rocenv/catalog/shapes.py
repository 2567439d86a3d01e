"""The shape of every table, and what holds between its parts: checked when one is compiled, and when one is laid in."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rocenv.catalog import grammar
from rocenv.catalog.distribution_shape import DISTRIBUTIONS
from rocenv.catalog.shape import Each, Misshapen, Record, check
from rocenv.catalog.table import keys
from rocenv.catalog.versions import Constraint, Version
from rocenv.errors import UsageError

SCHEMA = 1  # counted up when a table may say what an older rocenv would read wrongly


def _version(text: Any) -> None:
    check(text, str)
    Version.parse(text)


def _constraint(text: Any) -> None:
    check(text, str)
    Constraint.parse(text)


def _is_constraint(text: str) -> bool:
    try:
        Constraint.parse(text)
    except ValueError:
        return False
    return True


def _date(text: Any) -> None:
    check(text, str)
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        raise Misshapen(f"`{text[:60]}` is no date (2026-12-01)") from None


def _grammar(text: Any) -> None:
    check(text, str)
    try:
        re.compile(text, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise Misshapen(f"`{text[:60]}` is no pattern: {error}") from error


def _anything(_: Any) -> None:
    """What people read alone: support.yaml is shown and never judged by."""


_GFX = re.compile(r"gfx[0-9a-f]{3,5}")
_ID = re.compile(r"[0-9a-f]{4}")
_REVISION = re.compile(r"[0-9a-f]{2}")
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._/-]+[a-z0-9]+)*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_PATH = re.compile(r"/[^\x00-\x1f]{0,200}")
_SOURCES = Each((str, Record({"what": str}, {"date": _date, "hearsay": bool})), _WORD)
_HEAD = {"date": _date, "sources": _SOURCES}

_FACT = Record(
    {"source": str},
    {
        "when": Each(str, _WORD),
        "user": str,
        "workdir": _PATH,
        "python_env": _PATH,
        "rocm_path": _PATH,
        "entrypoint": str,
        "command": str,
        "env": Each(str, re.compile(r"[A-Za-z_][A-Za-z0-9_]*")),
        "port": int,
        "volume": _PATH,
        "base": str,
        "driver": _constraint,
        "only": str,
        "quirk": str,
        "size": str,
        "gfx": (re.compile("release"), [_GFX]),
    },
)
_ENTRY = Record(
    {"tag": _TAG},
    {
        "repository": _REPOSITORY,
        "facts": Each(str, _WORD),
        "source": str,
        "doubtful": bool,
        "size_bytes": int,
        "digest": re.compile(r"sha256:[0-9a-f]{6,64}"),
        "pushed": _date,
        "note": str,
    },
)
_FAMILY = Record(
    {
        "summary": str,
        "kind": re.compile("base|framework|training|serving|application|community|tool"),
        "repositories": Each(Each(str, _WORD), _REPOSITORY),
        "source": str,
        "grammars": [_grammar],
        "tags": [(_TAG, _ENTRY)],
    },
    {
        "main": _WORD,
        "registry": re.compile(r"[a-z0-9.-]+(?::\d+)?"),
        "community": bool,
        "compiler": bool,
        "previews": bool,
        "instead_of": str,
        "superseded_by": str,
        "cuda": str,
        "note": str,
        "moving": [_TAG],
        "prefer": Each(str, _WORD),
        "targets": Each(Record({"gfx": [_GFX], "source": str}, {"seen": [_GFX]}), _WORD),
        "facts": [_FACT],
    },
)
_RELEASE = Record(
    {"version": _version, "date": re.compile(r"\d{4}-\d\d(?:-\d\d)?"), "source": str},
    {
        "driver": _version,
        "hip": _version,
        "hip_build": re.compile(r"\d+"),
        "hip_source": str,
        "gfx": [_GFX],
        "gfx_source": str,
        "note": str,
    },
)
_NULL = type(None)
_TARGET = Record(
    {
        "arch": str,
        "wave": int,
        "official": (_NULL, Record({"source": str}, {"since": (_NULL, str), "until": (_NULL, str)})),
        "therock": re.compile("none|built|released"),
        "override": (_NULL, Record({"value": _version, "works": str, "why": str, "source": str})),
    },
    {"note": str},
)
_DEVICE = Record(
    {"gfx": _GFX, "code_name": str, "line": str, "source": [str]},
    {
        "pci_ids": str,
        "names": Each(str, _REVISION),
        "vram_gib": Each(Record({"size": int, "source": str}), _REVISION),
    },
)
_HAZARD = Record(
    {"id": _WORD, "what": str, "source": str, "date": _date},
    {
        "targets": [_GFX],
        "fix": str,
        "kernel": _constraint,
        "kernel_not": [str],
        "firmware": [str],
        "origin": re.compile("dkms|in-tree"),
        "needs": str,
        "rocm": _constraint,
        "families": [str],
        "refuses": bool,
    },
)
_SUPPORT = (
    "newest", "streams", "rules", "indexes", "wheel_versions", "wheel_names", "install_prefixes", "packages", "torch",
    "torch_on_pypi", "gc_ip", "systems", "conflicts",
)  # fmt: skip
SHAPES: Mapping[str, Record] = {
    "distributions": Record({**_HEAD, **DISTRIBUTIONS}),
    "images": Record({**_HEAD, "families": Each(_FAMILY, _REPOSITORY)}, {"build": _anything}),
    "releases": Record(
        {
            **_HEAD,
            "releases": [_RELEASE],
            "drivers": [
                Record({"series": _version, "rocm": [_version], "source": str}, {"backward": re.compile("unknown")})
            ],
        }
    ),
    "drivers": Record(
        {
            **_HEAD,
            "releases": [
                Record(
                    {"release": _version, "rocm": _version, "source": str},
                    {"module": _version, "build": re.compile(r"\d+")},
                )
            ],
        }
    ),
    "gpus": Record(
        {
            **_HEAD,
            "vendor": _ID,
            "generic": Each(Record({"members": [_GFX], "source": str})),
            "apu": Record({"targets": [_GFX], "series": [str], "devices": [_ID]}),
            "targets": Each(_TARGET, _GFX),
            "devices": Each(_DEVICE, _ID),
        },
        {"therock_families": Each([_GFX], _WORD), "pytorch_wheels": _anything, "listed": _anything},
    ),
    "hazards": Record({"date": _date, "hazards": [_HAZARD]}),
    "support": Record({**_HEAD, "releases": Each(_anything, _WORD)}, dict.fromkeys(_SUPPORT, _anything)),
}


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
        for family, table in data["families"].items():
            yield from (f"`families.{family}`: {wrong}" for wrong in _family_wrongs(table, data["sources"]))
    if name == "releases" and not data["releases"]:
        yield "`releases`: the list is empty"


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
