"""What is wished: profiles read in layers, checked key by key, each key with the layer that set it."""

from __future__ import annotations

from rocenv.profile.load import available, load_profile, own_profiles

__all__ = ["available", "load_profile", "own_profiles"]
