"""What a registry holds, as records: places, descriptors, manifests; and the one error that it gives rise to.

Names and media types are those of the OCI image and distribution specifications, and Docker's elder ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rocenv.errors import ImageError

if TYPE_CHECKING:
    from rocenv.engine.registry.session import Session

BETWEEN = "a proxy may stand in between: `curl -v` to the registry's address shows who answers"
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Place(NamedTuple):
    """Where a registry keeps a repository: `base` is scheme, host and port."""

    base: str
    repository: str
    verified: bool = True  # False: the engine takes any certificate of this registry
    engine: str = "docker"  # whose logins are used

    @property
    def host(self) -> str:
        """The registry's host, with its port where the address names one."""
        return self.base.partition("://")[2].partition("/")[0]

    @property
    def registry(self) -> str:
        """The registry as `docker login` takes it: nothing for Docker Hub."""
        return "" if self.host == "registry-1.docker.io" else self.host


class Descriptor(NamedTuple):
    """One thing in a registry, by its digest; `size` is bytes."""

    media_type: str
    digest: str
    size: int
    platform: str | None = None  # linux/amd64, linux/arm64/v8
    annotations: Mapping[str, str] = _NOTHING


class Manifest(NamedTuple):
    """One image, as its registry keeps it: `raw` is what `digest` is of; layers from the lowest."""

    digest: str
    media_type: str
    raw: bytes
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @property
    def size(self) -> int:
        """The bytes of the compressed layers."""
        return sum(layer.size for layer in self.layers)


class Found(NamedTuple):
    """An image that was found: in which of the places, under which index, for which platforms there are others."""

    place: Place
    index_digest: str | None  # None where the reference leads straight to an image
    manifest: Manifest
    platforms: tuple[str, ...]  # of the index; empty without one
    session: Session

    def close(self) -> None:
        """Close the connections; a blob that is asked for afterwards opens new ones."""
        self.session.close()


class RegistryError(ImageError):
    """What a registry answered instead of an image.

    `state`: no-tag, no-repository, denied (which may mean the same), refused (the login), no-platform, busy (a rate
    limit), unreachable, bad (not what the specification allows).

    `said` is the message without the image; `nearest` are references that do exist.
    """

    def __init__(
        self,
        state: str,
        said: str,
        hint: str | None = BETWEEN,
        *,
        nearest: tuple[str, ...] = (),
        platforms: tuple[str, ...] = (),
    ) -> None:
        super().__init__(said, hint)
        self.state = state
        self.said = said
        self.nearest = nearest
        self.platforms = platforms
        self.place: Place | None = None  # where it was said

    def at(self, place: Place) -> RegistryError:
        """The same, with the place that said it: in the words too, where they do not name it."""
        self.place = place
        if place.host not in self.said:
            self.said += f" (asked of {place.host})"
            self.message = self.said
        return self

    @property
    def kind(self) -> str:
        """To users it is the image's error, as its parent."""
        return "image"
