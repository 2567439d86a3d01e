"""The folder that a build copies from: within the project, and a digest of all that can be copied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocenv.errors import UsageError
from rocenv.lifecycle import context


def project(folder: Path) -> Path:
    for name, text in {"a.txt": "a", "src/main.cpp": "int main", "data/big.bin": "1", ".git/HEAD": "x"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.txt").write_text("b"),
        lambda folder: (folder / "a.txt").rename(folder / "b.txt"),
        lambda folder: (folder / "src" / "main.cpp").chmod(0o755),
        lambda folder: (folder / "new").symlink_to("a.txt"),
        lambda folder: (folder / "folder").symlink_to("src"),
    ],
)
def test_a_change_changes_the_digest(tmp_path: Path, change: object) -> None:
    before = context.digest(project(tmp_path))
    assert callable(change)
    change(tmp_path)
    assert context.digest(tmp_path) != before


def test_what_no_image_sees_does_not(tmp_path: Path) -> None:
    before = context.digest(project(tmp_path))
    (tmp_path / ".git" / "HEAD").write_text("another commit")
    os.utime(tmp_path / "a.txt", (1, 1))
    (tmp_path / "a.txt").chmod(0o600)
    os.mkfifo(tmp_path / "pipe")
    assert context.digest(tmp_path) == before


@pytest.mark.parametrize(
    ("patterns", "left_out"),
    [
        ("data", True), ("/data/", True), ("**/*.bin", True), ("data/*.bin", True), ("*.bin", False), ("# data", False),
        ("data\n!data/big.bin", False), ("*\n!src", True), ("dat", False), ("d?ta", True),
    ],
)  # fmt: skip
def test_dockerignore_leaves_out_as_docker_does(tmp_path: Path, patterns: str, left_out: bool) -> None:
    """Docker's rules: patterns from the context's root, a folder with all below it, the last that fits counts."""
    (project(tmp_path) / ".dockerignore").write_text(f"{patterns}\n.dockerignore\n")
    before = context.digest(tmp_path)
    (tmp_path / "data" / "big.bin").write_text("2")
    assert (context.digest(tmp_path) == before) is left_out


@pytest.mark.parametrize("name", ["..", "../other", "/etc", "link"])
def test_a_folder_outside_of_the_project_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(UsageError, match="outside of the project"):
        context.folder_of(name, str(tmp_path))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        context.folder_of("src", str(tmp_path))


def test_a_data_set_is_no_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MOST_FILES", 2)
    with pytest.raises(UsageError, match="more than 2 files"):
        context.digest(project(tmp_path))
