"""Plain text: tables and sizes that read well without colour, in any terminal and in a log."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell, two blanks apart; no trailing blanks. Without rows: the headers alone."""
    lines = [list(headers), *[list(row) for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def one_line(text: str) -> str:
    r"""A text as one line: its newlines as `\n`."""
    return text.replace("\n", "\\n")


def size(count: int | None) -> str:
    """Bytes in binary units with three significant digits (`192 GiB`, `1.5 GiB`); `-` for None."""
    if count is None:
        return "-"
    value, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if value < _STEP or unit == _UNITS[-1]:
            break
        value /= _STEP
    return f"{value:.0f} {unit}" if value >= 100 or value == int(value) else f"{value:.3g} {unit}"  # noqa: PLR2004


def size_words(size: int) -> str:
    """Bytes in the largest binary unit that divides them, as engines take them: `16g`."""
    for unit, shift in (("g", 30), ("m", 20), ("k", 10)):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return f"{size}b"
