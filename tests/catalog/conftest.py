"""A catalog of its own for a test: folders that are empty at first, and nothing remembered from another test."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rocenv.catalog import table


class Places(NamedTuple):
    """The folders that tables are laid into."""

    system: Path
    user: Path


def forget() -> None:
    """Empty every cache of rocenv's modules."""
    for module in [one for name, one in sys.modules.items() if name.startswith("rocenv.")]:
        for value in vars(module).values():
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    """Both folders, empty; what the test lays in is read by what it asks afterwards."""
    found = Places(tmp_path / "etc", tmp_path / "config" / "rocenv")
    monkeypatch.setattr(table, "SYSTEM", found.system)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (found.system / "catalog").mkdir(parents=True)
    (found.user / "catalog").mkdir(parents=True)
    forget()
    yield found
    forget()
