"""What stands around a connection: certificates as the engine keeps them, and proxies."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from rocenv.engine.registry.faults import words
from rocenv.engine.registry.records import RegistryError

if TYPE_CHECKING:
    import ssl

    from urllib3.connectionpool import HTTPConnectionPool

# Where engines look for the certificates of one registry, in folders by its HOST:PORT.
CERTIFICATES = ("/etc/docker/certs.d", "/etc/containers/certs.d")
# Where distributions keep those of all; asked for only where this Python's OpenSSL has no such place of its own.
_AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def pool(origin: str, connections: list[socket.socket], *, trusting: bool) -> HTTPConnectionPool:
    """Connections to an origin, by the proxy that the environment names for it.

    A copy of each socket is put into `connections` while it is open, so that it can be cut from outside.
    """
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, ProxyManager, disable_warnings
    from urllib3.exceptions import InsecureRequestWarning
    from urllib3.util import make_headers

    if trusting:  # as the engine is told to: no word for the terminal
        disable_warnings(InsecureRequestWarning)
    parts = urlsplit(origin)
    host, port = parts.hostname or "", parts.port
    secure = parts.scheme == "https"
    settings: dict[str, Any] = {"ssl_context": tls(host, port, trusting=trusting)} if secure else {}
    proxy = proxy_for(origin)
    if proxy is not None:
        address = urlsplit(proxy)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise RegistryError(
                "unreachable",
                f"{host} cannot be reached: the proxy in the environment is none of HTTP or HTTPS",
                "set HTTPS_PROXY to `http://HOST:PORT`",
            )
        login = f"{unquote(address.username)}:{unquote(address.password or '')}" if address.username else None
        headers = make_headers(proxy_basic_auth=login) if login else None
        bare = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
        made = ProxyManager(bare, proxy_headers=headers, **settings).connection_from_url(origin)
    else:
        made = (HTTPSConnectionPool if secure else HTTPConnectionPool)(host, port, **settings)
    _watched(made, connections)
    return made


def _watched(made: HTTPConnectionPool, connections: list[socket.socket]) -> None:
    """Have each connection of a pool put a copy of its socket into `connections`, until it is closed."""
    kind: Any = made.ConnectionCls

    class Watched(kind):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            opened = _connected(self._dns_host, self.port, self.timeout)
            self._copies = [opened.dup()]
            connections.extend(self._copies)
            return opened

        def close(self) -> None:
            super().close()
            for copy in self.__dict__.pop("_copies", ()):
                connections.remove(copy)
                copy.close()

    made.ConnectionCls = Watched


def _connected(host: str, port: int, patience: float) -> socket.socket:
    """A connection to one of a host's addresses: `patience` seconds for each, and for all not more than two."""
    until = time.monotonic() + 2 * patience
    last: OSError = TimeoutError()
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        opened = socket.socket(family, kind, protocol)
        try:
            opened.settimeout(max(0.1, min(patience, until - time.monotonic())))
            opened.connect(address)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            opened.close()
            last = error
        else:
            return opened
        if time.monotonic() > until:
            break
    raise last


def tls(host: str, port: int | None, *, trusting: bool) -> ssl.SSLContext:
    """What a registry's certificate is judged by. Raises RegistryError where a certificate file cannot be read."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if trusting:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:  # the system's authorities are many, and take 20 ms
        context.load_default_certs()
        paths = ssl.get_default_verify_paths()
        if not any((paths.cafile, paths.capath)):
            for bundle in filter(os.path.exists, _AUTHORITIES):
                context.load_verify_locations(bundle)
    for folder in _folders(host, port):
        try:
            for file in sorted(folder.glob("*.crt")):
                context.load_verify_locations(file)
            for file in sorted(folder.glob("*.cert")):
                context.load_cert_chain(file, file.with_suffix(".key"))
        except (OSError, ValueError) as error:
            raise RegistryError(
                "unreachable",
                f"{host} cannot be asked: a certificate in {folder} cannot be read ({words(error)})",
                f"`ls -l {folder}` shows whose it is",
            ) from None
    return context


def _folders(host: str, port: int | None) -> list[Path]:
    names = (f"{host}:{port}", host) if port in (443, None) else (f"{host}:{port}",)
    homes = [Path(place) for place in CERTIFICATES]
    if os.environ.get("HOME"):
        homes.append(Path(os.environ["HOME"]) / ".config/containers/certs.d")
    return [home / name for home in homes for name in names if (home / name).is_dir()]


def proxy_for(origin: str) -> str | None:
    """The proxy for an origin by HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as Go's programs (the engines) read them."""
    parts = urlsplit(origin)
    host = parts.hostname or ""
    proxy = _named(f"{parts.scheme}_proxy")
    if not proxy or _spared(host, parts.port, _named("no_proxy") or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _named(name: str) -> str | None:
    return os.environ.get(name.upper()) or os.environ.get(name)


def _spared(host: str, port: int | None, rules: str) -> bool:
    """Whether NO_PROXY spares a host: this machine always, then names with all below them, addresses and networks."""
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for rule in (word.strip().lower() for word in rules.split(",")):
        if rule == "*":
            return True
        name, _, wanted = rule.rpartition(":") if rule.count(":") == 1 else (rule, "", "")
        if not name or (wanted and wanted != str(port)):
            continue
        if address is not None:
            try:
                if address in ipaddress.ip_network(name, strict=False):
                    return True
            except ValueError:
                continue
        bare = name.removeprefix("*").removeprefix(".")
        if (host == bare and not name.startswith((".", "*"))) or host.endswith(f".{bare}"):
            return True
    return False
