"""What is mounted: the project's folder, the profile's mounts, and caches in volumes shared on purpose alone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rocenv.catalog import images
from rocenv.catalog.images import CatalogImage
from rocenv.errors import UsageError
from rocenv.model.plan import ImageChoice, Mount, Reason
from rocenv.model.wish import Profile
from rocenv.rules.mounts import forbidden

WORKSPACE = "/workspace"
_HOME = "/home/rocenv"
_VOLUME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}")
# Paths whose covering would mix the host's ROCm into the image's, or break the container.
_COVERED = ("/opt/rocm", "/dev", "/proc", "/sys")


class Cache(NamedTuple):
    """One kind of cache: where it lies inside, the variables that lead programs there, and what it belongs to."""

    target: str
    env: tuple[str, ...]
    belongs_to: str  # kernels: the gfx targets and ROCm; environment; user


CACHES: Mapping[str, Cache] = {
    "home": Cache(_HOME, ("HOME",), "environment"),
    "miopen": Cache("/var/cache/rocenv/miopen", ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR"), "kernels"),
    "triton": Cache("/var/cache/rocenv/triton", ("TRITON_CACHE_DIR",), "kernels"),
    "inductor": Cache("/var/cache/rocenv/inductor", ("TORCHINDUCTOR_CACHE_DIR",), "kernels"),
    "comgr": Cache("/var/cache/rocenv/comgr", ("AMD_COMGR_CACHE_DIR",), "kernels"),
    "vllm": Cache("/var/cache/rocenv/vllm", ("VLLM_CACHE_ROOT",), "kernels"),
    "jax": Cache("/var/cache/rocenv/jax", ("JAX_COMPILATION_CACHE_DIR",), "kernels"),
    "ollama": Cache("/var/cache/rocenv/ollama", ("OLLAMA_MODELS",), "user"),
    "llama": Cache("/var/cache/rocenv/llama", ("LLAMA_CACHE",), "user"),
    "hf": Cache("/var/cache/rocenv/hf", ("HF_HOME",), "user"),
    "pip": Cache("/var/cache/rocenv/pip", ("PIP_CACHE_DIR",), "user"),
    "uv": Cache("/var/cache/rocenv/uv", ("UV_CACHE_DIR",), "user"),
}
_WHY = {
    "kernels": "compiled kernels, kept for these gfx targets and this ROCm release alone",
    "environment": "kept as long as the environment is",
    "user": "downloads, kept for all of the caller's environments",
}


class Storage(NamedTuple):
    """Mounts, and the variables that go with them."""

    mounts: tuple[Mount, ...]
    env: Mapping[str, str]
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...] = ()


def caches(
    profile: Profile, image: ImageChoice, targets: Sequence[str], *, owner: str, environment: str, writer: str | None
) -> Storage:
    """The cache volumes of a profile. `writer` is who writes in them; None: the image alone knows, so there are none.

    A volume is named by what it belongs to, so that code for one GPU or release is never loaded on another.
    """
    if writer is None:
        why = "left out: who runs in the container is known to the image alone"
        return Storage((), {}, (Reason("caches", "none", why),) if profile.caches else ())
    mounts: list[Mount] = []
    env: dict[str, str] = {}
    reasons: list[Reason] = []
    keys: dict[str, list[object]] = {
        "kernels": [sorted(set(targets)), image.rocm or _named(image.reference)],
        "environment": [environment],
        "user": [],
    }
    for kind in dict.fromkeys(profile.caches):
        cache = CACHES[kind]
        digest = hashlib.sha256(json.dumps([owner, writer, *keys[cache.belongs_to]]).encode()).hexdigest()[:12]
        mounts.append(Mount("volume", f"rocenv-cache-{kind}-{digest}", cache.target))
        env |= dict.fromkeys(cache.env, cache.target)
        reasons.append(Reason(f"cache {kind}", mounts[-1].source, _WHY[cache.belongs_to]))
    return Storage(tuple(mounts), env, tuple(reasons))


def _named(reference: str) -> str:
    """A reference without the digest beside its tag: an image keeps its caches when it is pinned."""
    name = reference.partition("@")[0]
    return name if ":" in name.rpartition("/")[2] else reference


def project(folder: str, home: str | None) -> Storage:
    """The project's folder at /workspace. Raises UsageError for one that is the whole file system."""
    if folder == "/":
        raise UsageError("the project's folder would be `/`, the whole file system", "`cd` to a folder of its own")
    why = forbidden(folder)
    if why is not None:
        raise UsageError(f"the project's folder would be `{folder}`: {why}", "`cd` to a folder of its own")
    warnings = (f"the project's folder is the whole home folder, `{folder}`",) if folder == home else ()
    mount = Mount("bind", _sound(folder), WORKSPACE)
    return Storage((mount,), {}, (Reason("mount /workspace", folder, "the project's folder"),), warnings)


def covered(image: CatalogImage | None) -> Storage:
    """A warning for training images that keep files of their own at /workspace: the project lies over them."""
    family = images.family(image.family) if image is not None and image.workdir == WORKSPACE else None
    if family is None or family.kind != "training":
        return Storage((), {}, ())
    words = f"the image keeps files of its own at {WORKSPACE}, and the project's folder lies over them"
    return Storage((), {}, (), (words,))


def mounts(profile: Profile, folder: str, home: str | None) -> Storage:
    """The profile's own mounts, `SOURCE:TARGET[:ro]`. Raises UsageError for one that cannot be followed."""
    origin = profile.origins.get("mounts", "mounts")
    found = tuple(_mount(text, origin, folder, home) for text in profile.mounts)
    return Storage(found, {}, tuple(Reason(f"mount {one.target}", one.source, f"named by {origin}") for one in found))


def check_targets(found: Sequence[Mount]) -> None:
    """Raise UsageError where two mounts have one target."""
    seen: dict[str, Mount] = {}
    for mount in found:
        other = seen.setdefault(_normal(mount.target), mount)
        if other is not mount:
            raise UsageError(
                f"`{mount.source}` and `{other.source}` would both be mounted at `{mount.target}`",
                "give one another target",
            )


def _mount(text: str, origin: str, folder: str, home: str | None) -> Mount:
    body, read_only = (text[:-3], True) if text.endswith(":ro") else (text.removesuffix(":rw"), False)
    source, colon, target = body.rpartition(":")
    if not colon or not source or not target.startswith("/"):
        raise UsageError(f"`{origin}`: `{text}` is no mount", "write it like `~/data:/data:ro`")
    target = _normal(target)
    if any(target == one or target.startswith(f"{one}/") for one in _COVERED) or target == "/":
        raise UsageError(f"`{origin}`: `{text}` would cover the image's `{target}`", "give it another target")
    if target.startswith("/opt/rocm"):
        raise UsageError(f"`{origin}`: `{text}` would cover the image's ROCm", "give it another target")
    if source == "~" or source.startswith("~/"):
        if home is None:
            raise UsageError(
                f"`{origin}`: `{text}` starts at a home folder, and HOME is not set", "write the whole path"
            )
        source = home + source[1:]
    elif source in (".", "..") or source.startswith(("./", "../")):
        source = f"{folder}/{source}"
    if source.startswith("/"):
        path = _normal(source)
        why = forbidden(path)
        if why is not None:
            raise UsageError(f"`{origin}`: `{path}` cannot be mounted: {why}", "leave that mount away")
        return Mount("bind", path, _sound(target), read_only)
    if not _VOLUME.fullmatch(source):
        raise UsageError(
            f"`{origin}`: `{source}` is no path and no name of a volume", "start a relative path with `./`"
        )
    return Mount("volume", source, _sound(target), read_only)


def _normal(path: str) -> str:
    """An absolute path without `.`, `..` and double slashes, by its text alone."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return _sound("/" + "/".join(parts))


def _sound(path: str) -> str:
    """The path, if an engine's command line can carry it."""
    if ("," in path or '"' in path) and ":" in path:
        raise UsageError(f"`{path}` holds a colon and a comma, which no engine's command line can carry", "rename it")
    if any(ord(sign) < 32 or 0xD800 <= ord(sign) <= 0xDFFF for sign in path):  # noqa: PLR2004
        raise UsageError(f"`{path!r}` holds control characters, or is not UTF-8", "rename it")
    return path
