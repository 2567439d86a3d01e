"""Command lines as a shell divides them, with the line of each word; what it would put in place stays as written."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocenv.errors import UsageError

_LARGEST = 1 << 16  # characters: more is no command line
_SEPARATORS = frozenset("\n;|&")
_BLANKS = frozenset(" \t\r")
_CLOSING = {"(": ")", "{": "}"}


@dataclass(slots=True)
class _Reader:
    """One pass over a text: the word being read, and the commands that are done."""

    text: str
    name: str
    at: int = 0
    line: int = 1
    word: list[str] | None = None
    begun: int = 1
    words: list[tuple[str, int]] = field(default_factory=list)
    commands: list[list[tuple[str, int]]] = field(default_factory=list)
    divided: bool = True

    def take(self) -> str:
        """The next character."""
        sign = self.text[self.at]
        self.at += 1
        self.line += sign == "\n"
        return sign

    def put(self, sign: str, line: int) -> None:
        """A character more of the word, which begins with it where there is none."""
        if self.word is None:
            self.word, self.begun = [], line
        self.word.append(sign)

    def end_word(self) -> None:
        """The word is done."""
        if self.word is not None:
            self.words.append(("".join(self.word), self.begun))
            self.word = None

    def end_command(self) -> None:
        """The command is done."""
        self.end_word()
        if self.words:
            self.commands.append(self.words)
            self.words = []

    def unclosed(self, what: str, line: int) -> UsageError:
        """The error for a quote or a bracket that nothing closes."""
        return UsageError(f"`{self.name}:{line}`: the {what} is never closed", f"close the {what}")


def commands(text: str, name: str, *, divided: bool = True) -> list[list[tuple[str, int]]]:
    """The commands of a text, each as words with their lines. Raises UsageError for one that no shell would take.

    `divided` False: all is one command, and `;`, `|` and `&` are letters like others.
    """
    if len(text) > _LARGEST:
        raise UsageError(f"`{name}` has {len(text)} characters, which is no command line", "name one command")
    reader = _Reader(text, name, divided=divided)
    while reader.at < len(text):
        line = reader.line
        _sign(reader, reader.take(), line)
    reader.end_command()
    return reader.commands


def _sign(reader: _Reader, sign: str, line: int) -> None:
    """One character outside of quotes."""
    if sign == "\\":
        following = reader.take() if reader.at < len(reader.text) else ""
        if following == "\r" and reader.text[reader.at : reader.at + 1] == "\n":
            following = reader.take()
        if following not in ("", "\n"):
            reader.put(following, line)
    elif sign in "\"'":
        _quoted(reader, sign, line)
    elif sign == "`" or (sign == "$" and reader.text[reader.at : reader.at + 1] in _CLOSING):
        _substituted(reader, sign, line)
    elif sign == "#" and reader.word is None:
        while reader.at < len(reader.text) and reader.text[reader.at] != "\n":
            reader.take()
    elif sign in _SEPARATORS and (reader.divided or sign == "\n"):
        reader.end_command()
    elif sign in _BLANKS:
        reader.end_word()
    else:
        reader.put(sign, line)


def _quoted(reader: _Reader, quote: str, line: int) -> None:
    """Up to the closing quote; the quotes are the shell's."""
    reader.put("", line)
    while reader.at < len(reader.text):
        sign = reader.take()
        if sign == quote:
            return
        if quote == '"' and sign == "\\" and reader.text[reader.at : reader.at + 1] in ('"', "\\", "$", "`", "\n"):
            sign = reader.take()
            if sign == "\n":
                continue
        elif quote == '"' and (sign == "`" or (sign == "$" and reader.text[reader.at : reader.at + 1] in _CLOSING)):
            _substituted(reader, sign, line)
            continue
        reader.put(sign, line)
    raise reader.unclosed(f"quote {quote}", line)


def _substituted(reader: _Reader, sign: str, line: int) -> None:
    """`$(…)`, `${…}` or backquotes, kept as they are with all that is in them."""
    reader.put(sign, line)
    opening = reader.take() if sign == "$" else sign
    if sign == "$":
        reader.put(opening, line)
    closing, depth = _CLOSING.get(opening, "`"), 1
    while reader.at < len(reader.text):
        following = reader.take()
        reader.put(following, line)
        depth += (following == opening and opening != closing) - (following == closing)
        if depth == 0:
            return
    raise reader.unclosed(f"substitution {sign}{opening if sign == '$' else ''}", line)
