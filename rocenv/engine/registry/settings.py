"""What an engine is told of registries: mirrors, and which of them need no certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocenv.engine.engine import Engine

_PATIENCE = 20.0  # seconds
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}


def settings(engine: Engine) -> Mapping[str, Any]:
    """An engine's settings of registries: the daemon's `RegistryConfig`, empty where it does not tell."""
    from rocenv import process

    if engine.kind == "podman":
        return {"Engine": "podman"}
    try:
        done = process.run([engine.program, "info", "--format", "{{json .RegistryConfig}}"], seconds=_PATIENCE)
        found = json.loads(done.stdout)
    except (process.ProgramMissingError, process.TimedOutError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def platform_of(machine: str | None) -> str:
    """The platform of images for a machine as `uname -m` names it; amd64 where that is unknown."""
    return f"linux/{_ARCHITECTURE.get(machine or '', machine or 'amd64')}"
