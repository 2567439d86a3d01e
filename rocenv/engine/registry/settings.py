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
    """An engine's own settings of registries, as `places` takes them; those that it does not tell are missing."""
    if engine.kind == "podman":
        info = _asked(engine, "json")
        registries = info.get("registries")
        return {"Engine": "podman", "Registries": registries if isinstance(registries, dict) else {}}
    return _asked(engine, "{{json .RegistryConfig}}")


def _asked(engine: Engine, form: str) -> Mapping[str, Any]:
    from rocenv import process

    try:
        done = process.run([engine.program, "info", "--format", form], seconds=_PATIENCE)
        found = json.loads(done.stdout)
    except (process.ProgramMissingError, process.TimedOutError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def platform_of(machine: str | None) -> str:
    """The platform of images for a machine as `uname -m` names it; amd64 where that is unknown."""
    return f"linux/{_ARCHITECTURE.get(machine or '', machine or 'amd64')}"
