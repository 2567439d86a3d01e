"""What is known of an image before it is pulled, or after: the catalog, the engine's own copy, its registry."""

from __future__ import annotations

import json
import re
import urllib.error
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rocenv.catalog import images as catalog
from rocenv.catalog.references import Reference
from rocenv.engine import registry
from rocenv.errors import RocenvError, UsageError
from rocenv.model.health import ImageView
from rocenv.rules.tags import nearest

if TYPE_CHECKING:
    from rocenv.engine.engine import Engine
    from rocenv.engine.images import ImageFacts

NOT_FOUND = 404
_STATES = {NOT_FOUND: "no-tag", 429: "busy"}
_REFUSED = (401, 403)
_BAD_ANSWER = (ValueError, KeyError, TypeError, AttributeError)


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
    return look_up(known, wanted, _config(engine), machine)


def _from_catalog(reference: str, wanted: Reference) -> ImageView:
    known = catalog.describe(wanted)
    if known is None:
        return ImageView(reference, said="the catalog does not know it")
    verified = "" if known.gfx_verified else ", not verified"
    return ImageView(
        reference=reference,
        machines=("amd64",),
        rocm=str(known.rocm) if known.rocm else None,
        gfx=known.gfx,
        gfx_source=f"the catalog ({known.gfx_source or known.family}{verified})",
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
    )


def arch_list(text: str | None) -> tuple[str, ...]:
    """The targets in a list as PYTORCH_ROCM_ARCH is written: by semicolons, commas or blanks, features left out."""
    words = re.split(r"[;,\s]+", text or "")
    return tuple(dict.fromkeys(word.partition(":")[0] for word in words if word.startswith("gfx")))


def _release(env: Mapping[str, str]) -> str | None:
    """The ROCm release that an image names in its variables."""
    told = env.get("ROCM_VERSION") or (re.search(r"rocm-(\d+\.\d+[\d.]*)", env.get("ROCM_PATH", "")) or ["", ""])[1]
    return told if re.fullmatch(r"\d+\.\d+(\.\d+)?", told) else None


def _config(engine: Engine) -> Mapping[str, Any]:
    """The daemon's settings of registries: mirrors, and which speak plain HTTP."""
    if engine.kind == "podman":
        return {}
    from rocenv import process

    done = process.run([engine.program, "info", "--format", "{{json .RegistryConfig}}"], seconds=20)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def look_up(known: ImageView, wanted: Reference, config: Mapping[str, Any], machine: str | None) -> ImageView:
    """The registry's answer; the places are tried as the daemon does, and the first that answers counts."""
    last: ImageView = known._replace(state="unreachable", said="no registry was asked")
    for source in registry.sources(wanted.full, config):
        try:
            return _found(known, source, machine)
        except urllib.error.HTTPError as error:
            answer = _refusal(known, source, wanted, error)
            if answer.state != "unreachable":
                return answer
            last = answer
        except OSError as error:
            last = known._replace(state="unreachable", said=f"{source.base}: {getattr(error, 'reason', None) or error}")
        except _BAD_ANSWER as error:
            last = known._replace(state="unreachable", said=f"{source.base} answers what is no manifest: {error}")
    return last


def _found(known: ImageView, source: registry.Source, machine: str | None) -> ImageView:
    """An image that is there: its platforms and how much a pull fetches."""
    top = registry.manifest(source, source.version)
    if "manifests" not in top:
        return known._replace(state="found", said=None, compressed_bytes=registry.layers_size(top))
    platforms = [entry.get("platform") or {} for entry in top["manifests"]]
    machines = tuple(dict.fromkeys(str(one["architecture"]) for one in platforms if one.get("os") == "linux"))
    found = known._replace(state="found", said=None, machines=machines or known.machines)
    try:
        own = registry.manifest(source, registry.pick(top, machine))
        return found._replace(compressed_bytes=registry.layers_size(own))
    except KeyError:
        return found  # not for this machine, which `image.arch` says


def _refusal(known: ImageView, source: registry.Source, wanted: Reference, error: urllib.error.HTTPError) -> ImageView:
    """What a registry means by an error: a missing tag, a missing repository, a login, or a limit."""
    said = error.read(65536).decode(errors="replace")
    error.close()
    host = source.base.partition("://")[2]
    state = _STATES.get(error.code, "unreachable")
    near = _near(source, wanted) if state == "no-tag" and "NAME_UNKNOWN" not in said else ()
    if error.code in _REFUSED or near is None or "NAME_UNKNOWN" in said:
        siblings = _siblings(source, wanted)
        return known._replace(state="no-repository", said=f"{host} answers {error.code}", nearest=siblings)
    what = "manifest unknown" if state == "no-tag" else f"{host} answers {error.code}"
    return known._replace(state=state, said=what, nearest=near)


def _near(source: registry.Source, wanted: Reference) -> tuple[str, ...] | None:
    """The same tag in a sibling repository, then the nearest tags of this one; None where this has no tags at all."""
    try:
        tags = registry.tags(source)
    except urllib.error.HTTPError as error:
        error.close()
        return None if error.code == NOT_FOUND else _siblings(source, wanted)
    except (OSError, *_BAD_ANSWER):
        return _siblings(source, wanted)
    own = [replace(wanted, tag=tag, digest=None).familiar for tag in nearest(wanted.tag or "latest", tags)]
    return (*_siblings(source, wanted), *own)


def _siblings(source: registry.Source, wanted: Reference) -> tuple[str, ...]:
    """Repositories of the same kind (vllm, vllm-dev) that have this very tag."""
    stem = _stem(wanted.repository)
    names = [
        name
        for family in catalog.families()
        for name in family.repositories
        if family.registry == wanted.registry and name != wanted.repository and _kin(stem, _stem(name))
    ]
    found = []
    for name in names[:4]:
        try:
            registry.manifest(replace(source, repository=name), wanted.tag or "latest")
        except (OSError, *_BAD_ANSWER):
            continue
        found.append(replace(wanted, repository=name, digest=None).familiar)
    return tuple(found)


def _stem(repository: str) -> str:
    return repository.rpartition("/")[2].partition("-")[0]


def _kin(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
