"""Where the project lies, seen from the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocenv.cli import project
from rocenv.errors import UsageError


def test_a_working_directory_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="working directory"):
        project.folder()
