"""The choices, held to the tables that people reviewed (see their heads): a change is shown line by line."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import table
from hosts import builder

MAKE = "`python tests/golden/table.py` shows every difference, `--accept` writes them after review"


def reviewed(name: str, host: str) -> list[list[str]]:
    return [row for row in table.stored(name) if row[0] == host]


@pytest.fixture(autouse=True)
def _no_layers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize("host", builder.names())
def test_each_described_host(host: str, tmp_path: Path) -> None:
    assert table.of_host(host, table.described(host, tmp_path)) == reviewed("hosts", host), MAKE


@pytest.mark.parametrize("host", table.captures())
def test_each_capture(host: str) -> None:
    rows = reviewed("captures", host)
    if not rows:
        pytest.skip("not among the reviewed captures")
    assert table.of_host(host, table.captured(host)) == rows, MAKE


def test_the_tables_hold_no_host_that_is_gone() -> None:
    assert {row[0] for row in table.stored("hosts")} == set(builder.names())


def test_a_difference_is_shown_and_nothing_is_written_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (table.FOLDER / "hosts.csv").read_text(encoding="utf-8")
    (tmp_path / "hosts.csv").write_text(
        text.replace("mi300x-bed,pytorch,rocm/pytorch:rocm10.1.0", "mi300x-bed,pytorch,x")
    )
    (tmp_path / "captures.csv").write_text("host,profile,image,why\n", encoding="utf-8")
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    monkeypatch.setattr(table, "CAPTURES", tmp_path)
    monkeypatch.setattr(builder, "names", lambda: ["mi300x-bed"])
    kept = (tmp_path / "hosts.csv").read_text(encoding="utf-8")
    assert table.main(accept=False) == 0
    shown = capsys.readouterr().out
    assert "+mi300x-bed,pytorch,rocm/pytorch:rocm10.1.0" in shown
    assert "-mi300x-bed,pytorch,x" in shown
    assert "nothing was written" in shown
    assert (tmp_path / "hosts.csv").read_text(encoding="utf-8") == kept
    assert table.main(accept=True) == 0
    assert "# Reviewed by hand" in (tmp_path / "hosts.csv").read_text(encoding="utf-8")
    assert table.difference("hosts") == []
