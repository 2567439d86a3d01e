"""The runtime probe where neither HSA nor HIP can be asked: rocminfo's words, as real hosts printed them."""

from __future__ import annotations

import os
import re
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from smoke.mutants import PROBES

from rocenv.smoke.header import read_probe
from rocenv.smoke.runner import payload

CAPTURES = Path(os.environ.get("ROCENV_CAPTURES") or Path(__file__).parents[2] / "../shared/hosts")


def names(probe: str) -> dict[str, Any]:
    """The functions of a Python probe, which runs nothing of itself."""
    text, _, _ = payload(read_probe(PROBES / probe)).rpartition("\nmain()")
    found: dict[str, Any] = {}
    exec(text, found)
    return found


def printed(folder: Path, text: str) -> str:
    """A program that prints the text, in rocminfo's place."""
    (folder / "said").write_text(text)
    program = folder / "rocminfo"
    program.write_text(f"#!/bin/sh\ncat '{folder}/said'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_rocminfo_of_real_hosts(tmp_path: Path) -> None:
    """Against expected.yaml of each capture, which was worked out from sysfs and not from rocminfo."""
    archives = sorted(CAPTURES.glob("*.tar.gz"))
    if not archives:
        pytest.skip(f"no captures in {CAPTURES} (ROCENV_CAPTURES names their folder)")
    by_rocminfo, seen = names("runtime.py")["by_rocminfo"], 0
    for archive in archives:
        name = archive.name.removesuffix(".tar.gz")
        with tarfile.open(archive) as tar:
            if f"{name}/tool-output/rocminfo.txt" not in tar.getnames():
                continue
            said, expected = (
                tar.extractfile(f"{name}/{file}").read().decode()  # type: ignore[union-attr]
                for file in ("tool-output/rocminfo.txt", "expected.yaml")
            )
        gpus = [(gpu["bdf"], gpu["gfx"], gpu["uuid"]) for gpu in yaml.safe_load(expected)["gpus"]]
        if (
            not re.search(r"^Agent 1\s*$", said, re.MULTILINE) or not gpus
        ):  # an excerpt, a failure, or WSL, where there is no sysfs
            continue
        agents = by_rocminfo(printed(tmp_path, said))
        assert [(agent["bdf"], agent["gfx"], agent["uuid"]) for agent in agents] == gpus, name
        seen += 1
    assert seen >= 8


def test_rocminfo_that_fails_is_told_in_its_words(tmp_path: Path) -> None:
    found = names("runtime.py")
    said = "\x1b[31mROCk module is NOT loaded, possibly no GPU devices\x1b[0m\n"
    with pytest.raises(found["Fault"]) as fault:
        found["by_rocminfo"](printed(tmp_path, said))
    assert str(fault.value) == (
        "the ROCm runtime does not start: rocminfo says `ROCk module is NOT loaded, possibly no GPU devices`"
    )


@pytest.mark.parametrize(
    ("domain", "bdfid", "bdf"),
    [
        (0, 9728, "0000:26:00.0"),
        (0, 0x1903, "0000:19:00.3"),
        (1, 0xFF08, "0001:ff:01.0"),
        (0, 0x80002600, "0000:26:00.0"),
    ],
)
def test_address_of_hsas_numbers(domain: int, bdfid: int, bdf: str) -> None:
    assert names("runtime.py")["bdf_of"](domain, bdfid) == bdf
