"""Folders of a system's, a user's and a project's own, in place of this machine's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocenv.model.wish import Profile
from rocenv.profile import load_profile, places


@dataclass(frozen=True)
class Layers:
    """Where each layer's files are written."""

    system: Path
    user: Path
    project: Path

    def write(self, where: Path, name: str, text: str) -> None:
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def load(self, name: str | None = None, overrides: Mapping[str, object] | None = None) -> Profile:
        return load_profile(name, project=self.project, overrides=overrides or {})


@pytest.fixture
def layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layers:
    """All layers but the built-in one, empty; no ROCENV_* variable is set."""
    for name in [name for name in os.environ if name.startswith("ROCENV_")]:
        monkeypatch.delenv(name)
    found = Layers(tmp_path / "etc", tmp_path / "config" / "rocenv", tmp_path / "project")
    found.project.mkdir()
    monkeypatch.setattr(places, "SYSTEM", found.system)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(found.user.parent))
    return found
