"""Where the engine would look for an image, by its own settings of mirrors and of registries without safety."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from rocenv.catalog.references import DOCKER_HUB, Reference
from rocenv.engine.registry.records import Place

HUB = "registry-1.docker.io"
_LOOPBACK = ("127.0.0.0/8", "::1/128")  # what the daemon trusts without being told


def places(reference: Reference, config: Mapping[str, Any]) -> tuple[Place, ...]:
    """The places for `reference` in the order in which the engine tries them.

    `config` is the `RegistryConfig` of the daemon's info. A registry that the daemon lists as insecure is asked by
    HTTPS with any certificate, then by HTTP, as the daemon does; mirrors are Docker Hub's alone.
    """
    if reference.registry == DOCKER_HUB:
        mirrors = (str(mirror).rstrip("/") for mirror in config.get("Mirrors") or ())
        found = [place for mirror in mirrors for place in _mirror(mirror, reference.repository, config)]
        return (*found, Place(f"https://{HUB}", reference.repository))
    return _at(reference.registry, reference.repository, config)


def _mirror(base: str, repository: str, config: Mapping[str, Any]) -> tuple[Place, ...]:
    scheme, _, rest = base.partition("://")
    if scheme == "http":
        return (Place(base, repository, verified=False),)
    verified = not _insecure(rest.partition("/")[0], config)
    return (Place(base, repository, verified=verified),)


def _at(host: str, repository: str, config: Mapping[str, Any]) -> tuple[Place, ...]:
    if not _insecure(host, config):
        return (Place(f"https://{host}", repository),)
    return tuple(Place(f"{scheme}://{host}", repository, verified=False) for scheme in ("https", "http"))


def _insecure(host: str, config: Mapping[str, Any]) -> bool:
    """Whether the daemon trusts this registry without a certificate: by its name, or by the network that it is in."""
    known = (config.get("IndexConfigs") or {}).get(host)
    if isinstance(known, Mapping) and known.get("Secure") is False:
        return True
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return name == "localhost"
    networks = (*_LOOPBACK, *(str(one) for one in config.get("InsecureRegistryCIDRs") or ()))
    return any(address in ipaddress.ip_network(network, strict=False) for network in networks)
