"""Whose environment it is: a folder in a label is looked for, whatever the label holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocenv.lifecycle.find import elsewhere
from rocenv.model.proof import Environment


def of(folder: str) -> Environment:
    return Environment(
        container="rocenv-demo-hip", id="1", name="hip", project="demo", profile="hip", state="running",
        reference="i", digest=None, plan="p1", gpus="[]", owner="1000", created=None,
        labels={"rocenv.folder": folder},
    )  # fmt: skip


def test_another_folder_is_told_and_one_that_is_gone_is_not(tmp_path: Path) -> None:
    assert elsewhere(of(str(tmp_path)), "/home/me/demo") == str(tmp_path)
    assert elsewhere(of(str(tmp_path)), str(tmp_path)) is None
    assert elsewhere(of(str(tmp_path / "gone")), "/home/me/demo") is None


@pytest.mark.parametrize("folder", ["/" + "x" * 5000, "/a\0b", os.devnull])
def test_a_label_that_is_no_folder_is_none(folder: str) -> None:
    assert elsewhere(of(folder), "/home/me/demo") is None


def test_a_folder_that_may_not_be_looked_at_is_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "stat", closed)  # root, who may run the tests, may look everywhere
    assert elsewhere(of("/home/other/demo"), "/home/me/demo") == "/home/other/demo"
