"""Releases told by small files: ROCm's and HIP's in all their layouts, a torch's, a venv's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from rocenv.model.audit import Package, Python, Release, Shared, Torch

_VERSION = re.compile(r"\d+(?:\.\d+){1,3}(?:(?:a|b|rc|\.dev)\d+)?")
_WHEELS = ("rocm-sdk-core", "rocm-sdk-libraries", "rocm")


def releases(
    texts: Mapping[str, str], debian: Mapping[str, str], packages: Iterable[Package], shared: Iterable[Shared]
) -> tuple[Release, ...]:
    """The releases of ROCm in an image: each version once, with the file or package that says so.

    Files come first: /opt/rocm*/.info/version, and the Core SDK's /opt/rocm/core-*/.info/version; then wheels
    (rocm-sdk-core); then AMD's package rocm-core, whose version is 7.2.4.70204-90; then the names of libraries.
    """
    found: dict[str, str] = {}
    for path in sorted(texts, key=lambda path: ("core-" in path, path)):
        if path.endswith(".info/version") or re.search(r"\.info/version-[a-z]+$", path):
            match = _VERSION.match(texts[path].strip())
            if match:
                found.setdefault(match.group(), f"/{path}")
    for package in packages:
        if package.name in _WHEELS and (match := _VERSION.match(package.version)):
            found.setdefault(match.group(), f"{package.path}/{package.name.replace('-', '_')}")
    if not found:
        for name, version in debian.items():
            match = re.match(r"(?:\d+:)?(\d+\.\d+\.\d+)\.\d{5,6}\b", version) if name.startswith("rocm-core") else None
            core = re.match(r"(?:\d+:)?(\d+\.\d+(?:\.\d+)?)", version) if name.startswith("amdrocm-core") else None
            if match or core:
                found.setdefault((match or core)[1], f"/var/lib/dpkg/status ({name} {version})")  # type: ignore[index]
    for path, version in _named(shared) if not found else ():
        found.setdefault(version, path)
    return tuple(Release(version, path) for version, path in found.items())


def release_of(version: str) -> str | None:
    """The release of ROCm that is behind a library's version: 7.2.70204 is HIP 7.2 of ROCm 7.2.4."""
    match = re.fullmatch(r"\d+\.\d+\.(\d{1,2})(\d{2})(\d{2})", version)
    return ".".join(str(int(part)) for part in match.groups()) if match else None


def _named(shared: Iterable[Shared]) -> Iterator[tuple[str, str]]:
    """(path, release) of the HIP runtimes that are there without the rest of ROCm, as images of programs have them."""
    for one in shared:
        for path, version in one.files if one.name == "amdhip64" else ():
            release = release_of(version)
            if release and release.startswith(f"{version.partition('.')[0]}."):
                yield path, release


def hip_releases(texts: Mapping[str, str], debian: Mapping[str, str]) -> tuple[Release, ...]:
    """The versions of HIP: share/hip/version and .hipVersion; else the runtime's package of the distribution."""
    found: dict[str, str] = {}
    for path, text in sorted(texts.items()):
        if path.endswith(("share/hip/version", ".hipVersion")):
            parts = dict(re.findall(r"(?m)^HIP_VERSION_(MAJOR|MINOR|PATCH)=(\d+)", text))
            if "MAJOR" in parts:
                numbers = [parts[key] for key in ("MAJOR", "MINOR", "PATCH") if key in parts]
                found.setdefault(".".join(numbers), f"/{path}")
    if not found:
        for name, version in debian.items():
            match = re.match(r"(?:\d+:)?(\d+\.\d+(?:\.\d+)?)", version) if name.startswith("libamdhip64") else None
            if match and "dev" not in name:
                found.setdefault(match[1], f"/var/lib/dpkg/status ({name} {version})")
    return tuple(Release(version, path) for version, path in found.items())


def torch_built(text: str, folder: str, arch: tuple[str, ...]) -> Torch:
    """A torch by its version.py: assignments of texts or None, annotated or not."""
    pairs = re.findall(r"(?m)^(\w+)(?:\s*:[^=\n]*)?\s*=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\")", text)
    found = {name: single or double for name, single, double in pairs}
    hip, cuda, rocm = (found.get(key) or None for key in ("hip", "cuda", "rocm"))
    return Torch(found.get("__version__") or "unknown", folder, hip, cuda, rocm, arch)


def python_environment(folder: str, text: str) -> Python:
    """A venv by its pyvenv.cfg."""
    version = re.search(r"(?m)^version(?:_info)?\s*=\s*(\d+(?:\.\d+){0,2})", text)
    return Python(f"/{folder}", version[1] if version else None, "venv")
