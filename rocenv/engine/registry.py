"""How big an image is before it is pulled: read from its manifest, by the registry's own HTTP interface.

The distribution specification gives the path (`/v2/NAME/manifests/REFERENCE`), the media types, and the token that an
anonymous reader is asked for. Whatever goes wrong here is no error: the size is then unknown, and the pull decides.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PATIENCE = 5.0  # seconds for one answer
ANSWER_LIMIT = 4 << 20  # bytes: a manifest is a few kilobytes, an index a few more
HUB = "registry-1.docker.io"
_LISTS = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where the daemon would look for an image: the base of the registry's address, its repository, tag or digest."""

    base: str
    repository: str
    version: str


def sources(reference: str, config: Mapping[str, Any]) -> list[Source]:
    """The places for `reference` in the order in which the daemon tries them, by the `RegistryConfig` of its info."""
    host, repository, version = split(reference)
    if host == "docker.io":
        mirrors = [str(mirror).rstrip("/") for mirror in config.get("Mirrors") or ()]
        return [Source(base, repository, version) for base in (*mirrors, f"https://{HUB}")]
    known = (config.get("IndexConfigs") or {}).get(host) or {}
    plain = known.get("Secure") is False or re.match(r"(127\.|localhost(:|$)|\[::1\])", host) is not None
    return [Source(f"{'http' if plain else 'https'}://{host}", repository, version)]


def split(reference: str) -> tuple[str, str, str]:
    """(registry, repository, tag or digest) of a reference, by Docker's rules; without a tag it is `latest`."""
    name, at, digest = reference.partition("@")
    head, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        name = head
    else:
        tag = "latest"
    host, slash, rest = name.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, rest = "docker.io", name if slash else f"library/{name}"
    return host, rest, digest if at else tag


def compressed_size(reference: str, config: Mapping[str, Any], machine: str | None) -> int | None:
    """The bytes that a pull of `reference` for `machine` fetches at most, or None where no registry tells."""
    for source in sources(reference, config):
        try:
            return _size(source, machine)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # unreachable, or not what was specified
            continue
    return None


def layers_size(found: Mapping[str, Any]) -> int:
    """The sum of a manifest's compressed layers."""
    return sum(int(layer["size"]) for layer in found["layers"])


def pick(index: Mapping[str, Any], machine: str | None) -> str:
    """The digest in an index of the manifest for linux on `machine`."""
    wanted = _ARCHITECTURE.get(machine or "", machine or "amd64")
    for entry in index["manifests"]:
        platform = entry.get("platform") or {}
        if (platform.get("os"), platform.get("architecture")) == ("linux", wanted):
            return str(entry["digest"])
    raise KeyError(wanted)


def _size(source: Source, machine: str | None) -> int:
    found = manifest(source, source.version)
    if "manifests" in found:
        found = manifest(source, pick(found, machine))
    return layers_size(found)


def manifest(source: Source, version: str) -> dict[str, Any]:
    """A manifest or index. Raises OSError (urllib's HTTPError among them) or ValueError."""
    return _asked(source, f"manifests/{urllib.parse.quote(version, ':')}")


def tags(source: Source) -> list[str]:
    """The tags of a repository, as many as its registry tells at once. Raises as `manifest` does."""
    found = _asked(source, "tags/list").get("tags")
    return [str(tag) for tag in found] if isinstance(found, list) else []


def _asked(source: Source, path: str) -> dict[str, Any]:
    """An answer of the registry, with an anonymous token where it asks for one."""
    address = f"{source.base}/v2/{urllib.parse.quote(source.repository)}/{path}"
    headers = {"Accept": ", ".join(_LISTS + _MANIFESTS)}
    try:
        return _get(address, headers)
    except urllib.error.HTTPError as error:
        challenge = error.headers.get("WWW-Authenticate", "")
        error.close()
        if error.code != 401 or not challenge.lower().startswith("bearer "):  # noqa: PLR2004
            raise
    asked = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    realm = asked.pop("realm")
    if not realm.startswith(("https://", "http://")):
        raise ValueError(realm)
    token = _get(f"{realm}?{urllib.parse.urlencode(asked)}", {})
    return _get(address, {**headers, "Authorization": f"Bearer {token.get('token') or token['access_token']}"})


def _get(address: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """One JSON answer; only ever http and https, for the address is put together above."""
    request = urllib.request.Request(address, headers=dict(headers))  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
        found: dict[str, Any] = json.loads(answer.read(ANSWER_LIMIT))
    return found
