"""What is wished: a profile, with the layer that each of its keys came from. No host data in here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class ImageWish(NamedTuple):
    """Which image: a `family` of the catalog with constraints (`>=7.0`, `3.12`, …), or one exact `reference`."""

    family: str | None = None
    reference: str | None = None
    rocm: str | None = None
    python: str | None = None
    ubuntu: str | None = None
    framework: Mapping[str, str] = _NOTHING


class SourceWish(NamedTuple):
    """A HIP or CUDA project that is compiled into an image; its folder lies below the build's."""

    folder: str | None = None
    files: tuple[str, ...] = ()  # what hipcc compiles into one program; none: the folder has a CMakeLists.txt
    program: str | None = None
    hipify: str | None = None  # perl or clang: its CUDA sources become HIP first
    options: tuple[str, ...] = ()  # of hipcc, or of cmake
    packages: tuple[str, ...] = ()  # that compiling needs, and running does not
    runtime: str | None = None  # the image that the result is put into


class BuildWish(NamedTuple):
    """How an image is built from the one chosen; empty where the image is used as it is."""

    template: str | None = None
    packages: Mapping[str, tuple[str, ...]] = _NOTHING
    args: Mapping[str, str] = _NOTHING
    secrets: tuple[str, ...] = ()  # NAME of the caller's environment, or NAME=FILE
    os: str | None = None  # ubuntu-24.04, rocky-9 …
    components: tuple[str, ...] = ()  # of ROCm: runtime, hip-sdk, math …
    gfx: tuple[str, ...] = ()  # the targets to build for; none: those of the host's GPUs
    context: str | None = None  # a folder below the project's
    health: str | None = None  # the path at which its server answers that it is well
    mirrors: Mapping[str, str] = _NOTHING  # pip: an index; apt: a proxy
    source: SourceWish = SourceWish()
    wheels: tuple[str, ...] = ()  # of AMD's: rocm, torch

    @property
    def wanted(self) -> bool:
        """Whether an image is to be built at all."""
        return self.template is not None or any(self.packages.values())


class SmokeWish(NamedTuple):
    """The proof wished at the end of `up`: a level, or probes by name."""

    level: str
    probes: tuple[str, ...] = ()


class PolicyWish(NamedTuple):
    """What a project allows at all; None allows everything."""

    registries: tuple[str, ...] | None = None  # a registry, or the front of a repository's full name
    loosen: tuple[str, ...] | None = None
    digests: bool = False  # only images named by digest


class Profile(NamedTuple):
    """A container as it is wished; `origins` tells for each dotted key the layer that set it."""

    name: str
    summary: str
    image: ImageWish
    build: BuildWish
    gpus: str  # a selection in words: auto, all, none, 0,2, gfx1100, a BDF …
    visible: str  # hip | rocr: which visibility variable this software bears
    env: Mapping[str, str]
    mounts: tuple[str, ...]
    caches: tuple[str, ...]
    ports: tuple[str, ...]
    user: str  # caller | image | root | UID[:GID]
    shm_size: str | None
    loosen: tuple[str, ...]
    smoke: SmokeWish
    strict: bool
    origins: Mapping[str, str] = _NOTHING
    policy: PolicyWish = PolicyWish()
    mirrors: Mapping[str, tuple[str, ...]] = _NOTHING
