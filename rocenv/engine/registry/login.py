"""Being let in: what a registry asks for in its 401, and what it is given (the distribution specification's tokens).

A login is given to the registry itself and to the token service that it names, and to nobody else. A registry whose
certificate nobody has verified may be anybody: what it names elsewhere gets no login.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from rocenv.engine.registry.contents import parsed
from rocenv.engine.registry.credentials import Credentials, Kept, kept
from rocenv.engine.registry.line import Answer, Line, origin
from rocenv.engine.registry.records import Place, RegistryError
from rocenv.engine.registry.refusals import BUSY, FORBIDDEN, OK, UNAUTHORIZED, busy, denied, not_taken, wanted

_LIMIT = 1 << 18  # bytes of a token service's answer
_BAD_GRANT = 400  # of an identity token (RFC 6749, 5.2)
_VALUE = r"(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,\"]+))"
_PAIR = re.compile(rf"(\w+)\s*=\s*{_VALUE}")
_CHALLENGE = re.compile(rf"\b(bearer|basic)\b((?:[\s,]*\w+\s*=\s*{_VALUE})*)", re.IGNORECASE)
_HEADER = 8192  # signs of a challenge that are looked at
_TOKEN = re.compile(r"[!-~]+")  # what can stand in a header


class Challenge(NamedTuple):
    """What a registry asks for: `bearer` (a token of the realm's) or `basic` (name and password)."""

    scheme: str
    realm: str
    service: str


def challenge_of(headers: Mapping[str, str]) -> Challenge | None:
    """The challenge in an answer, a token before a password; None where there is none that can be met."""
    found = []
    for scheme, rest, *_ in _CHALLENGE.findall(headers.get("www-authenticate", "")[:_HEADER]):
        pairs = {key.lower(): re.sub(r"\\(.)", r"\1", quoted) or bare for key, quoted, bare in _PAIR.findall(rest)}
        found.append(Challenge(scheme.lower(), pairs.get("realm", ""), pairs.get("service", "")))
    return next((one for one in sorted(found, key=lambda one: one.scheme != "bearer")), None)


class Login:
    """The login to one place: anonymous until the registry asks, then what the engine's own files hold for it."""

    def __init__(self, place: Place, line: Line) -> None:
        self._place = place
        self._line = line
        self._header: str | None = None
        self._kept: Kept | None = None

    def header(self, url: str) -> dict[str, str]:
        """What is sent along with a question: to the registry itself alone."""
        own = self._header is not None and origin(url) == origin(self._place.base)
        return {"Authorization": str(self._header)} if own else {}

    @property
    def basic(self) -> bool:
        """Whether the registry was given a name and a password."""
        return (self._header or "").startswith("Basic ")

    @property
    def known(self) -> bool:
        """Whether the engine's files hold a login for this registry."""
        return self._kept is not None and self._kept.credentials is not None

    def obtain(self, challenge: Challenge | None, deadline: float) -> bool:
        """Meet a challenge; False where there is none. Raises RegistryError where it cannot be met."""
        if challenge is None:
            return False
        if self._kept is None:
            self._kept = kept(self._place)
        credentials = self._kept.credentials
        if challenge.scheme == "bearer":
            self._header = f"Bearer {self._token(challenge, credentials, deadline)}"
            return True
        if credentials is None or credentials.kind:
            raise wanted(self._place, self.note)
        self._header = credentials.basic
        return True

    def _token(self, challenge: Challenge, credentials: Credentials | None, deadline: float) -> str:
        if credentials is not None and credentials.kind == "registry":
            return credentials.secret
        realm = challenge.realm
        if not self._may_know(realm):
            credentials = None
        asked = {"service": challenge.service, "scope": f"repository:{self._place.repository}:pull"}
        asked = {key: value for key, value in asked.items() if value}
        if credentials is not None and credentials.kind == "identity":
            form = {**asked, "grant_type": "refresh_token", "refresh_token": credentials.secret, "client_id": "rocenv"}
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = self._line.ask(realm, headers, limit=_LIMIT, deadline=deadline, form=urlencode(form))
        else:
            headers = {"Authorization": credentials.basic} if credentials is not None else {}
            sign = "&" if urlsplit(realm).query else "?"
            answer = self._line.ask(f"{realm}{sign}{urlencode(asked)}", headers, limit=_LIMIT, deadline=deadline)
        return self._read(answer, credentials)

    def _may_know(self, realm: str) -> bool:
        """Whether a token service may be given the login. Raises RegistryError where it may not even be asked."""
        own, there = origin(self._place.base), origin(realm)
        if own.startswith("https:") and not there.startswith("https:"):
            raise RegistryError("bad", f"{self._place.host} sends logins to a service without HTTPS")
        same = urlsplit(own).hostname == urlsplit(there).hostname
        return same or (self._place.verified and own.startswith("https:"))

    def _read(self, answer: Answer, credentials: Credentials | None) -> str:
        """The token in a token service's answer."""
        host = urlsplit(answer.url).netloc
        rejected = (UNAUTHORIZED, _BAD_GRANT) if credentials is not None and credentials.kind else (UNAUTHORIZED,)
        if answer.status in rejected and credentials is not None:
            raise not_taken(self._place, host)
        if answer.status in (UNAUTHORIZED, FORBIDDEN):
            raise denied(self._place, answer.status, known=credentials is not None, note=self.note)
        if answer.status == BUSY:
            raise busy(host, answer)
        if answer.status != OK:
            raise RegistryError("unreachable", f"{host} gives no token: it answers {answer.status}", "try again later")
        found = parsed(answer.body)
        token = found.get("token") or found.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise RegistryError("bad", f"{host} answers without a token")
        return token

    @property
    def note(self) -> str:
        """What kept a login from being read, for the message; empty where nothing did."""
        return f" ({self._kept.trouble})" if self._kept is not None and self._kept.trouble else ""
