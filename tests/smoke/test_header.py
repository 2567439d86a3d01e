"""A probe says at its top what it is; what it says wrongly is told with the way to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest
from smoke.mutants import HIP, PYTHON

from rocenv.errors import UsageError
from rocenv.model.proof import LEVELS
from rocenv.smoke import choose, list_probes
from rocenv.smoke.header import FOLDER, parse
from rocenv.smoke.runner import payload

GOOD = """#!/bin/sh
# /// probe
# summary: opens it
# level: access
# needs: python, hipcc
# timeout: 2.5
# ///
echo
"""


def test_header_is_read() -> None:
    probe = parse(GOOD, Path("open.sh"))
    assert (probe.name, probe.summary, probe.level, probe.needs, probe.seconds) == (
        "open",
        "opens it",
        "access",
        ("python", "hipcc"),
        2.5,
    )
    assert (probe.fallback_for, probe.source) == (None, None)


def test_each_language_has_its_comment_mark() -> None:
    in_hip = GOOD.replace("# ", "// ")
    assert parse(in_hip, Path("a.hip")).level == "access"
    assert parse(GOOD, Path("a.py")).level == "access"
    with pytest.raises(UsageError, match="no header"):
        parse(in_hip, Path("a.py"))


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("# level: access\n", "", "no `level`", "level: …"),
        ("# summary: opens it\n", "# summary:\n", "no `summary`", "summary: …"),
        ("level: access", "level: acess", "the level `acess`", "`access`"),
        ("level: access", "levl: access", "`# levl: access`", "`level`"),
        ("python, hipcc", "pyton", "needs `pyton`", "`python`"),
        ("timeout: 2.5", "timeout: soon", "the time limit `soon`", "seconds"),
        ("timeout: 2.5", "timeout: 0", "the time limit `0`", "seconds"),
        ("timeout: 2.5", "timeout: -1", "the time limit `-1`", "seconds"),
        ("timeout: 2.5", "timeout: nan", "the time limit `nan`", "seconds"),
        ("timeout: 2.5", "timeout: 3601", "the time limit `3601`", "3600"),
        ("# level: access\n", "# level: access\n# level: kernel\n", "`level` twice", "remove"),
        ("# level: access\n", "# level: access\nlevel\n", "`level`", "`level`"),
        ("# level: access\n", "# level: access\n# quick: maybe\n", "`quick: maybe`", "`quick: yes`"),
        ("# level: access\n", "# level: access\n# subject: me\n", "`subject: me`", "`subject: container`"),
        ("# ///\n", "", "no header", "another probe"),
        ("# /// probe\n", "", "no header", "another probe"),
    ],
)
def test_wrong_header_is_told(old: str, new: str, message: str, hint: str) -> None:
    assert old in GOOD
    with pytest.raises(UsageError) as error:
        parse(GOOD.replace(old, new), Path("open.sh"))
    assert message in error.value.message
    assert "open.sh" in error.value.message
    assert hint in str(error.value.hint)


def test_fallback_of_a_probe_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "one.sh").write_text(GOOD.replace("# timeout", "# fallback-for: tow\n# timeout"))
    (tmp_path / "two.sh").write_text(GOOD)
    with pytest.raises(UsageError, match="`tow`") as error:
        list_probes(tmp_path)
    assert "`two`" in str(error.value.hint)


def test_shipped_probes() -> None:
    probes = {probe.name: probe for probe in list_probes()}
    quick = {"access", "runtime", "vector_add", "hiprtc_add", "torch_matmul"}
    assert {name for name, probe in probes.items() if probe.quick} == quick, "what `up` runs, within seconds"
    assert {name for name, probe in probes.items() if probe.path.endswith(".hip")} == set(HIP)
    assert set(PYTHON) <= {name for name, probe in probes.items() if probe.level == "framework"}
    assert {probe.level for probe in probes.values()} == set(LEVELS)
    assert probes["hiprtc_add"].fallback_for == "vector_add"
    levels = [LEVELS.index(probe.level) for probe in list_probes()]
    assert levels == sorted(levels)


@pytest.mark.parametrize("probe", list_probes(), ids=lambda probe: probe.name)
def test_shipped_probe_travels_whole(probe: object) -> None:
    """What is sent is plain ASCII, fits in one argument of a command (128 KiB), and includes nothing more."""
    text = payload(probe)  # type: ignore[arg-type]
    assert text.isascii()
    assert len(text) < 100_000
    assert '#include "' not in text
    assert "\nfrom prelude import" not in text


def test_levels_hold_those_before_and_fallbacks_wait() -> None:
    known = list_probes()
    assert [probe.name for probe in choose(known, "access")] == ["access"]
    quick = choose(known, "framework", quick=True)
    assert [probe.name for probe in quick] == ["access", "runtime", "vector_add", "torch_matmul"]
    full = [probe.name for probe in choose(known, "kernel")]
    assert full[:4] == ["access", "runtime", "vector_add", "hiprtc_add"], "the quick ones come first"
    assert "gemm" in full
    assert {probe.level for probe in choose(known, "compile")} == {"access", "runtime", "kernel", "compile"}
    assert [probe.name for probe in choose(known, "access", ["hiprtc_add", "access"])] == ["access", "hiprtc_add"]


def test_unknown_level_or_probe_has_a_hint() -> None:
    with pytest.raises(UsageError) as level:
        choose(list_probes(), "kernal")
    assert "`kernel`" in str(level.value.hint)
    with pytest.raises(UsageError) as name:
        choose(list_probes(), "access", ["vector_ad"])
    assert "`vector_add`" in str(name.value.hint)


def test_probes_lie_beside_the_package() -> None:
    assert (FOLDER / "cpu.hpp").is_file()
    assert (FOLDER.parent / "supervise.sh").is_file()
