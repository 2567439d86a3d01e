"""No false alarm: a capture of a host that is well gives no failure, and no warning but those that are true."""

from __future__ import annotations

import os

import pytest
from host.test_captures import ARCHIVES

from rocenv.checks.facts import Facts
from rocenv.checks.run import run
from rocenv.host import examine

# What each capture is known for: the failures of hosts that cannot, the true warnings of hosts that can.
FAILING = {
    "amd-gpu-bound-to-vfio": {"kfd.present"},
    "kfd-missing-kernel-without-hsa-amd": {"kfd.present"},
    "no-gpu-server": {"pci.gpu"},
    "pitcairn-not-supported-by-kfd": {"gpu.kfd-supported"},
    "rxvega-sysfs-drm-verbatim-no-kfd": {"kfd.present"},
}
WARNING = {
    "amd-gpu-bound-to-vfio": {"driver.bound"},
    "malformed-topology": {"kfd.topology", "render.topology-match"},
    "mi300x-8x-cpx-63of64part": {"gpu.partition"},
    "phoenix-780m-7840u": {"host.hazard"},  # a Ryzen APU on amdgpu-dkms, as the Strix Halo below
    "rx9070xt-plus-gfx1036-igpu": {"gpu.igpu-mix"},
    "strixhalo-8060s-dkms-nightly-no-versionfile": {"host.hazard"},
    "wsl2-rx7900xt": {"wsl.detect", "wsl.rocdxg-abi"},
}


def test_the_captures_are_there() -> None:
    if not ARCHIVES and not os.environ.get("CI"):
        pytest.skip("no captures (ROCENV_CAPTURES names their folder)")
    assert ARCHIVES


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_a_capture_gives_the_failures_and_warnings_that_are_true(archive: os.PathLike[str]) -> None:
    host, health = examine(os.fspath(archive))
    assert host.name is not None
    findings = run(Facts(host=host, health=health, env={}))
    assert {one.check for one in findings if one.verdict == "fail"} == FAILING.get(host.name, set())
    assert {one.check for one in findings if one.verdict == "warn"} == WARNING.get(host.name, set())
