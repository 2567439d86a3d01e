"""`docker run` and `podman run` lines, read as the engines do: flags end at the first word that is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rocenv.checks.files.argv_flags import (
    GLOBAL_VALUES,
    SHORT_SWITCHES,
    SHORT_VALUES,
    SWITCHES,
    VALUES,
)
from rocenv.checks.files.asked import Container, Variable, Word
from rocenv.checks.files.shell_words import commands
from rocenv.errors import UsageError

_STARTING = frozenset({"run", "create"})
_PROGRAMS = frozenset({"docker", "podman", "podman-remote"})
_BEFORE = 8  # words that may stand before the program: sudo, timeout, assignments
_FALSE = frozenset({"false", "0", "f", "F", "FALSE", "False"})


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag as it was given: its long name, and its value (None for a switch)."""

    name: str
    value: Word | None
    word: Word
    known: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """A command that starts a container: its program, its flags, the image and the words behind it."""

    program: str  # docker | podman
    where: str
    flags: tuple[Flag, ...]
    image: Word | None
    behind: tuple[Word, ...]

    def values(self, *names: str) -> tuple[Word, ...]:
        """The values of flags, in their order."""
        return tuple(flag.value for flag in self.flags if flag.name in names and flag.known and flag.value is not None)

    def value(self, *names: str) -> Word | None:
        """The last value of a flag, which is the one that counts."""
        return next(reversed(self.values(*names)), None)

    def switch(self, name: str) -> Word | None:
        """A switch that is on."""
        found = next((flag for flag in reversed(self.flags) if flag.name == name and flag.known), None)
        return None if found is None or (found.value and found.value.text in _FALSE) else found.word


@lru_cache(maxsize=8)
def lines(text: str, name: str) -> tuple[Line, ...]:
    """The commands of a text that start a container. Raises UsageError where there is none."""
    found = [
        line
        for words in commands(text, name)
        if (line := _line([Word(one, f"{name}:{number}") for one, number in words]))
    ]
    if not found:
        raise UsageError(f"`{name}:1`: no `docker run` or `podman run` is in it", "name a line like `docker run IMAGE`")
    return tuple(found)


def containers(text: str, name: str) -> tuple[Container, ...]:
    """What each command asks for. Raises UsageError for a text that holds none."""
    return tuple(_container(line) for line in lines(text, name))


def _line(words: list[Word]) -> Line | None:
    """The words of one command as a Line, or None where it starts no container."""
    start = next((at for at, one in enumerate(words[:_BEFORE]) if one.text.rpartition("/")[2] in _PROGRAMS), None)
    if start is None:
        return None
    program, rest = words[start], iter(words[start + 1 :])
    kind = program.text.rpartition("/")[2]
    for one in rest:
        if one.text in GLOBAL_VALUES:
            next(rest, None)
        elif one.text in _STARTING:
            return _parsed(kind.partition("-")[0], program.where, list(rest))
        elif not one.text.startswith("-") and one.text != "container":
            return None
    return None


def _parsed(kind: str, where: str, words: list[Word]) -> Line:
    flags: list[Flag] = []
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text not in ("-", "--"):
        following = words[at + 1] if at + 1 < len(words) else None
        found, taken = (
            _long(kind, words[at], following) if words[at].text.startswith("--") else _short(kind, words[at], following)
        )
        flags += found
        at += 1 + taken
    if at < len(words) and words[at].text == "--":
        at += 1
    rest = words[at:]
    return Line(kind, where, tuple(flags), rest[0] if rest else None, tuple(rest[1:]))


def _long(kind: str, word: Word, following: Word | None) -> tuple[list[Flag], int]:
    """`--name`, `--name=value` or `--name value`; the number of words that it took beside its own."""
    name, sign, value = word.text[2:].partition("=")
    if sign:
        return [Flag(name, Word(value, word.where), word, name in SWITCHES[kind] | VALUES[kind])], 0
    if name in VALUES[kind]:
        return [Flag(name, following, word)], 1
    return [Flag(name, None, word, name in SWITCHES[kind])], 0


def _short(kind: str, word: Word, following: Word | None) -> tuple[list[Flag], int]:
    """A cluster of short flags, of which the last may take the rest of the word, or the next one, for its value.

    A long flag behind one dash is taken for what it was meant to be, so that one fault does not become many.
    """
    long = word.text[1:].partition("=")[0]
    if len(long) > 2 and long in SWITCHES[kind] | VALUES[kind]:  # noqa: PLR2004
        taken = int(long in VALUES[kind] and "=" not in word.text)
        return [Flag(long, following if taken else None, word, known=False)], taken
    found: list[Flag] = []
    for place, letter in enumerate(word.text[1:], start=2):
        if letter in SHORT_SWITCHES:
            found.append(Flag(SHORT_SWITCHES[letter], None, word))
        elif letter in SHORT_VALUES:
            rest = word.text[place:].removeprefix("=")
            value = Word(rest, word.where) if rest else following
            return [*found, Flag(SHORT_VALUES[letter], value, word)], 0 if rest else 1
        else:
            return [*found, Flag(letter, None, word, known=False)], 0
    return found, 0


def _container(line: Line) -> Container:
    return Container(
        kind="argv",
        name=f"`{line.program} run`",
        where=line.where,
        engine=line.program,
        image=line.image,
        devices=line.values("device"),
        groups=line.values("group-add"),
        mounts=(*line.values("volume"), *_mounts(line)),
        security=line.values("security-opt"),
        variables=tuple(_variables(line)),
        privileged=line.switch("privileged"),
        ipc=line.value("ipc"),
        shm_size=line.value("shm-size"),
        runtime=line.value("runtime"),
        user=line.value("user"),
        gpus=line.value("gpus"),
        rules=line.values("device-cgroup-rule"),
    )


def _mounts(line: Line) -> Iterator[Word]:
    """--mount's bind mounts as `SOURCE:TARGET`."""
    for one in line.values("mount"):
        parts = dict(part.partition("=")[::2] for part in one.text.split(","))
        origin = parts.get("source") or parts.get("src")
        target = parts.get("target") or parts.get("destination") or parts.get("dst")
        if origin and target:
            yield Word(f"{origin}:{target}", one.where)


def _variables(line: Line) -> Iterator[Variable]:
    for one in line.values("env"):
        name, sign, value = one.text.partition("=")
        yield Variable(name, value if sign else None, one.where, listed=True)
