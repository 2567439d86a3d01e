"""What a registry's refusals mean, in words: each status, and what a person does next."""

from __future__ import annotations

from rocenv.engine.registry.line import Answer
from rocenv.engine.registry.records import Place, RegistryError

OK, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, BUSY, FAULT = 200, 401, 403, 404, 429, 500
_CHECK = "check the name; `rocenv images` shows what is known"
_LIMITED = "`docker login` raises the limit; or wait, or name a mirror in the daemon's `registry-mirrors`"


def refusal(place: Place, answer: Answer, *, known: bool = False, basic: bool = False, note: str = "") -> RegistryError:
    """What a status means that is no 200, asked for a manifest, a blob or tags.

    `known`: there is a login for this registry; `basic`: it was shown it; `note`: why there may be none.
    """
    host = place.host
    if answer.status == NOT_FOUND and b"NAME_UNKNOWN" in answer.body:
        return RegistryError("no-repository", f"{host} has no repository `{place.repository}`", _CHECK)
    if answer.status == NOT_FOUND:
        return RegistryError("no-tag", f"{host} has no such image in `{place.repository}` (manifest unknown)", _CHECK)
    if answer.status == UNAUTHORIZED and basic:
        return not_taken(place, host)
    if answer.status in (UNAUTHORIZED, FORBIDDEN):
        return denied(place, answer.status, known=known, note=note)
    if answer.status == BUSY:
        return busy(host, answer)
    if answer.status >= FAULT:
        return RegistryError("unreachable", f"{host} answers {answer.status}: it is out of order", "try again later")
    return RegistryError("bad", f"{host} answers {answer.status}", f"`curl -v {place.base}/v2/` shows who answers")


def denied(place: Place, status: int, *, known: bool, note: str = "") -> RegistryError:
    """A refusal by which a registry hides whether there is such a repository at all."""
    whose = "not for this login" if known else "private"
    said = f"{place.host} answers {status}: `{place.repository}` is missing or {whose}{note}"
    return RegistryError("denied", said, f"check the name; for a private one `{_login(place)}`")


def not_taken(place: Place, host: str) -> RegistryError:
    """A login that `host`, the registry or its token service, does not know."""
    return RegistryError("refused", f"{host} does not take the login for {place.host}", f"`{_login(place)}`")


def wanted(place: Place, note: str) -> RegistryError:
    """A login that is asked for and not there."""
    return RegistryError("refused", f"{place.host} asks for a login{note}", f"`{_login(place)}`")


def busy(host: str, answer: Answer) -> RegistryError:
    """A limit of requests, of the registry's or of its token service's."""
    later = f", and asks to wait {answer.wait} s" if answer.wait else ""
    return RegistryError("busy", f"{host} takes no more requests for now (429, too many requests){later}", _LIMITED)


def _login(place: Place) -> str:
    """The command line by which a person logs in to a registry."""
    return f"{place.engine} login {place.registry}".rstrip()
