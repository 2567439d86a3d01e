"""The bed is what its README says: nodes that can be told apart, and nothing of another engine within reach."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bed.place import Bed

if TYPE_CHECKING:
    from conftest import TestBed

# Opens each node given read-write and says which ones it may.
OPEN = "for node; do if [ -c $node ] && : 2>/dev/null <>$node; then echo $node; fi; done"


@pytest.fixture
def nodes(bed: TestBed) -> dict[str, tuple[str, int]]:
    """Path → (its numbers in hex, its gid) of the GPUs' nodes in the bed."""
    told = bed.run("sh", "-c", "stat -c '%n %t:%T %g' /dev/kfd /dev/dri/*", as_root=True).stdout.splitlines()
    return {path: (numbers, int(gid)) for path, numbers, gid in (line.split() for line in told)}


def test_nodes_have_numbers_and_groups_of_their_own(nodes: dict[str, tuple[str, int]]) -> None:
    render = [path for path in nodes if "renderD" in path]
    assert len(render) == 4
    assert len({numbers for numbers, _ in nodes.values()}) == len(nodes)
    assert nodes["/dev/kfd"][1] not in {nodes[path][1] for path in render}
    assert 0 not in {gid for _, gid in nodes.values()}


def test_user_cannot_open_nodes_on_the_host(bed: TestBed, nodes: dict[str, tuple[str, int]]) -> None:
    """So that what opens in a container does so by the group ids that were passed."""
    assert bed.run("sh", "-c", OPEN, "sh", *nodes).stdout == ""
    assert bed.run("sh", "-c", OPEN, "sh", *nodes, as_root=True).stdout.split() == list(nodes)


def test_container_opens_the_nodes_it_was_given(
    bed: TestBed, small_image: str, nodes: dict[str, tuple[str, int]]
) -> None:
    given, other = (path for path in nodes if path.endswith(("renderD128", "renderD136")))
    minors = [str(int(nodes[path][0].split(":")[1], 16)) for path in (given, other)]
    script = f"mknod -m 666 /tmp/given c 4 {minors[0]}; mknod -m 666 /tmp/other c 4 {minors[1]}; {OPEN}"
    done = bed.docker(
        "run", "--rm", f"--device={given}", f"--group-add={nodes[given][1]}", small_image,
        "sh", "-c", script, "sh", given, other, "/tmp/given", "/tmp/other",
    )  # fmt: skip
    assert done.stdout.split() == [given, "/tmp/given"], "by number, under whatever name; the other one is denied"


def test_container_sees_the_hosts_sysfs(bed: TestBed, small_image: str) -> None:
    listed = "cd /sys/class/kfd/kfd/topology/nodes && grep -l '^gfx_target_version 90402$' */properties | wc -l"
    assert bed.docker("run", "--rm", small_image, "sh", "-c", listed).stdout.strip() == "4"
    written = "echo 1 > /sys/class/kfd/kfd/topology/nodes/2/gpu_id || echo 0 > /sys/devices/system/cpu/cpu1/online"
    assert bed.docker("run", "--rm", small_image, "sh", "-c", written).returncode != 0


def test_no_other_engine_is_within_reach(bed: TestBed) -> None:
    sockets = bed.run("sh", "-c", "find /run -name '*.sock' -user root", as_root=True).stdout.split()
    own = {f"{Bed('test').run}/docker.sock", "/run/docker.sock"}
    assert own <= set(sockets)
    assert all(path in own or path.startswith("/run/docker/") for path in sockets)


def test_nothing_shows_outside(engine_host: str) -> None:
    """Neither mounts nor nodes of the bed are in the machine's own view."""
    assert "bed" not in {line.split()[0] for line in Path("/proc/self/mounts").read_text().splitlines()}
    for path in ("/dev/kfd", "/dev/dri/renderD136"):
        if Path(path).exists():  # a machine with a GPU has its own
            assert os.major(Path(path).stat().st_rdev) != 4
            assert stat.S_ISCHR(Path(path).stat().st_mode)
