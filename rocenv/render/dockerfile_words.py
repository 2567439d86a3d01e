"""How a value becomes text of a Dockerfile: one filter for each place where one may stand, and none without.

What a filter lets through is inert there: no quote, line break or `$` of a value can begin anything. What no value of
that kind ever holds is refused instead, for a person who reads the file must see what it says.
"""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from rocenv.errors import UsageError

LONGEST = 2000  # characters of one value; Docker refuses lines of more than 65,535 bytes
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_PATH = re.compile(r"/[A-Za-z0-9/._+-]{0,300}")
# What a reference may hold (distribution's grammar, loosely): no blank, quote or newline can reach a Dockerfile.
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,511}")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._:=~*^<>!,/-]*")
_OPTIONED = re.compile(r"-r \.?[A-Za-z0-9./_-]+")
_CREDENTIALS = re.compile(r"://[^/@\s]*@")
# Other characters that end a line, or let text read otherwise than it is: controls, format characters, separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Quoted(str):
    """Text that has passed a filter. Jinja takes it as it is, for it has `__html__`; all else is refused."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def plain(value: object) -> str:
    """A value as text that reads as it is. Raises UsageError for another."""
    text = str(value)
    if len(text) > LONGEST:
        raise UsageError(f"a value for the Dockerfile has {len(text)} characters", f"{LONGEST} are allowed: shorten it")
    if text.isascii() and text.isprintable():
        return text
    hidden = next((sign for sign in text if unicodedata.category(sign) in _HIDDEN), None)
    if hidden is not None:
        what = "a line break" if hidden in "\r\n\u2028\u2029\x85" else f"the invisible character U+{ord(hidden):04X}"
        raise UsageError(f"{shown(text)} holds {what}, which may not stand in a Dockerfile", "remove it there")
    return text


def shown(text: str) -> str:
    """The beginning of a text, in ASCII and in back-ticks, for a message."""
    return f"`{text[:60].encode('unicode_escape').decode()}`"


def sh(value: object) -> Quoted:
    """One word for a shell, in RUN."""
    return _word(str(value))


@lru_cache(maxsize=1024)  # every image has the same script in it
def _word(text: str) -> Quoted:
    return Quoted(shlex.quote(plain(text)))


def words(values: Iterable[object]) -> Quoted:
    """Several words for a shell; an entry of `-r FILE` is two."""
    found: list[str] = []
    for value in values:
        text = plain(value)
        found += [text[:2], sh(text[3:])] if _OPTIONED.fullmatch(text) else [sh(text)]
    return Quoted(" ".join(found))


def quoted(value: object) -> Quoted:
    """A value in double quotes, for LABEL, ARG and ENV: Docker expands nothing in it."""
    text = plain(value).replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return Quoted(f'"{text}"')


def array(values: Sequence[object]) -> Quoted:
    """The exec form: a JSON array of texts."""
    return Quoted(json.dumps([plain(value) for value in values]))


def name(value: object) -> Quoted:
    """A name that stands bare: of a variable, a label, a stage, a secret, or UID:GID."""
    return _matching(_NAME, value, "no name that may stand in a Dockerfile", "letters, digits, `_`, `.`, `:` and `-`")


def path(value: object) -> Quoted:
    """An absolute path that stands bare."""
    return _matching(_PATH, value, "no path that may stand in a Dockerfile", "an absolute one, without blanks and `$`")


def reference(value: object) -> Quoted:
    """An image reference, or the name of an earlier stage."""
    return _matching(_REFERENCE, value, "no image reference", "give one as NAME:TAG or NAME@sha256:DIGEST")


def _matching(pattern: re.Pattern[str], value: object, wrong: str, hint: str) -> Quoted:
    text = str(value)
    if pattern.fullmatch(text) is None:
        raise UsageError(f"{shown(text)} is {wrong}", hint)
    return Quoted(text)


FILTERS = {
    "sh": sh,
    "words": words,
    "quoted": quoted,
    "array": array,
    "name": name,
    "path": path,
    "reference": reference,
}


def package(manager: str, text: str, *, context: bool) -> str:
    """A package as a profile names it, once it can be one. Raises UsageError for what could be something else."""
    where = f"`build.packages.{manager}`: {shown(text)}"
    plain(text)
    if not text.isascii():
        raise UsageError(f"{where} holds letters that no package's name has", "type it anew")
    if manager != "pip":
        if _PACKAGE.fullmatch(text) is None:
            raise UsageError(f"{where} is no package", "name one a line, as the package manager does, without options")
        return text
    if _CREDENTIALS.search(text) and not text.startswith("git+ssh://git@"):
        raise UsageError(
            f"{where} holds a password or a token", "put the whole index into `build.secrets: [PIP_INDEX_URL]`"
        )
    local = text.startswith("./") or _OPTIONED.fullmatch(text) is not None
    if text.startswith("-") and not local:
        raise UsageError(f"{where} is an option, not a package", "of pip's options only `-r FILE` may stand there")
    if local and not context:
        raise UsageError(f"{where} is a file, and the build has no folder to take it from", "`build: {context: .}`")
    if not (text[:1].isalnum() or local) or "<<" in text or ".." in text.split("/"):
        raise UsageError(f"{where} is no package", "name one a line: `transformers>=4.40`, `./wheels/own.whl`")
    return text
