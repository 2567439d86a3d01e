"""The shape of every table, and what holds between its parts: checked when one is compiled, and when one is laid in."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from rocenv.catalog.distribution_shape import DISTRIBUTIONS
from rocenv.catalog.shape import Each, Misshapen, Record, check
from rocenv.catalog.versions import Constraint, Version


def _version(text: Any) -> None:
    check(text, str)
    Version.parse(text)


def _constraint(text: Any) -> None:
    check(text, str)
    Constraint.parse(text)


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


_GFX = re.compile(r"gfx[0-9a-f]{3,5}")
_ID = re.compile(r"[0-9a-f]{4}")
_REVISION = re.compile(r"[0-9a-f]{2}")
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._/-]+[a-z0-9]+)*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_PATH = re.compile(r"/[^\x00-\x1f]{0,200}")
_SOURCES = Each(Record({"what": str}, {"date": _date, "hearsay": bool}), _WORD)
_SAYING = Record({"of": str, "says": str, "source": str})
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
_SUPPORT = Record(
    {
        **_HEAD,
        "releases": Each(
            Record(
                {"source": str},
                {
                    "same_as": _version,
                    "gfx": [_GFX],
                    "deprecated": [_GFX],
                    "adds": [str],
                    "drops": [str],
                    "os": [str],
                    "drivers": [str],
                    "frameworks": Each([str], _WORD),
                    "note": str,
                },
            ),
            _WORD,
        ),
    },
    {
        "newest": Record({"release": _version, "hints": [Record({"what": str, "source": str})]}),
        "streams": str,
        "rules": [_SAYING],
        "conflicts": [_SAYING],
        "indexes": [Record({"of": str, "at": str, "source": str}, {"note": str})],
        "systems": [Record({"line": str, "systems": str, "source": str})],
        "wheel_versions": Each(str),
        "wheel_names": [Record({"of": str, "names": [str], "source": str})],
        "install_prefixes": Each(str),
        "packages": Each(str),
        "torch": [Record({"torch": _version, "source": str}, {"torchvision": str, "torchaudio": str, "triton": str})],
        "torch_on_pypi": str,
        "gc_ip": Each(_GFX),
    },
)
SHAPES: Mapping[str, Record] = {
    "distributions": Record({**_HEAD, **DISTRIBUTIONS}),
    "images": Record(
        {**_HEAD, "families": Each(_FAMILY, _REPOSITORY)},
        {"build": [Record({"way": str, "how": str, "source": str})], "notes": [_SAYING]},
    ),
    "releases": Record(
        {
            **_HEAD,
            "releases": [_RELEASE],
            "drivers": [
                Record(
                    {"series": _version, "rocm": [_version], "source": str},
                    {"backward": re.compile("unknown"), "instinct": [_version]},
                )
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
        {
            "therock_families": Each([_GFX], _WORD),
            "pytorch_wheels": [Record({"rocm": str, "gfx": [_GFX]})],
            "listed": Record({"release": _version}, {"gpus": Each(Each(_GFX)), "processors": Each([str], _GFX)}),
        },
    ),
    "hazards": Record({"date": _date, "hazards": [_HAZARD]}),
    "support": _SUPPORT,
}
