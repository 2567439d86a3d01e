"""Streams that are closed, full, or read by nobody: no traceback, and the right exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROCENV = [sys.executable, "-m", "rocenv"]


def shell(words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-o", "pipefail", "-c", words, "-", *ROCENV], capture_output=True, check=False)


def test_a_reader_that_goes_is_no_failure(tmp_path: Path) -> None:
    """The reader is gone before the first byte: a pipe whose other end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*ROCENV, "profiles", "list", "--json"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("form", ["", " --json"])
def test_a_full_stdout_is_told_once(form: str) -> None:
    done = shell(f'"$@" detect{form} >/dev/full')
    assert done.returncode == 1
    assert done.stderr.decode().startswith("error: stdout cannot be written: ")
    assert b"Traceback" not in done.stderr
    assert b"unexpected" not in done.stderr


def test_a_closed_stdout_is_written_by_nobody() -> None:
    done = shell('"$@" detect >&-')
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_stderr_does_not_send_talk_to_stdout() -> None:
    done = shell('"$@" detect --json 2>&-')
    assert done.returncode == 0
    assert json.loads(done.stdout)["version"] == 1
    failed = shell('"$@" detect --host /nowhere --json 2>&-')
    assert failed.returncode == 2
    assert json.loads(failed.stdout)["status"] == "error"
