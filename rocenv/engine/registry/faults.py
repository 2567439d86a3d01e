"""The network's faults in words, and what mends each."""

from __future__ import annotations

import re
import socket

from rocenv.engine.registry.records import RegistryError

_OFFLINE = "mend the network or proxy; offline, `docker load` brings an image that `docker save` wrote elsewhere"
_PLAIN = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")  # OpenSSL's reasons at an answer in HTTP
_BROKEN = {"RemoteDisconnected": "it closes the connection", "IncompleteRead": "its answer is cut short"}


def fault(error: BaseException, host: str) -> RegistryError:
    """The error that a fault of the network is to a person; its own text, which may hold a secret, is not told."""
    chain = _chain(error)
    inner = _innermost(chain)
    hint = _OFFLINE
    if getattr(inner, "verify_message", None):
        hint = f"put the registry's certificate into /etc/docker/certs.d/{host}/ca.crt (a proxy may stand in between)"
    elif getattr(inner, "reason", None) in _PLAIN:
        hint = (
            f'put "{host}" into `insecure-registries` of /etc/docker/daemon.json, if HTTP is what it is meant to speak'
        )
    if isinstance(inner, OSError) and not isinstance(inner, ConnectionResetError):
        by = "the proxy in the environment fails, " if any(type(one).__name__ == "ProxyError" for one in chain) else ""
        return RegistryError("unreachable", f"{host} cannot be reached: {by}{words(inner)}", hint)
    return RegistryError("unreachable", f"{host} gives no whole answer: {words(inner)}", hint)


def words(inner: BaseException) -> str:
    """A fault in a few words: the system's own where it has some."""
    if isinstance(inner, TimeoutError) or "Timeout" in type(inner).__name__:
        return "it takes too long to answer"
    if isinstance(inner, socket.gaierror):
        return f"its name cannot be resolved ({inner.strerror})"
    verify = getattr(inner, "verify_message", "")
    if verify:
        return f"its certificate is not trusted ({verify})"
    if getattr(inner, "reason", None) in _PLAIN:
        return "it speaks no HTTPS"
    if type(inner).__name__ in _BROKEN:
        return _BROKEN[type(inner).__name__]
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror.lower() if inner.strerror[1:2].islower() else inner.strerror
    refusal = re.search(r"Tunnel connection failed: (\d{3})", str(inner))
    return f"it answers {refusal[1]}" if refusal else f"it speaks no sound HTTP ({type(inner).__name__})"


def _chain(error: BaseException) -> list[BaseException]:
    """An error and what it came from, the outermost first: by cause, by context, or as urllib3 hands it on."""
    chain: list[BaseException] = []
    inner: object = error
    while isinstance(inner, BaseException) and inner not in chain:
        chain.append(inner)
        handed = [one for one in (getattr(inner, "reason", None), getattr(inner, "original_error", None), *inner.args)
                  if isinstance(one, BaseException)]  # fmt: skip
        before = None if inner.__suppress_context__ else inner.__context__
        inner = next(iter(handed), None) or inner.__cause__ or before
    return chain


def _innermost(chain: list[BaseException]) -> BaseException:
    """The system's own error, or the last."""
    return next((one for one in reversed(chain) if isinstance(one, OSError)), chain[-1])
