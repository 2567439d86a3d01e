"""Captures of real hosts, kept outside of the project: each gives exactly the answer that was worked out beside it."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from host.conftest import CAPTURES

from rocenv.host import read_host, read_links
from rocenv.report.host import host_json

IN_CI = bool(os.environ.get("CI"))  # where a missing folder is a failure; elsewhere it is a skip with a reason
ARCHIVES = sorted(CAPTURES.glob("*.tar.gz")) if CAPTURES.is_dir() else []


def expected(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as members:
        stream = members.extractfile(f"{archive.name.removesuffix('.tar.gz')}/expected.yaml")
        assert stream is not None
        answer: dict[str, Any] = yaml.safe_load(stream)
    return answer


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as members:
        members.extractall(folder, filter="tar")
    return folder / archive.name.removesuffix(".tar.gz")


def contract(answer: object, wanted: object) -> object:
    """`answer` cut down to the keys of `wanted`, which are the contract's."""
    if isinstance(wanted, dict) and isinstance(answer, dict):
        return {key: contract(answer[key], wanted[key]) for key in wanted}
    if isinstance(wanted, list) and isinstance(answer, list) and wanted:
        more = [wanted[0]] * (len(answer) - len(wanted))
        return [contract(one, other) for one, other in zip(answer, wanted + more, strict=False)]
    return answer


def test_the_captures_are_there() -> None:
    if not ARCHIVES and not IN_CI:
        pytest.skip(f"no captures in {CAPTURES} (ROCENV_CAPTURES names their folder)")
    assert ARCHIVES


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_a_capture_gives_exactly_its_answer(archive: Path, tmp_path: Path) -> None:
    wanted = expected(archive)
    for place in (archive, unpacked(archive, tmp_path)):
        answer = host_json(read_host(str(place)), read_links(str(place)))
        for key in wanted:
            assert contract(answer[key], wanted[key]) == wanted[key], f"{key} of {place}"
