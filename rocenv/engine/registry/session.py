"""One place of a registry being asked: its login, its limits and its patience."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocenv.engine.registry.line import Answer, Line, headed
from rocenv.engine.registry.login import Login, challenge_of
from rocenv.engine.registry.records import Place, RegistryError
from rocenv.engine.registry.refusals import BUSY, OK, UNAUTHORIZED, refusal

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

BUDGET = 60.0  # seconds for finding an image in one place, with logins, redirects and waits
_HEAD = 30.0  # seconds until a stream begins
_WAIT = 10  # seconds that a registry may ask for and get, so many times
_WAITS = 3


@dataclass
class _Turns:
    """What has been done already for one question to be answered after all."""

    let_in: bool = False
    waits: int = 0


class Session:
    """Questions to one place, each answered before `until` (of time.monotonic), a stream's head within a budget.

    `sleep` is what waits when the registry asks for it.
    """

    def __init__(
        self, place: Place, *, until: float | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.place = place
        self._until = time.monotonic() + BUDGET if until is None else until
        self._line = Line(None if place.verified else place.base)
        self._login = Login(place, self._line)
        self._sleep = sleep

    def close(self) -> None:
        """Close the connections."""
        self._line.close()

    def ask(self, path: str, *, limit: int, accept: str = "application/json") -> Answer:
        """What is found at a path of this repository's, at most `limit` bytes. Raises RegistryError."""
        url, turns = self.address(path), _Turns()
        while True:
            headers = {"Accept": accept, **self._login.header(url)}
            answer = self._line.ask(url, headers, limit=limit, deadline=self._until)
            if not self._again(answer, turns, self._until):
                break
        if answer.status != OK:
            raise self.refusal(answer)
        return answer

    @contextlib.contextmanager
    def stream(self, path: str, start: int) -> Iterator[BaseHTTPResponse]:
        """An answer from byte `start` on, its body unread. Raises RegistryError."""
        url, turns = self.address(path), _Turns()
        ranged = {"Range": f"bytes={start}-"} if start else {}
        while True:
            until = time.monotonic() + _HEAD
            with self._line.open(url, {**ranged, **self._login.header(url)}, deadline=until) as (answer, final):
                if not self._again(headed(answer, final), turns, until):
                    yield answer
                    return

    def _again(self, answer: Answer, turns: _Turns, until: float) -> bool:
        """Whether a question is to be asked once more: with a login now, or after the time that the registry names."""
        if answer.status == UNAUTHORIZED and not turns.let_in:
            turns.let_in = self._login.obtain(challenge_of(answer.headers), until)
            return turns.let_in
        wait = answer.wait
        late = wait is None or wait > _WAIT or time.monotonic() + wait > until
        if answer.status != BUSY or turns.waits >= _WAITS or wait is None or late:
            return False
        turns.waits += 1
        self._sleep(wait)
        return True

    def address(self, path: str) -> str:
        """The address of something of this repository's; a whole address stays as it is."""
        if "://" in path:
            return path
        return f"{self.place.base}/v2/{quote(self.place.repository)}/{path}"

    def refusal(self, answer: Answer) -> RegistryError:
        """What a status means that is no 200."""
        login = self._login
        return refusal(self.place, answer, known=login.known, basic=login.basic, note=login.note)
