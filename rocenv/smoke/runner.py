"""Runs probes in a container: each a process of its own, with a time limit inside and outside, its output bounded.

One `exec` a probe: its command is `supervise.sh`, which runs the probe and leaves nothing behind; the probe's text
comes through its standard input, which then stays open: when this process ends, however it ends, so does the probe.
"""

from __future__ import annotations

import os
import re
import selectors
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from rocenv.errors import EngineError
from rocenv.model.plan import GpuRef
from rocenv.model.proof import Probe
from rocenv.process import ProgramMissingError, start
from rocenv.smoke.judge import Said

SUPERVISOR = Path(__file__).resolve().parent / "supervise.sh"
GRACE = 10.0  # seconds beyond the probe's own limit before the engine is no longer waited for
MOST_OUTPUT = 1 << 20  # bytes of answers; what comes beyond ends the probe
MOST_TALK = 1 << 16  # bytes of standard error that are kept, the last ones
CHUNK = 1 << 16
KILLED = 137  # how a shell counts SIGKILL, which is how the supervisor ends a probe that takes too long
TRAILER = re.compile(r"\n#(end|missing) (\S+)(.*)\n?\Z")
INCLUDE = re.compile(r'^(?:#include "([\w.]+)"|from (\w*prelude) import \*)$', re.MULTILINE)


class Executor(Protocol):
    """What is needed of an engine: the command line that runs a command in a container."""

    def exec_argv(
        self,
        container: str,
        command: Sequence[str],
        *,
        interactive: bool,
        tty: bool,
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The command line, as docker and podman take it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a process printed until it ended, or was ended (`limit`, `flood`)."""

    ended: str
    stdout: bytes
    stderr: bytes
    seconds: float


def run_probe(engine: Executor, container: str, probe: Probe, gpus: Sequence[GpuRef], *, stand_in: bool) -> Said:
    """Run one probe in a container, as the container's user, and return what it left."""
    text = payload(probe).encode()
    kind = Path(probe.path).suffix.removeprefix(".")
    command = ["sh", "-c", supervisor(), "rocenv-probe", f"{probe.seconds:g}", str(len(text)), kind, *probe.needs]
    argv = engine.exec_argv(container, command, interactive=True, tty=False, env=environment(gpus, stand_in=stand_in))
    return said(hear(argv, text, probe.seconds + GRACE), probe)


def supervisor() -> str:
    """The supervisor as an engine's events and a process list show it: without its comments."""
    return "".join(line for line in SUPERVISOR.read_text().splitlines(keepends=True) if not line.startswith("#"))


def environment(gpus: Sequence[GpuRef], *, stand_in: bool) -> dict[str, str]:
    """What a probe is told: the nodes to open, the gfx targets to build for, and a mark of this run."""
    return {
        "ROCENV_PROBE": os.urandom(16).hex(),
        "ROCENV_NODES": " ".join(ref.render_node for ref in gpus if ref.render_node),
        "ROCENV_TARGETS": " ".join(sorted({ref.gfx for ref in gpus if ref.gfx})),
        "ROCENV_STAND_IN": "1" if stand_in else "",
    }


def payload(probe: Probe) -> str:
    """The probe's text with all that it takes from the files beside it."""
    folder = Path(probe.path).parent

    def put_in(match: re.Match[str]) -> str:
        return (folder / (match[1] or f"{match[2]}.py")).read_text(encoding="utf-8")

    def whole(path: Path) -> str:
        text, found = path.read_text(encoding="utf-8"), 1
        while found:
            text, found = INCLUDE.subn(put_in, text)
        return text

    text = whole(Path(probe.path))
    if probe.source is None:
        return text
    source = whole(folder / probe.source)
    return f'import os\nos.environ["ROCENV_SOURCE"] = {source!r}\n{text}'


def hear(argv: Sequence[str], data: bytes, seconds: float) -> Heard:
    """Start `argv`, give it `data`, and keep what it prints, its input held open until it ends or is ended."""
    reader, writer = os.pipe()
    began = time.monotonic()
    with os.fdopen(writer, "wb", buffering=0) as line, os.fdopen(reader, "rb") as its_end:
        try:
            process = start(argv, stdin=its_end)
        except ProgramMissingError as error:
            raise EngineError(f"{error}", "`rocenv doctor` looks at the engine") from error
        its_end.close()
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        try:
            _give(line, data)
            ended, stdout, stderr = _listen(process.stdout, process.stderr, line, began + seconds)
        finally:
            line.close()
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
    return Heard(ended, stdout, stderr, time.monotonic() - began)


def _give(line: IO[bytes], data: bytes) -> None:
    """Write it all; a reader that is gone has said why on its standard error."""
    try:
        while data:
            data = data[line.write(data) :]
    except BrokenPipeError:
        return


def _listen(stdout: IO[bytes], stderr: IO[bytes], line: IO[bytes], deadline: float) -> tuple[str, bytes, bytes]:
    """Read both streams until their end or the deadline.

    Where more comes than anybody wants, the line is closed, which ends the probe, and what still comes is dropped.
    """
    answers, talk = bytearray(), bytearray()
    ended = "end"
    with selectors.DefaultSelector() as waiting:
        waiting.register(stdout, selectors.EVENT_READ, answers)
        waiting.register(stderr, selectors.EVENT_READ, talk)
        while waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return "limit" if ended == "end" else ended, bytes(answers), bytes(talk)
            for key, _ in waiting.select(left):
                chunk = os.read(key.fd, CHUNK)
                if not chunk:
                    waiting.unregister(key.fileobj)
                key.data.extend(chunk)
            del talk[:-MOST_TALK]
            if len(answers) > MOST_OUTPUT and ended == "end":
                ended, deadline = "flood", min(deadline, time.monotonic() + GRACE)
                line.close()
            del answers[MOST_OUTPUT:]
    return ended, bytes(answers), bytes(talk)


def said(heard: Heard, probe: Probe) -> Said:
    """What was heard, with the supervisor's last line taken off and understood."""
    text, talk = heard.stdout.decode(errors="replace"), heard.stderr.decode(errors="replace")
    trailer = TRAILER.search(text)
    if heard.ended != "end" or trailer is None:
        return Said("cut" if heard.ended == "end" else heard.ended, None, text, talk, heard.seconds)
    text = text[: trailer.start()]
    if trailer[1] == "missing":
        return Said("missing", None, text, talk, heard.seconds, missing=trailer[2])
    status = int(trailer[2]) if trailer[2].isdecimal() else None
    ended = "limit" if status == KILLED and heard.seconds >= probe.seconds else "end"
    return Said(ended, status, text, talk, heard.seconds, overrides=tuple(trailer[3].split()))
