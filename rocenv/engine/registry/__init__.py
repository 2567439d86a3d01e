"""Registries, asked by the OCI distribution API (Docker Hub, ghcr.io, one's own): the engine's places and logins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocenv.catalog.references import Reference
from rocenv.engine.registry.blobs import blob, read_config
from rocenv.engine.registry.find import find, locate
from rocenv.engine.registry.pages import tags
from rocenv.engine.registry.places import places
from rocenv.engine.registry.records import Descriptor, Found, Manifest, Place, RegistryError
from rocenv.engine.registry.settings import platform_of, settings

__all__ = [
    "Descriptor", "Found", "Manifest", "Place", "RegistryError", "blob", "compressed_size", "find", "places",
    "platform_of", "read_config", "settings", "tags",
]  # fmt: skip

_SIZE_BUDGET = 10.0  # seconds: a size is only told, and nobody waits long for it


def compressed_size(reference: str, config: Mapping[str, Any], machine: str | None) -> int | None:
    """The bytes that a pull of `reference` for `machine` fetches at most, or None where no registry tells."""
    try:
        found = locate(Reference.parse(reference), config, platform_of(machine), _SIZE_BUDGET)
    except (RegistryError, ValueError):
        return None
    found.close()
    return found.manifest.size
