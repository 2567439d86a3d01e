"""A file that is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocenv.errors import UsageError
from rocenv.lifecycle.written import written


def test_it_takes_the_place_of_what_was_there_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    with written(file) as stream:
        stream.write(b"new")
        stream.flush()
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


def half_written(file: Path, error: BaseException) -> None:
    with written(file) as stream:
        stream.write(b"half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, UsageError("no"), OSError(28, "No space left on device")])
def test_what_goes_wrong_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    with pytest.raises((KeyboardInterrupt, UsageError)):
        half_written(file, error)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    file, outside = tmp_path / "f", tmp_path / "outside"
    outside.write_text("mine")
    file.symlink_to(outside)
    with written(file) as stream:
        stream.write(b"new")
    assert outside.read_text() == "mine"
    assert not file.is_symlink()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file"), written(tmp_path / "none" / "f"):
        pass
