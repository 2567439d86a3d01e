"""No false alarm on described hosts: each one's failures and warnings are those that its description makes true."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts import builder

from rocenv.checks.facts import Facts
from rocenv.checks.run import run
from rocenv.host import examine

BAD = {
    "broken-topology": {"kfd.topology", "render.topology-match"},
    "container-without-node": {"render.topology-match"},
    "duplicated-node": {"render.topology-match"},
    "fedora-rootless": {"lsm.selinux", "kfd.access"},
    "kfd-refuses": {"gpu.kfd-supported"},
    "mi300x-cpx": {"gpu.partition"},  # 63 of 64: DRM has no more render nodes
    "no-driver": {"driver.loaded", "kfd.present"},
    "no-gpu": {"pci.gpu"},
    "no-kfd": {"kfd.present"},
    "rocm-cores": {"pci.gpu"},  # trees of ROCm alone
    "rocm-dangling": {"pci.gpu"},
    "rocm-side-by-side": {"pci.gpu"},
    "rx7900xtx": {"kfd.access", "render.access"},  # who runs is in no group
    "rx9070xt-igpu": {"gpu.igpu-mix"},
    "strix-halo": {"host.hazard"},  # kernel 6.8
    "vfio": {"driver.bound", "kfd.present"},
    "wsl2": {"wsl.detect", "wsl.rocdxg-abi"},
}
NAMES = sorted(path.stem for path in Path(builder.__file__).parent.glob("*.yaml") if path.stem != "models")


@pytest.mark.parametrize("name", NAMES)
def test_a_described_host_gives_what_is_true(name: str, tmp_path: Path) -> None:
    host, health = examine(str(builder.build(builder.describe(name), tmp_path / "host")))
    bad = {one.check for one in run(Facts(host=host, health=health, env={})) if one.verdict in ("fail", "warn")}
    assert bad == BAD.get(name, set())


def test_the_table_names_hosts() -> None:
    assert set(BAD) <= set(NAMES)
