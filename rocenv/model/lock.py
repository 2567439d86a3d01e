"""What `rocenv.lock` holds: for each profile the image that it runs on, by digest, and what that was decided from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

FILE = "rocenv.lock"
Fact = str | tuple[str, ...]


class LockedPlatform(NamedTuple):
    """An image on one platform (`linux/amd64`): its manifest, and its config, by which an engine knows it as well."""

    image: str | None = None
    manifest: str | None = None


class LockedImage(NamedTuple):
    """One image; `digest` is what the tag of `reference` stood for, `places` repositories that have it too."""

    reference: str
    digest: str
    places: tuple[str, ...] = ()
    platforms: Mapping[str, LockedPlatform] = {}
    rocm: str | None = None
    gfx: tuple[str, ...] = ()

    @property
    def pinned(self) -> str:
        """The reference with its digest: `rocm/pytorch:TAG@sha256:…`."""
        return f"{self.reference}@{self.digest}"

    @property
    def ids(self) -> tuple[str, ...]:
        """All digests by which an engine may know the image that it has."""
        known = [digest for one in self.platforms.values() for digest in (one.image, one.manifest) if digest]
        return tuple(dict.fromkeys((*known, self.digest)))

    @property
    def names(self) -> tuple[str, ...]:
        """All that an engine may have it by: its digests, and the name that a bundle gave it."""
        return (*self.ids, *(carried_name(one.image) for one in self.platforms.values() if one.image))


class LockedBuild(NamedTuple):
    """An image built on the locked one: the digest of its Dockerfile, and the versions that its packages came to."""

    reference: str
    dockerfile: str
    packages: Mapping[str, Mapping[str, str]] = {}  # apt, dnf, zypper, pip → name → version


class LockedProof(NamedTuple):
    """What a smoke test of this very image came to, on how many GPUs of which target, and under which driver."""

    result: str
    level: str
    gpus: Mapping[str, int] = {}
    driver: str | None = None


class Locked(NamedTuple):
    """One profile: what it wished of its image, the image, and the date of the catalog that it was chosen by."""

    profile: str
    wish: Mapping[str, Fact]
    image: LockedImage
    catalog: str | None = None
    build: LockedBuild | None = None
    proof: LockedProof | None = None


class Lock(NamedTuple):
    """The whole file: profiles by name."""

    profiles: Mapping[str, Locked] = {}


def carried_name(config: str) -> str:
    """The name under which a bundle brings an image, by the digest of its config.

    Docker's containerd store knows an image by its manifest alone, and that of an image that an engine saved is new.
    """
    return f"docker.io/rocenv/locked:{config.partition(':')[2][:16]}"


class Difference(NamedTuple):
    """One fact of one profile that two locks tell otherwise; None where one of them does not tell it."""

    profile: str
    fact: str
    old: str | None
    new: str | None


class Checked(NamedTuple):
    """What a check of one locked profile found. `verdict`: ok, info, warn, fail, or skip (it could not be checked)."""

    profile: str
    what: str  # profile, build, digest, tag, host, choice
    verdict: str
    why: str
    hint: str | None = None
