"""The text of a lock: the same record is the same bytes. One fact a line, sorted, so that git merges it well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rocenv.model.lock import Lock, Locked

VERSION = 1
HEADER = """\
# The images that this project's profiles run on, by digest. Written by `rocenv lock`: commit it, do not edit it.
# `rocenv lock --check` tells what has drifted, `rocenv lock --update` renews it.
"""
# What YAML, in any of its versions, reads as the text that it is.
_PLAIN = re.compile(r"[A-Za-z][\w./@+-]*(?::[\w./@+-]+)*", re.ASCII)
_SPECIAL = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def lock_text(lock: Lock) -> str:
    """The file's whole text."""
    lines = [f"version: {VERSION}", "profiles:" if lock.profiles else "profiles: {}"]
    for name in sorted(lock.profiles):
        lines += ["", f"  {_word(name)}:", *_lines(tree(lock.profiles[name]), "    ")]
    return HEADER + "\n".join(lines) + "\n"


def tree(locked: Locked) -> dict[str, Any]:
    """One profile as plain mappings, lists and texts, in the file's order; what is not known is left out."""
    image, build, proof = locked.image, locked.build, locked.proof
    whole: dict[str, Any] = {
        "wish": dict(sorted(locked.wish.items())),
        "catalog": locked.catalog,
        "image": {
            "reference": image.reference,
            "digest": image.digest,
            "platforms": {name: one._asdict() for name, one in sorted(image.platforms.items())},
            "places": image.places,
            "rocm": image.rocm,
            "gfx": image.gfx,
        },
    }
    if build is not None:
        packages = {tool: dict(sorted(names.items())) for tool, names in sorted(build.packages.items())}
        whole["build"] = {"reference": build.reference, "dockerfile": build.dockerfile, "packages": packages}
    if proof is not None:
        gpus = {target: str(count) for target, count in sorted(proof.gpus.items())}
        whole["proof"] = {"result": proof.result, "level": proof.level, "driver": proof.driver, "gpus": gpus}
    told: dict[str, Any] = _told(whole)
    return told


def _told(value: Any) -> Any:
    """The same without what says nothing."""
    if isinstance(value, Mapping):
        inner = {key: _told(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in (None, (), {}, [])}
    return list(value) if isinstance(value, tuple) else value


def _lines(node: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield f"{indent}{_word(key)}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{_word(key)}:"
            yield from (f"{indent}  - {_word(one)}" for one in value)
        else:
            yield f"{indent}{_word(key)}: {_word(value)}"


def _word(text: str) -> str:
    """A text as YAML: plain where no reader could take it for something else, else as JSON quotes it."""
    if _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)
