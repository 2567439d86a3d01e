"""The access probe with real device nodes, opened for real by an unprivileged user, in a root of busybox alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from smoke.local import Local

from rocenv.model.plan import GpuRef
from rocenv.smoke import run_probes

BUSYBOX = shutil.which("busybox")
USER, KFD, RENDER = 1234, 2993, 2044  # a uid and gids that have names nowhere
NODES = ("/dev/dri/renderD128", "/dev/dri/renderD136")
GPUS = [GpuRef(i, "gfx942", f"0000:{i}c:00.0", 0, None, node, "AMD Instinct MI300X") for i, node in enumerate(NODES)]

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="device nodes are made by root"),
    pytest.mark.skipif(BUSYBOX is None, reason="needs busybox: `./dev test` installs it"),
]


class Root(Local):
    """A root folder with busybox and a /dev of its own; what runs there has the given groups and no more."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        for name in ("bin", "dev/dri", "tmp", "proc"):
            (folder / name).mkdir(parents=True)
        (folder / "tmp").chmod(0o1777)
        shutil.copy(str(BUSYBOX), folder / "bin/busybox")
        for tool in ("sh", "env", "head", "mktemp", "rm", "ls", "id", "df", "tail", "tr", "grep", "sed", "sleep"):
            (folder / "bin" / tool).symlink_to("busybox")
        os.mknod(folder / "dev/null", 0o666 | 0o020000, os.makedev(1, 3))
        os.chmod(folder / "dev/null", 0o666)
        self.groups: tuple[int, ...] = (KFD, RENDER)

    def node(self, path: str, gid: int, mode: int = 0o660, number: tuple[int, int] = (1, 3)) -> None:
        """A character device that every kernel has (null unless told otherwise) under the given name."""
        place = self.folder / path.lstrip("/")
        os.mknod(place, mode | 0o020000, os.makedev(*number))
        os.chmod(place, mode)
        os.chown(place, 0, gid)

    def exec_argv(self, container: str, command: Any, *, env: Mapping[str, str] | None = None, **_: Any) -> list[str]:
        groups = ",".join(map(str, self.groups)) or str(USER)
        enter = ["chroot", f"--userspec={USER}:{USER}", f"--groups={groups}", str(self.folder), "/bin/env", "-i"]
        variables = {"PATH": "/bin", **(env or {})}
        return [*enter, *(f"{name}={value}" for name, value in variables.items()), *command]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    for part in (tmp_path, *tmp_path.parents):  # so that the user may walk there
        if part.stat().st_uid == os.getuid() and part != Path("/"):
            part.chmod(part.stat().st_mode | 0o011)
    return Root(tmp_path / "root")


def proved(root: Root) -> dict[int | None, tuple[str, str]]:
    results = run_probes(root, "here", GPUS, level="access", stand_in=False, tell=lambda _: None)
    assert {result.name for result in results} == {"access"}
    return {result.gpu: (result.result, result.cause or "") for result in results}


def test_nodes_that_open(root: Root) -> None:
    root.node("/dev/kfd", KFD)
    for node in NODES:
        root.node(node, RENDER)
    root.node("/dev/dri/renderD144", RENDER)
    results = run_probes(root, "here", GPUS, level="access", stand_in=False, tell=lambda _: None)
    assert [(r.gpu, r.result, r.ran_on) for r in results] == [
        (None, "passed", "/dev/kfd"),
        (0, "passed", NODES[0]),
        (1, "passed", NODES[1]),
    ]
    whole = dict(results[0].figures)
    assert whole["unplanned_nodes"] == "/dev/dri/renderD144"
    assert (whole["uid"], whole["gid"]) == (USER, KFD)
    assert {int(group) for group in str(whole["groups"]).split()} == {USER, KFD, RENDER}
    assert results[1].figures == {"mode": "crw-rw----", "gid": RENDER}
    assert list((root.folder / "tmp").iterdir()) == []


def test_group_that_was_not_passed(root: Root) -> None:
    root.node("/dev/kfd", KFD)
    for node in NODES:
        root.node(node, RENDER)
    root.groups = (KFD,)
    found = proved(root)
    assert found[None] == ("passed", "")
    assert found[0][0] == "failed"
    assert found[0][1].startswith(
        f"no permission: EACCES, group {RENDER} has access on {NODES[0]} (crw-rw----, owner 0:"
    )
    assert found[0][1].endswith(f"for uid {USER}, groups {USER} {KFD}")


def test_mode_that_lets_no_group_in(root: Root) -> None:
    root.node("/dev/kfd", KFD, mode=0o600)
    root.node(NODES[0], RENDER, mode=0o640)
    root.node(NODES[1], RENDER, mode=0o606)
    found = proved(root)
    assert found[None][1].startswith("denied by the host: EACCES, the mode gives no group access on /dev/kfd")
    assert found[0][1].startswith("denied by the host: EACCES, the mode gives no group access")
    assert found[1][1].startswith("denied by the host: EACCES, the mode gives no group access"), "to its members"


def test_node_that_is_not_there(root: Root) -> None:
    root.node("/dev/kfd", KFD)
    root.node(NODES[0], RENDER)
    (root.folder / NODES[1].lstrip("/")).write_text("")
    assert proved(root)[1] == ("failed", f"node missing: {NODES[1]} is no character device")
    (root.folder / NODES[1].lstrip("/")).unlink()
    assert proved(root)[1] == ("failed", f"node missing: ENOENT on {NODES[1]}")
    assert not (root.folder / NODES[1].lstrip("/")).exists(), "looking must not make it"


def test_node_without_a_driver_behind_it(root: Root) -> None:
    """A number that no driver has answers ENXIO, as a node does whose driver is gone."""
    root.node("/dev/kfd", KFD, number=(0x1D7, 7))
    for node in NODES:
        root.node(node, RENDER)
    assert proved(root)[None][1].startswith("driver does not answer: ENXIO on /dev/kfd")
