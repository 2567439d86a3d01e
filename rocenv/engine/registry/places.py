"""Where the engine would look for an image, by its own settings of mirrors and of registries without safety."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rocenv.catalog.references import DOCKER_HUB, Reference
from rocenv.engine.registry.records import Place, RegistryError

HUB = "registry-1.docker.io"
_LOOPBACK = ("127.0.0.0/8", "::1/128")  # what the docker daemon trusts without being told


def places(reference: Reference, config: Mapping[str, Any]) -> tuple[Place, ...]:
    """The places for `reference` in the order in which the engine tries them.

    `config` is what `settings` tells: the `RegistryConfig` of a docker daemon's info, or podman's `registries` under
    the key `Registries`. Raises RegistryError for a registry that podman's settings block.
    """
    if config.get("Engine") == "podman":
        return tuple(_podman(reference, config))
    if reference.registry == DOCKER_HUB:
        mirrors = [one for one in _list(config.get("Mirrors")) if isinstance(one, str)]
        found = [_mirror(mirror.rstrip("/"), reference.repository, config) for mirror in mirrors]
        return (*found, Place(f"https://{HUB}", reference.repository))
    return _at(reference.registry, reference.repository, insecure=_insecure(reference.registry, config))


def _mirror(base: str, repository: str, config: Mapping[str, Any]) -> Place:
    """A mirror of Docker Hub's; the daemon's list of them holds whole addresses."""
    host = base.partition("://")[2].partition("/")[0]
    return Place(base, repository, verified=base.startswith("https:") and not _insecure(host, config))


def _at(host: str, repository: str, *, insecure: bool, engine: str = "docker") -> tuple[Place, ...]:
    """A registry by HTTPS; one that engines are told is insecure with any certificate, and then by HTTP."""
    host = HUB if host == DOCKER_HUB else host
    schemes = ("https", "http") if insecure else ("https",)
    return tuple(Place(f"{scheme}://{host}", repository, not insecure, engine) for scheme in schemes)


def _insecure(host: str, config: Mapping[str, Any]) -> bool:
    """Whether the daemon trusts this registry without a certificate: by its name, or by the network that it is in."""
    import ipaddress

    known = _table(_table(config.get("IndexConfigs")).get(host))
    if known.get("Secure") is False:
        return True
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    networks = [str(one) for one in _list(config.get("InsecureRegistryCIDRs"))]
    try:
        addresses = [ipaddress.ip_address(name.strip("[]"))]
    except ValueError:
        # A name is looked up by the daemon too, but only a network beyond this machine can make that matter.
        addresses = _addresses(name) if set(networks) - set(_LOOPBACK) else []
        if name == "localhost":
            return True
    return any(_within(address, network) for address in addresses for network in (*_LOOPBACK, *networks))


def _within(address: Any, network: str) -> bool:
    import ipaddress

    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _list(told: object) -> list[Any]:
    return told if isinstance(told, list) else []


def _table(told: object) -> Mapping[str, Any]:
    return told if isinstance(told, Mapping) else {}


def _addresses(name: str) -> list[Any]:
    import ipaddress
    import socket

    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


def _podman(reference: Reference, config: Mapping[str, Any]) -> Iterator[Place]:
    """The mirrors of the longest prefix that fits, then its own location, as containers-registries.conf(5) has it."""
    known = {key: one for key, one in _table(config.get("Registries")).items() if isinstance(one, Mapping)}
    fitting = [prefix for prefix in known if _fits(prefix, reference)]
    if not fitting:
        yield from _at(reference.registry, reference.repository, insecure=False, engine="podman")
        return
    prefix = max(fitting, key=len)
    one = known[prefix]
    if one.get("Blocked"):
        raise RegistryError(
            "refused",
            f"podman's registries.conf blocks {prefix}",
            "take out its `blocked` in /etc/containers/registries.conf",
        )
    mirrors = [mirror for mirror in map(_table, _list(one.get("Mirrors"))) if _serves(mirror, one, reference)]
    for source in (*mirrors, one):
        host, repository = _moved(reference, prefix, str(source.get("Location") or ""))
        yield from _at(host, repository, insecure=bool(source.get("Insecure")), engine="podman")


def _fits(prefix: str, reference: Reference) -> bool:
    if prefix.startswith("*."):
        return reference.registry.endswith(prefix[1:])
    return f"{reference.name}/".startswith(f"{prefix.rstrip('/')}/")


def _serves(mirror: Mapping[str, Any], one: Mapping[str, Any], reference: Reference) -> bool:
    """Whether a mirror may be asked for this: some are for digests alone, or for tags alone."""
    rule = mirror.get("PullFromMirror") or ("digest-only" if one.get("MirrorByDigestOnly") else "all")
    return rule in ("all", "digest-only" if reference.digest else "tag-only")


def _moved(reference: Reference, prefix: str, location: str) -> tuple[str, str]:
    """Registry and repository with the prefix replaced; a location that is empty replaces nothing."""
    name = reference.name
    if location and not prefix.startswith("*."):
        name = location.rstrip("/") + name[len(prefix.rstrip("/")) :]
    host, _, repository = name.partition("/")
    return host, repository
