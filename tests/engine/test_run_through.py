"""A step of the engine's that must not stay half done: it goes on through an interrupt, and the interrupt is told."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rocenv import process


def test_an_interrupt_waits_for_the_step_and_is_told_after() -> None:
    done, interrupted = process.run_through(["sh", "-c", "echo before; kill -INT $PPID; echo after"], seconds=60)
    assert (done.stdout, done.status, interrupted) == ("before\nafter\n", 0, True)


def test_nothing_came_between() -> None:
    done, interrupted = process.run_through(["sh", "-c", "echo out; echo err >&2; exit 3"], seconds=60)
    assert (done.stdout, done.stderr, done.status, interrupted) == ("out\n", "err\n", 3, False)


def test_a_terminals_interrupt_does_not_reach_it() -> None:
    # A terminal sends its signal to a whole process group; the step has one of its own, and meets only itself there.
    done, interrupted = process.run_through(["sh", "-c", "trap 'echo hit' INT; kill -INT 0; echo on"], seconds=60)
    assert (done.stdout, interrupted) == ("hit\non\n", False)


def test_one_that_hangs_is_ended() -> None:
    with pytest.raises(process.TimedOutError):
        process.run_through(["sleep", "1000"], seconds=0.01)


def test_a_grandchild_that_holds_the_pipes_is_not_waited_for(tmp_path: Path) -> None:
    told = tmp_path / "grandchild"
    os.mkfifo(told)
    child = process.start(["sh", "-c", f"sleep 20 & echo $! > {told}; wait"])
    grandchild = int(told.read_text())
    try:
        with pytest.raises(process.TimedOutError):
            process.finish(child, 0.01)
        assert child.returncode == -signal.SIGKILL
        state = Path(f"/proc/{grandchild}/stat").read_text().rpartition(") ")[2][0]
        assert state != "Z"  # it has not come to its end, so nobody has waited for that
    finally:
        os.kill(grandchild, signal.SIGKILL)


def test_data_is_read_and_a_program_that_is_none_is_told(tmp_path: Path) -> None:
    assert process.run(["cat"], seconds=60, data=b"words").stdout == "words"
    none = tmp_path / "docker"
    none.write_bytes(b"\x7fELF no program")
    none.chmod(0o755)
    with pytest.raises(process.ProgramMissingError):
        process.run([str(none)], seconds=60)
