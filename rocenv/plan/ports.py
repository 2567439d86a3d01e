"""Published ports: on loopback unless an address is given, and where a server is then reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rocenv.errors import UsageError

LOOPBACK = "127.0.0.1"
_MOST = 65535
_EVERYWHERE = {"0.0.0.0": LOOPBACK, "[::]": "[::1]"}  # noqa: S104 - read, not listened on


class Published(NamedTuple):
    """One wish taken apart: `[ADDRESS:]HOST:CONTAINER[/PROTOCOL]`, each port a first and a last one."""

    address: str
    host: tuple[int, int]
    container: tuple[int, int]
    protocol: str

    @property
    def text(self) -> str:
        """What the engine is told."""
        own = f"/{self.protocol}" if self.protocol != "tcp" else ""
        return f"{self.address}:{_range(self.host)}:{_range(self.container)}{own}"


def published(words: Iterable[str], origin: str) -> tuple[str, ...]:
    """The ports as the engine is told them. Raises UsageError for numbers that no port has, and for one given twice."""
    found = [_read(word, origin) for word in words]
    seen: dict[tuple[str, int, str], str] = {}
    for one, word in zip(found, words, strict=True):
        for port in range(one.host[0], one.host[1] + 1):
            other = seen.setdefault((one.address, port, one.protocol), word)
            if other is not word:
                raise UsageError(f"`{origin}`: `{other}` and `{word}` both want port {port}", "give one another port")
    return tuple(one.text for one in found)


def addresses(ports: Sequence[str]) -> tuple[str, ...]:
    """Where each published TCP port is reached from this host: `http://127.0.0.1:8000`."""
    found = [_read(port, "ports") for port in ports]
    return tuple(
        f"http://{_EVERYWHERE.get(one.address, one.address)}:{port}"
        for one in found
        if one.protocol == "tcp"
        for port in range(one.host[0], one.host[1] + 1)
    )


def _read(word: str, origin: str) -> Published:
    body, _, protocol = word.partition("/")
    rest, _, container = body.rpartition(":")
    address, _, host = rest.rpartition(":")
    one = Published(address or LOOPBACK, _ports(host, word, origin), _ports(container, word, origin), protocol or "tcp")
    if one.host[1] - one.host[0] != one.container[1] - one.container[0]:
        raise UsageError(f"`{origin}`: `{word}` has more ports on one side than on the other", "make both as long")
    if "." in one.address and any(int(part) > 255 for part in one.address.split(".")):  # noqa: PLR2004
        raise UsageError(f"`{origin}`: `{word}` has an address that there is not", f"`{LOOPBACK}` is this host alone")
    return one


def _ports(text: str, word: str, origin: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    low, high = int(first), int(last or first)
    if not 0 < low <= high <= _MOST:
        raise UsageError(f"`{origin}`: `{word}`: a port is a number from 1 to {_MOST}", "write it like `8000:8000`")
    return low, high


def _range(ports: tuple[int, int]) -> str:
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]}-{ports[1]}"
