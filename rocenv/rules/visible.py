"""Visibility lists (ROCR_VISIBLE_DEVICES and its like), read as ROCr reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocenv.model.host import Gpu

_UUID = re.compile(r"GPU-[0-9a-f]{4,16}", re.IGNORECASE)


def narrowed(gpus: Sequence[Gpu], value: str) -> tuple[Gpu, ...]:
    """The GPUs that a list leaves, each once: it ends at its first entry that means nothing."""
    kept: list[Gpu] = []
    for word in value.split(","):
        found = entry(gpus, word.strip())
        if found is None:
            break
        if found not in kept:
            kept.append(found)
    return tuple(kept)


def entry(gpus: Sequence[Gpu], word: str) -> Gpu | None:
    """The GPU that one entry means: a place among those that are there, or a UUID or its beginning."""
    if word.isascii() and word.isdecimal():
        return gpus[int(word)] if len(word) < 5 and int(word) < len(gpus) else None  # noqa: PLR2004
    if not _UUID.fullmatch(word):
        return None
    return next((gpu for gpu in gpus if gpu.uuid and gpu.uuid.lower().startswith(word.lower())), None)
