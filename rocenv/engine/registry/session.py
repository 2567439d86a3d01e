"""One place of a registry being asked: its login, its limits and its patience."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from rocenv.engine.registry.line import Answer, Line
from rocenv.engine.registry.login import Login, challenge_of, denied, not_taken
from rocenv.engine.registry.records import Place, RegistryError

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

BUDGET = 60.0  # seconds for finding an image in one place, with logins, redirects and waits
HEAD = 30.0  # seconds until a stream begins
_OK, _UNAUTHORIZED, _NOT_FOUND, _BUSY, _FAULT, _DENIED = 200, 401, 404, 429, 500, (401, 403)
CHECK = "check the name; `rocenv images` shows what is known"
_LIMITED = "`docker login` raises the limit; or wait, or name a mirror in the daemon's `registry-mirrors`"
_WAIT = 10  # seconds that a registry may ask for and get
_TURNS = 3


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
        url = self.address(path)
        waits, let_in = 0, False
        while True:
            headers = {"Accept": accept, **self._login.header(url)}
            answer = self._line.ask(url, headers, limit=limit, deadline=self._until)
            if answer.status == _UNAUTHORIZED and not let_in:
                let_in = self._login.obtain(challenge_of(answer.headers), self._until)
                if let_in:
                    continue
            wait = _retry_after(answer.headers.get("retry-after"))
            late = wait is None or time.monotonic() + wait > self._until
            if answer.status != _BUSY or waits >= _TURNS or wait is None or late:
                break
            waits += 1
            self._sleep(wait)
        if answer.status != _OK:
            raise self.refusal(answer)
        return answer

    @contextlib.contextmanager
    def stream(self, path: str, start: int) -> Iterator[BaseHTTPResponse]:
        """An answer from byte `start` on, its body unread. Raises RegistryError."""
        deadline = time.monotonic() + HEAD
        url = self.address(path)
        ranged = {"Range": f"bytes={start}-"} if start else {}
        for last in (False, True):
            with self._line.open(url, {**ranged, **self._login.header(url)}, deadline=deadline) as (answer, _):
                again = answer.status == _UNAUTHORIZED and not last
                challenge = challenge_of({key.lower(): value for key, value in answer.headers.items()})
                if not again or not self._login.obtain(challenge, deadline):
                    yield answer
                    return

    def address(self, path: str) -> str:
        """The address of something of this repository's; a whole address stays as it is."""
        if "://" in path:
            return path
        return f"{self.place.base}/v2/{quote(self.place.repository)}/{path}"

    def refusal(self, answer: Answer) -> RegistryError:
        """What a status means that is no 200, asked for a manifest, a blob or tags."""
        place = self.place
        host = place.host
        if answer.status == _NOT_FOUND and b"NAME_UNKNOWN" in answer.body:
            return RegistryError("no-repository", f"{host} has no repository `{place.repository}`", CHECK)
        if answer.status == _NOT_FOUND:
            return RegistryError(
                "no-tag", f"{host} has no such image in `{place.repository}` (manifest unknown)", CHECK
            )
        if answer.status == _UNAUTHORIZED and self._login.basic:
            return not_taken(place, host)
        if answer.status in _DENIED:
            return denied(place, answer.status, known=self._login.known, note=self._login.note)
        if answer.status == _BUSY:
            wait = _retry_after(answer.headers.get("retry-after"), most=1 << 31)
            later = f", and asks to wait {wait} s" if wait else ""
            return RegistryError(
                "busy", f"{host} takes no more requests for now (429, too many requests){later}", _LIMITED
            )
        if answer.status >= _FAULT:
            return RegistryError(
                "unreachable", f"{host} answers {answer.status}: it is out of order", "try again later"
            )
        return RegistryError("bad", f"{host} answers {answer.status}", f"`curl -v {place.base}/v2/` shows who answers")


def _retry_after(text: str | None, most: int = _WAIT) -> int | None:
    """Seconds that a registry asks to wait for, None where it names none or more than `most`."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        seconds = int(text[:12])
    else:
        from email.utils import parsedate_to_datetime

        try:
            seconds = max(0, round(parsedate_to_datetime(text).timestamp() - time.time()))
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if seconds <= most else None
