"""The live reading of a described host's sysfs, laid over /sys in a mount namespace, against that of its capture."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocenv.host import read_host
from rocenv.report.host import host_json

Build = Callable[..., Path]
SYS = 'mount --make-rprivate / && mount --rbind "$1" /sys && shift && exec "$@"'
ROOTS = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="mounts need root")


def live(folder: Path) -> dict[str, Any]:
    """What `rocenv detect --json --links` says where the host's /sys is this machine's."""
    inside = [sys.executable, "-m", "rocenv", "detect", "--json", "--links"]
    argv = ["unshare", "-m", "sh", "-c", SYS, "-", str(folder / "root/sys"), *inside]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@ROOTS
@pytest.mark.parametrize(
    "name", ["mi300x-cpx", "rx9070xt-igpu", "broken-topology", "mi25-old-kernel", "vfio", "no-gpu"]
)
def test_live_and_captured_sysfs_give_one_answer(name: str, built: Build) -> None:
    folder = built(name, faults=[])
    found, captured = live(folder), host_json(read_host(str(folder)))
    for gpu in [*found["gpus"], *captured["gpus"]]:  # type: ignore[misc]
        gpu["access"] = gpu["render_node_exists"] = None  # the nodes in /dev are this machine's
    keys = ("gpus", "gpu_count", "masked_kfd_nodes", "amd_display_devices_without_usable_kfd_node")
    for key in (*keys, "other_vendor_display_devices", "driver"):
        assert found[key] == captured[key], key
    assert found["host"] is None
    if name != "broken-topology":  # its fault on reading is the capture's alone
        assert found["broken_kfd_nodes"] == captured["broken_kfd_nodes"]
    assert len(found["links"]) == len(found["gpus"])


def test_this_machine_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    host = read_host()
    assert host.live
    assert host.kernel == os.uname().release
    assert host.machine == os.uname().machine
    assert (host.caller.uid, host.caller.groups) == (os.geteuid(), tuple(os.getgroups()))
    with open("/proc/meminfo", encoding="ascii") as stream:
        assert host.memory_bytes == int(stream.readline().split()[1]) * 1024


def test_rocenv_host_names_a_capture(built: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = built("no-gpu")
    monkeypatch.setenv("ROCENV_HOST", str(folder))
    assert read_host().name == "no-gpu"
    assert read_host(str(built("vfio"))).name == "vfio", "what is asked for goes before the variable"
    monkeypatch.setenv("ROCENV_HOST", "")
    assert read_host().live
