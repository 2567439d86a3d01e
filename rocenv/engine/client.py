"""An engine's own command-line client: asked one question after the other, or several ahead, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rocenv import process
from rocenv.engine import where
from rocenv.errors import EngineError

if TYPE_CHECKING:
    import subprocess

    from rocenv.errors import RocenvError

ANSWER = 30.0  # seconds within which an engine answers a question
WORK = 120.0  # seconds within which it has started or removed a container, on a slow disk


class Client:
    """Runs the engine's client. A question that is begun runs beside Python until somebody asks it."""

    def __init__(self, kind: str, program: str) -> None:
        self.kind = kind
        self.program = program
        self._begun: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}

    def close(self) -> None:
        """End what was begun and is not needed after all; the client can be used again."""
        while self._begun:
            process.end(self._begun.popitem()[1])

    def _begin(self, *questions: Sequence[str]) -> None:
        for question in map(tuple, questions):
            if question not in self._begun:
                self._begun[question] = self._start(question)

    def _start(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        try:
            return process.start([self.program, *arguments])
        except process.ProgramMissingError as error:
            raise self._unstartable(error) from None

    def _answer(self, arguments: Sequence[str], seconds: float = ANSWER) -> process.Completed:
        """What the engine answers, also where it fails."""
        child = self._begun.pop(tuple(arguments), None) or self._start(arguments)
        try:
            return process.finish(child, seconds)
        except process.GivenUpError as error:
            raise self._silent(error) from None

    def _through(self, argv: Sequence[str]) -> tuple[process.Completed, bool]:
        """Let the engine come to its end, whatever happens here; the second value: an interrupt came meanwhile."""
        try:
            return process.run_through(argv, seconds=WORK)
        except process.GivenUpError as error:
            raise self._silent(error) from None
        except process.ProgramMissingError as error:
            raise self._unstartable(error) from None

    def _unstartable(self, error: process.ProgramMissingError) -> EngineError:
        return EngineError(str(error), f"`type {self.program}` shows which file that is; install the engine anew")

    def _silent(self, error: process.GivenUpError) -> EngineError:
        return EngineError(f"the engine: {error}", f"`{self.program} info` shows whether its daemon still answers")

    def _ask(self, arguments: Sequence[str]) -> str:
        """The engine's answer on stdout; raises its error."""
        answer = self._answer(arguments)
        if answer.status != 0:
            raise self._error(answer.stderr)
        return answer.stdout

    @contextmanager
    def _read(self, what: str) -> Iterator[None]:
        """Inside, the answer to `what` is read: one that is not of an engine's form becomes an EngineError."""
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise EngineError(
                f"`{self.program} {what}` answered what no engine answers ({type(error).__name__})",
                f"`type {self.program}` shows whether that is an engine's own client",
            ) from error

    def _do(self, arguments: Sequence[str]) -> None:
        answer = self._answer(arguments, WORK)
        if answer.status != 0:
            raise self._error(answer.stderr)

    def _error(self, said: str, image: str | None = None) -> RocenvError:
        from rocenv.engine.words import explain, no_daemon

        if "Cannot connect to the Docker daemon" in said:
            endpoint = where.docker_endpoint()
            exists = Path(endpoint.removeprefix("unix://")).exists()
            return no_daemon(endpoint, exists=exists, chosen=endpoint != where.DEFAULT_ENDPOINT)
        return explain(said, engine=self.kind, image=image)
