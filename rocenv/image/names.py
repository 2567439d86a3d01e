"""What a path in an image tells by itself: which library a file belongs to, and for which gfx target it is.

Sources: the files that ROCm's packages install (rocBLAS, hipBLASLt, MIOpen, AOTriton, the Core SDK's kpack archives).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rocenv.catalog import gpus
from rocenv.catalog.machines import MACH

TEXT, STATUS, NAME = "text", "status", "name"
LONGEST_LINK = 1024

# Libraries of ROCm, by the name of their shared object: one may be there twice, or from two releases.
ROCM = (
    "MIOpen", "amd_comgr", "amd_smi", "amdhip64", "hipblas", "hipblaslt", "hipfft", "hiprand", "hiprtc", "hipsolver",
    "hipsparse", "hipsparselt", "hsa-runtime64", "migraphx", "rccl", "rocblas", "rocfft", "rocm_smi64", "rocrand",
    "rocsolver", "rocsparse", "roctracer64", "roctx64",
)  # fmt: skip
_ROCM_SO = re.compile(rf"lib({'|'.join(ROCM)})\.so((?:\.\d+)*)")
# Packages of Python that matter to ROCm's user, as their dist-info folders are called.
_PACKAGES = (
    r"torch|torchvision|torchaudio|triton|pytorch[_-]triton[_-]rocm|triton[_-]rocm|tensorflow|tensorflow[_-]rocm|jax|jaxlib|"
    r"jax[_-]rocm\w*|vllm|sglang|sgl[_-]kernel|onnxruntime(?:[_-]\w+)?|rocm|rocm[_-]sdk[_-]\w+|amd[_-]\w+|amdsmi|aiter|"
    r"amd[_-]aiter|flash[_-]attn|transformer[_-]engine|xformers|bitsandbytes|cupy(?:[_-]\w+)?|nvidia[_-]\w+"
)
_DIST = re.compile(
    rf"(?P<site>(?:.*/)?(?:site|dist)-packages)/(?P<name>{_PACKAGES})-(?P<version>[\w.+!]+?)"
    r"(?:-py[\d.]+)?\.(?:dist|egg)-info(?:/METADATA|/PKG-INFO)?"
)
_GFX = re.compile(r"gfx(?:\d+(?:-\d+)?-generic|[0-9a-f]{3,})(?:-xnack[+-])?")
_FAMILY = re.compile(r"amd-(gfx(?:\d+x{1,2}|[0-9a-f]+))")  # AOTriton: gfx942, gfx11xx, gfx120x
_TENSILE = re.compile(
    r"(?P<place>(?:.*/)?(?P<name>rocblas|hipblaslt|hipsparselt|hiptensor)/(?:[\d.]+/)?library)/.+\.(?:co|hsaco|dat)(?:\.gz|\.zlib)?"
)
_MIOPEN = re.compile(r"(?P<place>(?:.*/)?miopen/db)/gfx[^/]+")
_AOTRITON = re.compile(r"(?P<place>(?:.*/)?aotriton\.images)/amd-gfx[^/]+/.+")
_KPACK = re.compile(r"(?P<place>(?:.*/)?\.kpack)/(?P<name>[^/]+?)_(?P<gfx>gfx[\w-]+)\.kpack")
_PYTHON = re.compile(r"(?:.*/)?bin/python3\.\d+t?")
_LINK = re.compile(r"(?:.*/)?bin/python[\d.]*|opt/rocm(?:-[\d.]+)?|opt/rocm/core(?:-[\d.]+)?")
_CONDA = re.compile(r"(?P<place>(?:.*/)?)conda-meta/python-(?P<version>3[\d.]+)-[^/]*\.json")
_TEXTS = re.compile(
    r"(?:.*/)?(?:\.info/version(?:-\w+)?|share/hip/version|\.hipVersion|pyvenv\.cfg|(?:site|dist)-packages/torch/version\.py)|"
    r"etc/(?:group|passwd|os-release)|usr/lib/os-release"
)
_STATUS = re.compile(r"var/lib/dpkg/status(?:\.d/[^/]+)?")
_PACKAGE = re.compile(r"(?P<site>(?:.*/)?(?:site|dist)-packages)/(?P<name>[^/]+)(?:/.*)?")


# What package managers keep beside what is installed: conda's packages, uv's archives.
_KEPT = re.compile(r"(?:.*/)?(?:\w*conda\d?|miniforge\d?|mambaforge)/pkgs/|(?:.*/)?\.cache/uv/")


class Told(NamedTuple):
    """Files of one kind that lie together: the library's name, the kind, the folder, and the target of this file."""

    library: str
    kind: str  # tensile | database | kernels | kpack
    place: str
    target: str | None


def wanted(path: str) -> str | None:
    """How a file is of interest by its path alone: TEXT is read, STATUS is read as dpkg's, NAME is enough; or None."""
    if _TEXTS.fullmatch(path):
        return TEXT
    if _STATUS.fullmatch(path):
        return STATUS
    if ".dist-info/" in path or ".egg-info" in path:
        return NAME if _DIST.fullmatch(path) else None
    base = path.rpartition("/")[2]
    if base.startswith("python") or "conda-meta/python-" in path:
        return NAME if _PYTHON.fullmatch(path) or _CONDA.fullmatch(path) else None
    if base.startswith("lib"):
        return NAME if _ROCM_SO.fullmatch(base) or base == "libtorch_cuda.so" else None
    return NAME if "gfx" in path and told(path) else None


def is_kept(path: str) -> bool:
    """True for what a package manager keeps for another time, which no program loads."""
    return _KEPT.match(path) is not None


def wanted_link(path: str) -> bool:
    """True for the links that say which Python and which ROCm is meant."""
    return _LINK.fullmatch(path) is not None


def told(path: str) -> Told | None:
    """What a data file of a library says by its path; None for all other files."""
    if match := _TENSILE.fullmatch(path):
        found = list(_GFX.finditer(path[len(match["place"]) :]))
        target = _known(found[-1].group()) if found else None
        return Told(match["name"], "tensile", match["place"], target) if target else None
    if match := _MIOPEN.fullmatch(path):
        return Told("miopen", "database", match["place"], _known(path.rpartition("/")[2]))
    if match := _AOTRITON.fullmatch(path):
        family = _FAMILY.match(path, len(match["place"]) + 1)
        return Told("aotriton", "kernels", match["place"], family[1] if family else None)
    if match := _KPACK.fullmatch(path):
        return Told(match["name"], "kpack", match["place"], _known(match["gfx"]))
    return None


def _known(text: str) -> str | None:
    """The target that a file name begins with: `gfx942130.db` is gfx942 with 0x130 units, `gfx90a68` gfx90a."""
    match = _GFX.match(text)
    return _target(match.group()) if match else None


@lru_cache(maxsize=1024)
def _target(word: str) -> str | None:
    if word.endswith("-generic"):
        return word
    word, _, xnack = word.partition("-xnack")
    known = {*MACH.values(), *gpus.targets()}
    name = next((word[:length] for length in range(len(word), 5, -1) if word[:length] in known), None)
    return f"{name}:xnack{xnack}" if name and xnack else name


def distribution(path: str) -> tuple[str, str, str] | None:
    """(folder, name, version) of a Python package, by the path of its metadata."""
    match = _DIST.fullmatch(path)
    return (match["site"], re.sub(r"[-_.]+", "-", match["name"]).lower(), match["version"]) if match else None


def rocm_library(path: str) -> tuple[str, str] | None:
    """(name, version behind `.so`) of a shared object of ROCm: `libamdhip64.so.7.2.70204` is amdhip64, 7.2.70204."""
    match = _ROCM_SO.fullmatch(path.rpartition("/")[2])
    return (match[1], match[2].lstrip(".")) if match else None


def conda_python(path: str) -> tuple[str, str] | None:
    """(environment, version) of a conda Python."""
    match = _CONDA.fullmatch(path)
    return (match["place"].rstrip("/"), match["version"]) if match else None


def is_python(path: str) -> bool:
    """True for a Python's executable, `bin/python3.12`."""
    return _PYTHON.fullmatch(path) is not None


def library(path: str) -> tuple[str, str]:
    """(name, folder) of the library or program that an ELF file is: `rocblas`, `torch/libtorch_hip`, `llama-server`."""
    folder, _, base = path.rpartition("/")
    known = rocm_library(path)
    if known is not None:
        return known[0].lower(), folder
    stem = re.sub(r"(?:\.abi3|\.cpython-[\w-]+)?\.(?:so(?:\.[\d.]+)?|co|hsaco|o)$", "", base)
    package = _PACKAGE.fullmatch(folder)
    if package is None:
        return stem.removeprefix("lib") if ".so" in base else stem, folder
    return f"{package['name']}/{stem}", f"{package['site']}/{package['name']}"


def objects(path: str) -> tuple[str, str]:
    """(name, folder) of the loose code objects that a file is one of: those of a package, or of a folder."""
    folder = path.rpartition("/")[0]
    tensile, package = _TENSILE.fullmatch(path), _PACKAGE.fullmatch(folder)
    if tensile is not None:
        return tensile["name"], tensile["place"]
    if package is not None:
        return package["name"], f"{package['site']}/{package['name']}"
    parts = folder.split("/")
    name = next((part for part in reversed(parts) if not _GFX.match(part)), folder)
    return name, folder
