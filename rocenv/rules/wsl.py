"""What ROCm needs on WSL2, by its release."""

from __future__ import annotations

from rocenv.catalog.versions import Version

ON_BY_DEFAULT = Version.parse("7.13")
DXG_VARIABLE = "HSA_ENABLE_DXG_DETECTION"


def needs_variable(rocm: Version | None) -> bool:
    """True for releases that look for dxg only when told to, and for those that are unknown."""
    return rocm is None or rocm < ON_BY_DEFAULT
