"""Dockerfiles, read into instructions with their lines, stages with their bases, and the commands of each RUN."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rocenv.checks.files.asked import Word
from rocenv.checks.files.shell_words import commands
from rocenv.errors import UsageError

_LARGEST = 1 << 20
_KEYWORDS = frozenset(
    {
        *("ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER"),
        *("ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
    }
)
# A document begins with a word of its own (BuildKit's rule): what stands in quotes is the shell's.
_HEREDOC = re.compile(r"""(?<!\S)[0-9]*<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2""")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))")
_EXEC_FORM = re.compile(r"\s*(?:--\S+\s+)*(\[.*\])\s*", re.DOTALL)
_SCRIPT = re.compile(r"-[a-z]*c[a-z]*")
_SHELLS = frozenset({"", "sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/env bash"})
_PASSES = 5  # of putting values in for references: more are nested nowhere
_LONG_VALUE, _LONG_TEXT = 1000, 1 << 16  # characters: beyond, references stay, so that none multiplies another


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its text as it stands, all its lines with it, from the first line of the file that it is on."""

    keyword: str
    text: str
    name: str  # of the file
    line: int

    @property
    def where(self) -> str:
        """Its first line, as `Dockerfile:7`."""
        return f"{self.name}:{self.line}"

    def at(self, offset: int) -> str:
        """The line of a character of its text."""
        return f"{self.name}:{self.line + self.text.count(chr(10), 0, offset)}"

    def commands(self) -> list[list[Word]]:
        """The commands of a RUN, else all as one, each word with its line; of what no shell would divide, none.

        A RUN may also be a list in JSON; what a shell is given to run (`bash -c '…'`) is divided in its turn.
        """
        listed = _EXEC_FORM.match(self.text) if self.keyword == "RUN" else None
        words = _json_words(listed.group(1)) if listed else None
        try:
            found = [[(word, 1) for word in words]] if words else commands(self.text, self.name, divided=self._runs)
            found = [inner for command in found for inner in _scripts(command, self.name)] if self._runs else found
        except UsageError:
            return []
        return [[Word(text, f"{self.name}:{self.line + line - 1}") for text, line in words] for words in found]

    @property
    def _runs(self) -> bool:
        return self.keyword == "RUN"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: its base as it is written and as it is with the defaults of ARG, its name, its instructions."""

    base: Word
    written: str
    name: str | None
    platform: str | None
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """A file's stages in their order, and the ARGs before the first of them."""

    name: str
    stages: tuple[Stage, ...]
    arguments: Mapping[str, str]
    before: tuple[Instruction, ...]

    @property
    def values(self) -> dict[str, str]:
        """What ARG and ENV set by name, wherever they stand, the last one for all: good enough to read by."""
        found = [pair for one in self.instructions("ARG", "ENV") for pair in defaults(one)]
        return {name: value for name, value in found if value and len(value) <= _LONG_VALUE}

    def instructions(self, *keywords: str) -> Iterator[Instruction]:
        """Those with one of these keywords, in their order."""
        for one in (*self.before, *(one for stage in self.stages for one in stage.instructions)):
            if one.keyword in keywords:
                yield one

    def root(self, stage: Stage) -> Word:
        """The image that a stage comes from in the end, through stages of this file."""
        names = {one.name: one for one in self.stages if one.name}
        seen: list[str] = []
        while stage.base.text.lower() in names and stage.base.text.lower() not in seen:
            seen.append(stage.base.text.lower())
            found = names[stage.base.text.lower()]
            if found is stage:
                break
            stage = found
        return stage.base


@lru_cache(maxsize=8)
def read(text: str, name: str) -> Dockerfile:
    """The file in stages. Raises UsageError, with the line, for what docker would refuse."""
    if len(text) > _LARGEST:
        raise UsageError(f"`{name}` has {len(text)} characters, which is no Dockerfile", f"look at `{name}`")
    instructions = list(_instructions(text.removeprefix("\ufeff"), name))
    first = next((place for place, one in enumerate(instructions) if one.keyword == "FROM"), None)
    if first is None:
        raise UsageError(f"`{name}:1`: there is no `FROM`", "begin with `FROM IMAGE`")
    before = tuple(instructions[:first])
    wrong = next((one for one in before if one.keyword != "ARG"), None)
    if wrong is not None:
        raise UsageError(f"`{wrong.where}`: `{wrong.keyword}` stands before the first `FROM`", "move it behind `FROM`")
    arguments = dict(pair for one in before for pair in defaults(one))
    return Dockerfile(name, tuple(_stages(instructions[first:], arguments)), arguments, before)


def _json_words(text: str) -> list[str] | None:
    """The words of a RUN in JSON, None for what is none: docker then takes it for a shell's."""
    try:
        found = json.loads(text.replace("\\\n", "\n"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and found and all(isinstance(one, str) for one in found) else None


def _scripts(command: list[tuple[str, int]], name: str) -> Iterator[list[tuple[str, int]]]:
    """A command, or those of the script that it gives to a shell. Raises UsageError for what no shell would divide."""
    words = [word for word, _ in command]
    shell = next((place for place, word in enumerate(words) if word in _SHELLS and word), None)
    if shell is not None and len(words) > shell + 2:
        rest = words[shell + 1 :]
        flag = next((place for place, word in enumerate(rest) if _SCRIPT.fullmatch(word)), None)
        if flag is not None and flag + 1 < len(rest):
            line = command[shell + flag + 2][1]
            for inner in commands(rest[flag + 1], name):
                yield [(word, line + number - 1) for word, number in inner]
            return
    yield command


def defaults(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """What an ARG gives by default, or an ENV sets, in the form NAME=VALUE."""
    for words in instruction.commands():
        for word in words:
            name, sign, value = word.text.partition("=")
            if sign:
                yield name, value


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the values of ARGs in place of their references; those that are unknown stay."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1) or match.group(4)
        other = match.group(3)
        if match.group(2) and match.group(2).endswith("+"):
            return other if name in values else ""
        return values.get(name) or other or match.group(0)

    for _ in range(_PASSES):
        if "$" not in text or len(text) > _LONG_TEXT:
            break
        text = _REFERENCE.sub(value, text)
    return text


def _stages(instructions: list[Instruction], arguments: Mapping[str, str]) -> Iterator[Stage]:
    starts = [place for place, one in enumerate(instructions) if one.keyword == "FROM"]
    for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True):
        words = [word for command in instructions[start].commands() for word in command]
        flags = [word.text for word in words if word.text.startswith("--")]
        rest = [word for word in words if not word.text.startswith("--")]
        if not rest:
            raise UsageError(f"`{instructions[start].where}`: `FROM` names no image", "write `FROM IMAGE`")
        named = len(rest) > 2 and rest[1].text.lower() == "as"  # noqa: PLR2004
        yield Stage(
            base=Word(filled(rest[0].text, arguments), rest[0].where),
            written=rest[0].text,
            name=rest[2].text.lower() if named else None,
            platform=next((flag.partition("=")[2] for flag in flags if flag.startswith("--platform=")), None),
            instructions=tuple(instructions[start + 1 : end]),
        )


def _instructions(text: str, name: str) -> Iterator[Instruction]:
    lines = text.splitlines()
    escape = _escape(lines)
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        if not stripped or stripped.startswith("#"):
            at += 1
            continue
        start = at
        physical, at = _joined(lines, at, escape)
        keyword, _, _ = stripped.partition(" ")
        keyword = re.split(r"\s", keyword, maxsplit=1)[0].upper()
        if keyword not in _KEYWORDS:
            raise UsageError(f"`{name}:{start + 1}`: there is no instruction `{keyword[:40]}`", _nearest(keyword))
        body = re.sub(r"^\s*\S+[ \t]?", "", "\n".join(physical), count=1)
        bodies, at = _heredocs(lines, at, body, name) if keyword in ("RUN", "COPY", "ADD") else ([], at)
        if bodies and keyword == "RUN" and _HEREDOC.sub("", body).strip() in _SHELLS:
            body = "\n".join([_HEREDOC.sub("", body), *bodies])
        yield Instruction(keyword, body, name, start + 1)


def _joined(lines: list[str], at: int, escape: str) -> tuple[list[str], int]:
    """The lines of one instruction, and the number behind it; comments within count as continued lines."""
    found: list[str] = []
    while at < len(lines):
        line = lines[at].rstrip()
        at += 1
        if found and (not line.strip() or line.lstrip().startswith("#")):
            found.append("\\")
            continue
        if not line.endswith(escape):
            found.append(line)
            break
        found.append(line[: -len(escape)] + "\\")
    return found, at


def _heredocs(lines: list[str], at: int, body: str, name: str) -> tuple[list[str], int]:
    """The lines of the documents that an instruction begins, and the number behind them."""
    found: list[str] = []
    quoted = [match.span() for match in _QUOTED.finditer(body)]
    for match in _HEREDOC.finditer(body):
        if any(begin < match.start() < end for begin, end in quoted):
            continue
        start = at
        while at < len(lines) and (lines[at].lstrip("\t") if match.group(1) else lines[at]) != match.group(3):
            found.append(lines[at])
            at += 1
        if at == len(lines):
            raise UsageError(
                f"`{name}:{start}`: nothing ends the document `{match.group(3)}`", f"add `{match.group(3)}`"
            )
        found.append("")
        at += 1
    return found, at


def _escape(lines: list[str]) -> str:
    """The character that continues a line: a directive at the top may change it."""
    for line in lines:
        match = re.fullmatch(r"#\s*(\w+)\s*=\s*(\S+)\s*", line)
        if match is None:
            break
        if match.group(1).lower() == "escape":
            return match.group(2)
    return "\\"


def _nearest(keyword: str) -> str:
    import difflib

    near = difflib.get_close_matches(keyword, sorted(_KEYWORDS), n=1)
    return f"did you mean `{near[0]}`?" if near else "docker's reference lists the instructions"
