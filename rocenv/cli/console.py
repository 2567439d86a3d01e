"""All that rocenv shows: data on stdout, talk on stderr, and the only use of rich.

Text that was read from files, engines or containers may hold terminal codes: everything shown goes through `clean`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rocenv.errors import RocenvError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from rocenv.engine.pull import PullEvent

DONE = ("Pull complete", "Already exists")  # what the daemon says last of a layer
PLAIN_SECONDS = 5.0  # between two lines of a pull where nobody watches a terminal

_QUOTED = re.compile("`[^`]*`")
# C0 controls but tab and newline, DEL, C1 controls, and the marks that turn the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    r"""`text` with every control character that a terminal could obey made visible as \xNN."""
    return _CONTROLS.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


class ReaderGoneError(Exception):
    """Who read stdout has gone: no fault of anybody's. No OSError, for Typer makes a failure of those."""


def say(text: str) -> None:
    """Talk: a line for the person who watches, on stderr; where nobody can, it is left unsaid."""
    with suppress(OSError):
        print(clean(text), file=sys.stderr, flush=True)  # noqa: T201


def data(text: str) -> None:
    """The answer itself, on stdout. Raises RocenvError where it takes no more, ReaderGoneError where nobody reads."""
    _out(clean(text))


def data_json(answer: Mapping[str, object]) -> None:
    """The answer as JSON on stdout; control characters are escaped by JSON itself. Raises as `data` does."""
    _out(json.dumps(answer, indent=2, ensure_ascii=True, allow_nan=False))


def _out(text: str) -> None:
    try:
        print(text, flush=True)  # noqa: T201
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as error:
        raise RocenvError(f"stdout cannot be written: {error.strerror}", "send it where there is room") from None


def failed(error: RocenvError, *, as_json: bool) -> None:
    """Show an error: `error:`, a blank line, `hint:` on stderr; with --json the same as data on stdout too."""
    if as_json:
        fault = {"kind": error.kind, "code": error.code, "message": error.message, "hint": error.hint}
        with suppress(ReaderGoneError, RocenvError):  # stdout itself may be the fault: it is told on stderr
            data_json({"version": 1, "status": "error", "error": fault})
    say(f"error: {_apart(error.message)}")
    if error.hint:
        say(f"\nhint: {_apart(error.hint)}")


def warn(text: str) -> None:
    """Something that the user should know, and that does not stop the work."""
    say(f"warning: {_apart(text)}")


def _apart(text: str) -> str:
    r"""Newlines in quotes as `\n`, other lines indented: nothing that was read passes for a line of rocenv's own."""
    return _QUOTED.sub(lambda found: found.group().replace("\n", "\\n"), text).replace("\n", "\n  ")


def ask(question: str) -> bool:
    """Ask the person at the terminal; only a clear yes is one."""
    print(f"{clean(question)} [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def can_ask() -> bool:
    """True where a person sits at the terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


@contextmanager
def pull_progress() -> Iterator[Callable[[PullEvent], None]]:
    """Show a pull: a bar for each layer on a terminal; else a line now and then. Costs nothing until then."""
    show = _Bars() if sys.stderr.isatty() else _Lines()
    try:
        yield show
    finally:
        show.close()


class _Lines:
    """A pull in lines, for logs: how many layers are done and how many bytes have come, every few seconds."""

    def __init__(self) -> None:
        self._done: set[str] = set()
        self._layers: set[str] = set()
        self._bytes: dict[str, int] = {}
        self._told: float | None = None

    def __call__(self, event: PullEvent) -> None:
        import time

        if event.layer:
            self._layers.add(event.layer)
            if event.status == "Downloading":
                self._bytes[event.layer] = event.current or 0
            if event.status in DONE:
                self._done.add(event.layer)
        now = time.monotonic()
        self._told = self._told or now
        if now - self._told >= PLAIN_SECONDS or event.status.startswith("Status:"):
            self._told = now
            self._tell()

    def _tell(self) -> None:
        from rocenv.report.text import size

        fetched = f", {size(sum(self._bytes.values()))} fetched" if len(self._done) < len(self._layers) else ""
        say(f"pulled {len(self._done)} of {len(self._layers)} layers{fetched}")

    def close(self) -> None:
        """Nothing is open."""


class _Bars:
    """A pull as bars on a terminal, one for each layer that is being fetched or unpacked; done ones leave."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, event: PullEvent) -> None:
        if event.status.startswith("Status:"):  # the last word of a pull
            self.close()
        if not event.layer:
            return
        if self._progress is None:
            self._progress = _progress()
            self._progress.start()
        if event.layer not in self._tasks:
            self._tasks[event.layer] = self._progress.add_task("", layer=clean(event.layer), total=None, doing="")
        done = event.status in DONE
        self._progress.update(
            self._tasks[event.layer],
            doing=clean(event.status).lower(),
            total=event.total,
            completed=event.current,
            visible=not done,
        )

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._tasks.clear()


def _progress() -> Progress:
    """Bars on stderr: a layer's short id, what is done with it, how far, how much, how fast."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    return Progress(
        TextColumn("{task.fields[layer]}", markup=False),
        TextColumn("{task.fields[doing]:<18}", markup=False),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
