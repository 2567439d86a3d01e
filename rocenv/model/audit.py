"""What a look inside an image shows: facts without opinions; unknown is None. Paths are from the image's root."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Library(NamedTuple):
    """Code for GPUs, or data for it, that belongs together; `targets` with the features that the code demands.

    `kind` is code (in a library or program), objects (loose files), tensile, kernels (AOTriton's), kpack, or database
    (MIOpen's, which speed up and are not needed).
    """

    name: str
    kind: str
    place: str
    targets: tuple[str, ...]
    files: int = 1


class Release(NamedTuple):
    """A release of ROCm or HIP, and the file that says so."""

    version: str
    path: str


class Torch(NamedTuple):
    """A PyTorch: its version, and the HIP, CUDA and ROCm that it was built for, by its own version.py."""

    version: str
    path: str  # the folder of the package
    hip: str | None = None
    cuda: str | None = None
    rocm: str | None = None
    arch: tuple[str, ...] = ()  # what torch.cuda.get_arch_list() will answer


class Package(NamedTuple):
    """A Python package that matters here."""

    name: str
    version: str
    path: str  # the folder that it is installed in


class Python(NamedTuple):
    """A Python: `kind` is system, venv, conda or other."""

    path: str  # the executable, or the environment's folder
    version: str | None
    kind: str


class Shared(NamedTuple):
    """A library of ROCm's, each file of it: (path, version behind `.so`)."""

    name: str
    files: tuple[tuple[str, str], ...]


class Verdict(NamedTuple):
    """What a library has for one target. `verdict`: native | generic | override | none.

    `by`: the target whose code runs, or the variable that makes it run.
    """

    library: Library
    verdict: str
    by: str | None = None
    note: str | None = None


class Audit(NamedTuple):
    """All of it. `identity` is the digest of the image's configuration, `digest` that of its manifest."""

    identity: str
    digest: str | None = None
    machine: str | None = None
    system: str | None = None  # `Ubuntu 24.04`
    rocm: tuple[Release, ...] = ()
    hip: tuple[Release, ...] = ()
    libraries: tuple[Library, ...] = ()
    shared: tuple[Shared, ...] = ()
    kpack_wanted: tuple[str, ...] = ()  # libraries whose code is in kpack archives
    torch: tuple[Torch, ...] = ()
    cuda_torch: tuple[str, ...] = ()  # paths of libtorch_cuda.so
    packages: tuple[Package, ...] = ()
    debian: Mapping[str, str] = _NOTHING  # installed packages of ROCm
    pythons: tuple[Python, ...] = ()
    links: Mapping[str, str] = _NOTHING  # of Pythons and of /opt/rocm
    user: str = "root"
    groups: Mapping[str, int] = _NOTHING  # video and render
    workdir: str | None = None
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = _NOTHING  # what concerns GPUs and Pythons
    unreadable: tuple[str, ...] = ()  # files with bundles that could not be read
    outside: int = 0  # entries of layers whose path leads out of the image
    sparse: int = 0  # sparse files, which are not looked into
    layers: int = 0
    entries: int = 0
    bytes: int = 0
