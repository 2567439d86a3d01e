"""The one place that starts processes: argv lists, never a shell; a time limit on all that could hang."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from types import FrameType

MOST = 32 << 20  # bytes: what a process may say before it is taken for one that never ends
# What has been started, oldest first, for `rocenv --verbose` and for the tests.
log: list[tuple[str, ...]] = []


class Completed(NamedTuple):
    """What a finished process left: its exit status (negative for a signal) and its two streams as text."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str


class ProgramMissingError(Exception):
    """The program is not on PATH, may not be executed, or is none that this machine can execute."""

    def __init__(self, program: str) -> None:
        super().__init__(f"`{program}` cannot be started")
        self.program = program


class GivenUpError(Exception):
    """The process was killed before its end; the words say why."""


class TimedOutError(GivenUpError):
    """The process did not end within `seconds`; it has been killed."""

    def __init__(self, argv: Sequence[str], seconds: float) -> None:
        super().__init__(f"`{shlex.join(argv)}` did not answer within {seconds:g} s")
        self.seconds = seconds


class TooMuchError(GivenUpError):
    """The process said more than any answer is long; it has been killed."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__(f"`{shlex.join(argv)}` answered with more than {MOST >> 20} MiB")


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    shielded: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `argv` with both streams piped and return at once; `finish` waits for it.

    `shielded`: in a session of its own, so that a Ctrl-C on the terminal does not reach it.
    Raises ProgramMissingError when there is no such program.
    """
    log.append(tuple(argv))
    try:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else {**os.environ, **env},
            start_new_session=shielded,
        )
    except OSError as error:
        raise ProgramMissingError(argv[0]) from error


def finish(process: subprocess.Popen[bytes], seconds: float, *, data: bytes | None = None) -> Completed:
    """Wait for a process of `start`, which reads `data` where its input is a pipe.

    Kills it and raises TimedOutError after `seconds`, TooMuchError once it has said more than MOST.
    """
    argv = tuple(str(word) for word in process.args) if isinstance(process.args, list) else ()
    try:
        out, err = _said(process, seconds, data or b"", argv)
    except BaseException as error:
        end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            raise TimedOutError(argv, seconds) from None
        raise
    return Completed(argv, process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def _said(process: subprocess.Popen[bytes], seconds: float, data: bytes, argv: Sequence[str]) -> tuple[bytes, bytes]:
    """Both streams of a process to their end, `data` written meanwhile. `communicate` would read without a limit."""
    import selectors
    import time

    deadline, size = time.monotonic() + seconds, 0
    said: dict[object, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as ready:
        for pipe in (process.stdout, process.stderr, process.stdin):
            if pipe is not None:
                ready.register(pipe, selectors.EVENT_WRITE if pipe is process.stdin else selectors.EVENT_READ)
        while ready.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, seconds)
            for key, _ in ready.select(left):
                if key.fileobj is process.stdin:
                    data = _written(process.stdin, data)
                    done = not data
                else:
                    part = os.read(key.fd, 65536)
                    said[key.fileobj] += part
                    done, size = not part, size + len(part)
                if done:
                    ready.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
                if size > MOST:
                    raise TooMuchError(argv)
    process.wait(max(deadline - time.monotonic(), 0))
    return bytes(said[process.stdout]), bytes(said[process.stderr])


def _written(pipe: IO[bytes], data: bytes) -> bytes:
    """What is left of `data` once the pipe has taken some; a reader that is gone takes all."""
    try:
        return data[os.write(pipe.fileno(), data[: select.PIPE_BUF]) :] if data else b""
    except BrokenPipeError:
        return b""


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of `start` and drop what it said.

    Its pipes are closed, not read to their end: a child of its own (of a wrapper script) may hold them open.
    """
    process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


def run_through(argv: Sequence[str], *, seconds: float) -> tuple[Completed, bool]:
    """Run `argv` to its end even when interrupted; the second value says whether an interrupt came meanwhile.

    For a step that must not stay half done: the caller sees what it left, undoes it, and passes the interrupt on.
    A second interrupt is not held back.
    """
    with _held_back() as came:
        done = finish(start(argv, shielded=True), seconds)
    return done, bool(came)


@contextmanager
def _held_back() -> Iterator[list[int]]:
    """Inside, the first signal that would raise is noted instead, at whatever instant it comes.

    Signals are handled in the main thread; elsewhere there is nothing to hold back.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    raising = {number: handler for number, handler in found.items() if callable(handler)}

    def restore() -> None:
        for number, handler in raising.items():
            signal.signal(number, handler)

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        restore()

    for number in raising:
        signal.signal(number, note)
    try:
        yield came
    finally:
        restore()


def run(
    argv: Sequence[str], *, seconds: float, data: bytes | None = None, env: Mapping[str, str] | None = None
) -> Completed:
    """Run `argv` to its end and return what it left; `data` goes to its standard input.

    Raises ProgramMissingError, or GivenUpError: after `seconds`, or past MOST (the process is killed first).
    """
    child = start(argv, env=env, stdin=subprocess.PIPE)
    return finish(child, seconds, data=data or b"")


def fed(argv: Sequence[str], pieces: Iterable[bytes], *, seconds: float) -> Completed:
    """Run `argv` with `pieces` as its standard input and return what it left, `seconds` after the last at most.

    Where making a piece fails, the process is killed and sees no end of its input. One that ends before it has read
    all is no fault here: its status tells.
    """
    child = start(argv, stdin=subprocess.PIPE)
    stdin, child.stdin = child.stdin, None
    assert stdin is not None  # noqa: S101 - it is a pipe
    try:
        for piece in pieces:
            stdin.write(piece)
        stdin.close()
    except BrokenPipeError:
        pass
    except BaseException:
        end(child)
        raise
    finally:
        with suppress(OSError):
            stdin.close()
    return finish(child, seconds)


def attached(argv: Sequence[str], *, data: bytes = b"", env: Mapping[str, str] | None = None) -> int:
    """Run `argv` where the user can watch it (a pull, a build) and return its exit status.

    All that it prints is talk, and goes to stderr; `data` goes to its standard input, `env` is set beside what is.
    An interrupt is handed on, and goes on here once the child has ended.
    """
    log.append(tuple(argv))
    try:
        own = None if env is None else {**os.environ, **env}
        child = subprocess.Popen(list(argv), stdin=subprocess.PIPE, stdout=sys.stderr, env=own)
    except OSError as error:
        raise ProgramMissingError(argv[0]) from error
    try:
        child.communicate(data)
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)  # from a terminal it has had it already, from elsewhere it has not
        child.wait()
        raise
    return child.returncode


def replace(argv: Sequence[str]) -> NoReturn:
    """Become `argv`: a terminal, its size, its signals and the exit status are then the engine's own.

    Raises ProgramMissingError when there is no such program.
    """
    log.append(tuple(argv))
    try:
        os.execvp(argv[0], list(argv))  # noqa: S606
    except OSError as error:
        raise ProgramMissingError(argv[0]) from error


def forked(work: Callable[[int], None], seconds: float) -> tuple[bytes, bool]:
    """Let a child of this process do `work`, which writes to the descriptor that it is given.

    What it wrote within `seconds`, and whether it came to its end. A child that hangs in the kernel cannot be killed
    before the kernel lets go of it: it is left behind, and nobody waits for it.
    """
    import time

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            work(writer)
        finally:
            os._exit(0)  # nothing of the parent's runs in here: no handlers, no flushing of its streams
    os.close(writer)
    written, ended, deadline = b"", False, time.monotonic() + seconds
    while not ended and (left := deadline - time.monotonic()) > 0:
        if select.select([reader], [], [], left)[0]:
            part = os.read(reader, 65536)
            written += part
            ended = not part
    os.close(reader)
    if not ended:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0 if ended else os.WNOHANG)
    return written, ended
