"""What is known of an image before it is pulled, or after: the catalog, the engine's own copy, its registry."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rocenv.catalog import images as catalog
from rocenv.catalog.references import Reference
from rocenv.engine import registry
from rocenv.errors import RocenvError, UsageError
from rocenv.model.health import ImageView

if TYPE_CHECKING:
    from rocenv.engine.engine import Engine
    from rocenv.engine.images import ImageFacts


def view(reference: str, engine: Engine | None, machine: str | None) -> ImageView:
    """All that can be told of an image. `engine` None: nothing is asked, the catalog alone speaks.

    Raises UsageError for what is no reference.
    """
    try:
        wanted = Reference.parse(reference)
    except ValueError as error:
        raise UsageError(str(error), "write it as `repository:tag` or `registry/repository@sha256:…`") from error
    known = _from_catalog(reference, wanted)
    if engine is None:
        return known
    try:
        local = engine.image(reference)
    except RocenvError as error:
        return known._replace(said=error.message)
    if local is not None:
        return _from_engine(known, local)
    return look_up(known, wanted, registry.settings(engine), machine)


def _from_catalog(reference: str, wanted: Reference) -> ImageView:
    known = catalog.describe(wanted)
    if known is None:
        return ImageView(reference, said="the catalog does not know it")
    return ImageView(
        reference=reference,
        machines=("amd64",),
        rocm=str(known.rocm) if known.rocm else None,
        gfx=known.gfx,
        gfx_source="the catalog" if known.gfx_verified else "an unverified list of the catalog",
        gfx_verified=known.gfx_verified,
        compiler=known.compiler,
        moving=known.moving,
        unpacked_bytes=known.size_bytes,
        user=known.user,
    )


def _from_engine(known: ImageView, local: ImageFacts) -> ImageView:
    """What the local copy says itself goes before what the catalog says of its tag."""
    env = dict(pair.partition("=")[::2] for pair in local.env)
    targets = arch_list(env.get("PYTORCH_ROCM_ARCH"))
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(local.machine or "", local.machine)
    return known._replace(
        state="local",
        said=None,
        machines=(machine,) if machine else known.machines,
        rocm=known.rocm or _release(env),
        gfx=targets or known.gfx,
        gfx_source="PYTORCH_ROCM_ARCH" if targets else known.gfx_source,
        gfx_verified=bool(targets) or known.gfx_verified,
        unpacked_bytes=local.size or known.unpacked_bytes,
        user=local.user or "root",
        env=env,
        identity=local.id,
    )


def arch_list(text: str | None) -> tuple[str, ...]:
    """The targets in a list as PYTORCH_ROCM_ARCH is written: by semicolons, commas or blanks, features left out."""
    words = re.split(r"[;,\s]+", text or "")
    return tuple(dict.fromkeys(word.partition(":")[0] for word in words if word.startswith("gfx")))


def _release(env: Mapping[str, str]) -> str | None:
    """The ROCm release that an image names in its variables."""
    told = env.get("ROCM_VERSION") or (re.search(r"rocm-(\d+\.\d+[\d.]*)", env.get("ROCM_PATH", "")) or ["", ""])[1]
    return told if re.fullmatch(r"\d+\.\d+(\.\d+)?", told) else None


def look_up(known: ImageView, wanted: Reference, config: Mapping[str, Any], machine: str | None) -> ImageView:
    """The registry's answer: there, and for which machines; or what it answers instead, and what is near."""
    try:
        found = registry.find(wanted, config, platform=registry.platform_of(machine))
    except registry.RegistryError as error:
        if error.state == "no-platform":  # it is there, and not for this machine: `image.arch` says so
            return known._replace(state="found", said=None, machines=_machines(error.platforms) or known.machines)
        state = {"bad": "unreachable", "denied": "no-repository"}.get(error.state, error.state)
        return known._replace(state=state, said=error.said, nearest=error.nearest)
    found.close()
    machines = _machines(found.platforms) or known.machines
    return known._replace(
        state="found",
        said=None,
        machines=machines,
        compressed_bytes=found.manifest.size,
        identity=found.manifest.digest,
    )


def _machines(platforms: Sequence[str]) -> tuple[str, ...]:
    """The processors of those platforms that are Linux's."""
    parts = [platform.split("/") for platform in platforms]
    return tuple(dict.fromkeys(words[1] for words in parts if words[0] == "linux" and len(words) > 1))
