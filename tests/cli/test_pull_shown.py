"""What a pull shows: lines where nobody watches a terminal, and never a code that the daemon slips in."""

from __future__ import annotations

import pytest

from rocenv.cli import console
from rocenv.engine.pull import PullEvent

PULL = [
    PullEvent("", "Pulling from rocm/pytorch"),
    PullEvent("a1", "Already exists"),
    PullEvent("b2", "Pulling fs layer"),
    PullEvent("b2", "Downloading", 1024, 4096),
    PullEvent("b2", "Downloading", 2048, 4096),
]
END = [PullEvent("b2", "Pull complete"), PullEvent("", "Status: Downloaded newer image for rocm/pytorch:x")]


def test_lines_come_at_intervals_and_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "PLAIN_SECONDS", 0.0)
    with console.pull_progress() as show:
        for event in PULL:
            show(event)
        before = capsys.readouterr().err.splitlines()
        for event in END:
            show(event)
    assert before[-1] == "pulled 1 of 2 layers, 2 KiB fetched"
    assert capsys.readouterr().err.splitlines()[-1] == "pulled 2 of 2 layers"


def test_a_short_pull_has_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "PLAIN_SECONDS", 3600.0)
    with console.pull_progress() as show:
        for event in PULL + END:
            show(event)
    assert capsys.readouterr().err == "pulled 2 of 2 layers\n"


def test_no_pull_shows_nothing_and_loads_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with console.pull_progress():
        pass
    assert capsys.readouterr().err == ""


def test_on_a_terminal_each_layer_has_a_bar_until_it_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with console.pull_progress() as show:
        for event in [*PULL, PullEvent("c3\x1b[31m", "Down\x1b]0;loading")]:
            show(event)
        seen = capsys.readouterr().err
        for event in END:
            show(event)
        console.say("after")
    assert "b2" in seen
    assert "downloading" in seen
    assert "2.0/4.0 KiB" in seen
    assert "\x1b]0;" not in seen
    assert "\\x1b[31m" in seen
    assert capsys.readouterr().err.endswith("after\n")
