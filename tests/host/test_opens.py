"""Nodes opened for real, each errno as the kernel gives it; one that hangs is given up on, the others go on."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rocenv.host.opens import open_nodes
from rocenv.model.health import Opening

AS_ROOT = os.geteuid() == 0


@pytest.mark.parametrize(
    ("path", "errno"),
    [("/dev/null", None), ("/no/such/node", "ENOENT"), ("/dev", "EISDIR"), ("/dev/null/x", "ENOTDIR")],
)
def test_each_answer_is_told_by_its_name(path: str, errno: str | None) -> None:
    assert open_nodes([path]) == (Opening(path, errno),)


def test_all_are_told_in_their_order() -> None:
    told = open_nodes(["/dev/zero", "/no/such/node", "/dev/null"])
    assert [one.errno for one in told] == [None, "ENOENT", None]
    assert open_nodes([]) == ()


@pytest.mark.skipif(not AS_ROOT, reason="makes device nodes, which root may")
def test_a_node_without_a_driver(tmp_path: Path) -> None:
    node = tmp_path / "kfd"
    os.mknod(node, 0o600 | stat.S_IFCHR, os.makedev(240, 77))
    assert open_nodes([str(node)])[0].errno in ("ENXIO", "ENODEV", "EPERM")


def test_a_node_that_hangs_is_given_up_and_the_next_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready, hold = os.pipe()
    honest = os.open

    def hanging(path: str, flags: int) -> int:
        if str(path).endswith("hangs"):
            os.read(ready, 1)  # never answered: the write end stays open here
        return honest(path, flags)

    monkeypatch.setattr(os, "open", hanging)
    told = open_nodes(["/dev/null", str(tmp_path / "hangs"), "/dev/zero"], seconds=0.5)
    os.close(hold)
    os.close(ready)
    assert [one.errno for one in told] == [None, "TIMEOUT", None]
