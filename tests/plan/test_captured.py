"""Real hosts: for each capture the rules hold, and what cannot be planned says why and what mends it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from plan.held import check
from plan.made import CRUN, DOCKER, PODMAN, REQUEST, profile

from rocenv.errors import RocenvError
from rocenv.host import read_host
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts
from rocenv.model.wish import ImageWish
from rocenv.plan import make_plan

CAPTURES = Path(os.environ.get("ROCENV_CAPTURES") or Path(__file__).parents[2] / "../shared/hosts")
FILES = sorted(CAPTURES.glob("*.tar.gz"))
FAMILIES = ("rocm/pytorch", "rocm/dev-ubuntu", "rocm/rocm-terminal")


@cache
def captured(path: Path) -> Host:
    return read_host(str(path))


def test_the_captures_are_there() -> None:
    if not FILES:
        pytest.skip(f"no captures in {CAPTURES} (ROCENV_CAPTURES names their folder)")


@pytest.mark.parametrize("engine", [DOCKER, PODMAN, CRUN], ids=["docker", "podman", "crun"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_the_rules_hold_on_real_hosts(path: Path, family: str, engine: EngineFacts) -> None:
    where = captured(path)
    hint: str | None = "the plan was made"
    try:
        made = make_plan(profile(image=ImageWish(family)), where, engine, REQUEST)
    except RocenvError as refusal:
        hint = refusal.hint
    else:
        if where.environment == "wsl2":
            assert made.devices == ("/dev/dxg",)
        else:
            check(made, where, engine)
    assert hint


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_a_plan_without_gpus_works_everywhere(path: Path) -> None:
    made = make_plan(profile(), captured(path), DOCKER, REQUEST._replace(cpu=True))
    assert made.devices == ()
    assert made.image.rocm == "10.1.0"
