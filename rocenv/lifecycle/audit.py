"""A look inside an image, and what is remembered of it: an image is read once, for its digest never changes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocenv.model.audit import Audit, Library, Package, Python, Release, Shared, Torch

if TYPE_CHECKING:
    from rocenv.engine.layers import Source
    from rocenv.model.health import ImageView

_FORMAT = 1  # raised when more or other things are read: what was kept before is then read anew
_LIMIT = 16 << 20
_ROWS: dict[str, type] = {
    "rocm": Release, "hip": Release, "libraries": Library, "shared": Shared, "torch": Torch, "packages": Package,
    "pythons": Python,
}  # fmt: skip


def look_inside(source: Source, tell: Callable[[str], None], *, fresh: bool = False) -> Audit:
    """The audit of an image: what is kept, else read now and kept. Raises ImageError or EngineError."""
    if source.identity is not None and not fresh:
        kept = known(source.identity)
        if kept is not None:
            return kept._replace(digest=source.digest or kept.digest)
    from rocenv.image.facts import audit

    read = source.read(tell)
    found = audit(read.config, read.layers, read.identity, read.digest)
    keep(found, {read.identity, source.identity, read.digest, source.digest})
    return found


def known(digest: str) -> Audit | None:
    """What was found in an image before, by the digest of its configuration (the engine's image id) or manifest."""
    try:
        file = _file(digest)
        if file is None or not file.is_file() or file.stat().st_size > _LIMIT:  # a FIFO would be waited for
            return None
        found = json.loads(file.read_bytes())
        if found["format"] != _FORMAT or found["sum"] != _sum(found["audit"]):
            return None
        return Audit(**{key: _thawed(key, value) for key, value in found["audit"].items()})
    except (OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # not there, or not what was written here: it is read anew


def informed(view: ImageView) -> ImageView:
    """What is known of an image, and what an audit of it found: that is not hearsay, and goes before what was."""
    found = known(view.identity) if view.identity else None
    if found is None:
        return view
    from rocenv.image.verdict import carried

    torch = found.torch[0] if len(found.torch) == 1 else None
    targets = carried(found)
    return view._replace(
        rocm=found.rocm[0].version if len(found.rocm) == 1 else view.rocm,
        gfx=targets or view.gfx,
        gfx_source="`rocenv audit`" if targets else view.gfx_source,
        gfx_verified=bool(targets) or view.gfx_verified,
        groups=found.groups,
        torch=torch.version if torch else view.torch,
        hip=torch.hip if torch else view.hip,
    )


def keep(found: Audit, digests: Iterable[str | None]) -> None:
    """Write what was found, under each digest; a folder that cannot be written is no reason to fail."""
    content = json.loads(json.dumps(_plain(found)))
    text = json.dumps({"version": 1, "format": _FORMAT, "sum": _sum(content), "audit": content})
    for digest in digests:
        try:
            file = _file(digest) if digest is not None else None
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                fresh = file.with_suffix(f".{os.getpid()}")
                fresh.write_text(text, encoding="utf-8")
                fresh.replace(file)
        except (OSError, RuntimeError):  # RuntimeError: this user has no home folder
            return


def _plain(found: Audit) -> dict[str, Any]:
    return {key: dict(value) if hasattr(value, "keys") else value for key, value in found._asdict().items()}


def _thawed(key: str, value: Any) -> Any:
    if key in _ROWS:
        return tuple(_ROWS[key](*map(_frozen, row)) for row in value)
    return _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _sum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _file(digest: str) -> Path | None:
    """Where the audit of a digest is kept; None for what is no digest."""
    algorithm, _, digits = digest.rpartition(":")  # podman leaves the algorithm of an image's id unsaid
    if algorithm not in ("sha256", "") or len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):  # noqa: PLR2004
        return None
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rocenv" / "audit" / f"{digits}.json"
