"""HTTP as a registry is spoken to: each answer within a time and a size, few redirects, no secret for a stranger.

urllib3 does the connections (pools, TLS, proxies); what is asked, how often, and who gets to see the login is decided
here, for a registry, or who stands in its place, may answer anything.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from rocenv.engine.registry import surroundings
from rocenv.engine.registry.faults import fault
from rocenv.engine.registry.records import RegistryError

if TYPE_CHECKING:
    import socket

    from urllib3 import BaseHTTPResponse
    from urllib3.connectionpool import HTTPConnectionPool

CONNECT = 5.0  # seconds for a connection
READ = 15.0  # seconds without a byte
REDIRECTS = 5
_UNPRINTED = re.compile(r"[^!-~]")
_MOVED = (301, 302, 303, 307, 308)


class Answer(NamedTuple):
    """A whole answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str  # whence it came in the end

    @property
    def wait(self) -> int | None:
        """The seconds that are to be waited (Retry-After), None where nothing sound is named."""
        text = self.headers.get("retry-after", "")
        if text.isascii() and text.isdigit():
            return int(text[:12])
        from email.utils import parsedate_to_datetime

        try:
            return max(0, round(parsedate_to_datetime(text).timestamp() - time.time()))
        except (ValueError, TypeError, OverflowError):
            return None


def headed(answer: BaseHTTPResponse, url: str, body: bytes = b"") -> Answer:
    """An answer as it is kept, with as much of its body as was read."""
    return Answer(answer.status, {key.lower(): value for key, value in answer.headers.items()}, body, url)


class Line:
    """Connections to one registry and to whom it leads on; of whom `trusting` is an address any certificate will do."""

    def __init__(self, trusting: str | None = None) -> None:
        self._trusting = trusting
        self._pools: dict[str, HTTPConnectionPool] = {}
        self._watch = _Watch()

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()

    def ask(
        self, url: str, headers: Mapping[str, str], *, limit: int, deadline: float, form: str | None = None
    ) -> Answer:
        """A whole answer of at most `limit` bytes before `deadline` (of time.monotonic); `form` is posted.

        Raises RegistryError.
        """
        with self.open(url, headers, deadline=deadline, form=form) as (answer, final):
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise RegistryError("bad", "it answers compressed what was asked for plain")
            body = b"".join(pieces(answer, deadline=deadline, limit=limit))
            return headed(answer, final, body)

    @contextlib.contextmanager
    def open(
        self, url: str, headers: Mapping[str, str], *, deadline: float, form: str | None = None
    ) -> Iterator[tuple[BaseHTTPResponse, str]]:
        """An answer whose body has not been read, and its address after all redirects. Raises RegistryError."""
        with said_in_words(url):
            answer, final = self._followed(url, headers, form, deadline)
            try:
                yield answer, final
            finally:
                answer.close()

    def _followed(
        self, url: str, headers: Mapping[str, str], form: str | None, deadline: float
    ) -> tuple[BaseHTTPResponse, str]:
        for _ in range(REDIRECTS + 1):
            with self._watch.until(deadline):
                answer = self._send(url, headers, form)
            if answer.status not in _MOVED or "location" not in answer.headers:
                return answer, url
            answer.close()
            target = joined(url, answer.headers["location"])
            if form is not None:
                raise RegistryError("bad", "it sends a login elsewhere")
            url, headers = _onward(url, target, headers)
        raise RegistryError("bad", f"it redirects more than {REDIRECTS} times")

    def _send(self, url: str, headers: Mapping[str, str], form: str | None) -> BaseHTTPResponse:
        from urllib3 import Timeout

        pool, parts = self._pool(url), urlsplit(url)
        short = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return pool.urlopen(
            "GET" if form is None else "POST",
            url if pool.proxy is not None and parts.scheme == "http" else short,  # to a proxy the whole address
            body=form,
            headers={"User-Agent": "rocenv", "Accept-Encoding": "identity", **headers},
            redirect=False,
            assert_same_host=False,
            retries=False,
            timeout=Timeout(connect=CONNECT, read=READ),
            preload_content=False,
            decode_content=False,
        )

    def _pool(self, url: str) -> HTTPConnectionPool:
        own = origin(url)
        if own not in self._pools:
            self._pools[own] = surroundings.pool(
                own, self._watch.connections, trusting=self._trusting is not None and own == origin(self._trusting)
            )
        return self._pools[own]


def origin(url: str) -> str:
    """Scheme, host and port of an address. Raises RegistryError for what is no address of the web."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:  # a port or an IPv6 address that is none
        host, port = None, None
    if not host or not port or "@" in url or _UNPRINTED.search(url):
        raise RegistryError("bad", "it leads to what is no address of the web")
    return f"{urlsplit(url).scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def joined(url: str, onward: str) -> str:
    """An address that is told in another one's terms. Raises RegistryError for what is no address of the web."""
    try:
        found: str = urljoin(url, onward)
    except ValueError:
        found = ""
    origin(found)
    return found


def pieces(answer: BaseHTTPResponse, *, deadline: float, limit: int) -> Iterator[bytes]:
    """A body as it comes. Raises RegistryError past `deadline` or `limit`, however slowly it drips."""
    size = 0
    while piece := answer.read1(1 << 18):
        size += len(piece)
        if size > limit:
            raise RegistryError("bad", f"it answers more than {limit} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
        yield piece


@contextlib.contextmanager
def said_in_words(url: str) -> Iterator[None]:
    """Faults of the network as RegistryError; of an address its host alone is said, for the rest may hold a secret."""
    from urllib3 import exceptions

    try:
        yield
    except (exceptions.HTTPError, OSError, ValueError) as error:
        raise fault(error, urlsplit(url).netloc.rpartition("@")[2]) from None


def _onward(url: str, target: str, headers: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Where a redirect leads, and what is said there: to another origin no login, and from HTTPS never to HTTP."""
    here, there = origin(url), origin(target)
    if here.startswith("https:") and not there.startswith("https:"):
        raise RegistryError("bad", "it redirects from HTTPS to HTTP")
    same = here == there
    return target, {key: value for key, value in headers.items() if same or key.lower() != "authorization"}


class _Watch:
    """Cuts the connections of a line when an answer's head is not there in time.

    A limit on each read is none on all of them: a byte every few seconds would hold a caller for hours.
    """

    def __init__(self) -> None:
        self.connections: list[socket.socket] = []

    @contextlib.contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Raises TimeoutError once `deadline` has passed, whatever came before: it may be half of an answer."""
        from urllib3.exceptions import HTTPError

        late = threading.Event()
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._cut, (late,))
        timer.daemon = True
        timer.start()
        try:
            yield
        except (HTTPError, OSError):
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():
            raise TimeoutError from None

    def _cut(self, late: threading.Event) -> None:
        import socket

        late.set()
        for one in list(self.connections):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
