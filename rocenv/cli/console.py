"""All that rocenv shows: data on stdout, talk on stderr, and the only use of rich.

Text that was read from files, engines or containers may hold terminal codes: everything shown goes through `clean`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping

from rocenv.errors import RocenvError

# C0 controls but tab and newline, DEL, C1 controls, and the marks that turn the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    r"""`text` with every control character that a terminal could obey made visible as \xNN."""
    return _CONTROLS.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def say(text: str) -> None:
    """Talk: a line for the person who watches, on stderr."""
    print(clean(text), file=sys.stderr, flush=True)  # noqa: T201


def data(text: str) -> None:
    """The answer itself, on stdout."""
    print(clean(text), flush=True)  # noqa: T201


def data_json(answer: Mapping[str, object]) -> None:
    """The answer as JSON on stdout; control characters are escaped by JSON itself."""
    print(json.dumps(answer, indent=2, ensure_ascii=True, allow_nan=False), flush=True)  # noqa: T201


def failed(error: RocenvError, *, as_json: bool) -> None:
    """Show an error: `error:`, a blank line, `hint:` on stderr; with --json the same as data on stdout too."""
    if as_json:
        fault = {"kind": error.kind, "code": error.code, "message": error.message, "hint": error.hint}
        data_json({"version": 1, "status": "error", "error": fault})
    say(f"error: {error.message}")
    if error.hint:
        say(f"\nhint: {error.hint}")


def warn(text: str) -> None:
    """Something that the user should know, and that does not stop the work."""
    say(f"warning: {text}")
