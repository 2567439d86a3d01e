"""A process that is given its input piece by piece: whole, or killed before it sees an end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocenv import process

PIECE = b"x" * (1 << 17)  # more than a pipe holds at once


def test_it_reads_every_piece() -> None:
    done = process.fed(["wc", "-c"], (PIECE for _ in range(8)), seconds=30)
    assert (done.status, done.stdout.strip()) == (0, str(8 * len(PIECE)))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_where_a_piece_cannot_be_made_it_never_comes_to_its_end(tmp_path: Path, error: type[BaseException]) -> None:
    def pieces() -> Iterator[bytes]:
        yield PIECE
        raise error

    with pytest.raises(error):
        process.fed(["sh", "-c", f"cat > {tmp_path}/got && touch {tmp_path}/ended"], pieces(), seconds=30)
    assert not (tmp_path / "ended").exists()


def test_one_that_reads_no_further_tells_by_its_status() -> None:
    done = process.fed(["sh", "-c", "echo full >&2; exit 3"], (PIECE for _ in range(100)), seconds=30)
    assert (done.status, done.stderr) == (3, "full\n")


def test_one_that_does_not_exist_is_told() -> None:
    with pytest.raises(process.ProgramMissingError):
        process.fed(["no-such-program"], [b"x"], seconds=30)
