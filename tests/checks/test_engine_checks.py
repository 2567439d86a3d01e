"""Checks of the engine: each verdict by facts that give it."""

from __future__ import annotations

from typing import Any

import pytest
from checks.seen import DOCKER, ROOTLESS, TWO, WELL, asked, engine, facts, found, health, image
from plan.made import gpu, host, node

from rocenv.model.health import CdiNode, CdiSpec, OwnContainer, Store, SubIds
from rocenv.model.plan import EngineFacts

GIB = 1 << 30
IDS = (SubIds(1, 9),)
CRUN = EngineFacts("podman", rootless=True, runtime="crun", server_version="5.4")
DOWN: dict[str, Any] = {"engine": None}
REMOTE = DOCKER._replace(remote=True, endpoint="ssh://u@gpu-box", kernel="6.1.0")


def cdi(path: str, major: int | None = None, minor: int | None = None, file: str = "/etc/cdi/amd.json") -> CdiSpec:
    return CdiSpec(file, "amd.com/gpu", {"0": (CdiNode(path, major, minor),)})


def made(node: CdiNode) -> tuple[OwnContainer, ...]:
    return (OwnContainer("a", running=True, devices=(node,)),)


def room(**sizes: Any) -> dict[str, Any]:
    return {"engine_health": engine(**sizes), "image": None}


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("engine.socket", {}, "ok", "docker 28.2"),
    ("engine.socket", {**DOWN, "engine_health": engine(socket="EACCES")}, "fail", "usermod -aG docker u"),
    ("engine.socket", {**DOWN, "engine_health": engine(socket="ENOENT")}, "fail", "sudo systemctl start docker"),
    ("engine.socket", {**DOWN, "engine_health": engine(socket="ECONNREFUSED")}, "fail", "nobody listens"),
    ("engine.socket", {**DOWN, "engine_health": engine(socket="ENOENT", endpoint="unix:///run/user/1/d.sock")}, "fail",
     "unset DOCKER_HOST"),
    ("engine.socket", {**DOWN, "engine_health": engine(socket="ETIMEDOUT")}, "fail", "cannot be reached"),
    ("engine.socket", {**DOWN, "engine_health": engine(said="it is not well", hint="mend it")}, "fail", "mend it"),
    ("engine.socket", {**DOWN, "engine_health": None}, "skip", "no engine"),
    ("engine.desktop", {}, "ok", "Ubuntu"),
    ("engine.desktop", {"engine": DOCKER._replace(desktop=True, operating_system="Docker Desktop")}, "fail",
     "docker context use default"),
    ("engine.desktop", {"engine_health": engine(context="desktop-linux")}, "fail", "virtual machine"),
    ("engine.remote", {}, "ok", "unix:///var/run/docker.sock"),
    ("engine.remote", {"engine": REMOTE, "engine_health": engine(name="gpu-box")}, "warn", "rocenv doctor` on gpu-box"),
    ("engine.same-kernel", {}, "ok", "both"),
    ("engine.same-kernel", {"engine": DOCKER._replace(kernel="6.10.14-linuxkit")}, "fail", "linuxkit"),
    ("engine.same-kernel", {"engine": REMOTE}, "skip", "another machine"),
    ("engine.same-kernel", {"health": health(system="Darwin")}, "fail", "work on a Linux host"),
    ("engine.same-kernel", {"engine": DOCKER._replace(kernel=None)}, "skip", "unknown"),
    ("engine.snap", {}, "ok", "/usr/bin/docker"),
    ("engine.snap", {"engine_health": engine(program="/snap/bin/docker")}, "warn", "sudo snap remove docker"),
    ("engine.snap", {"engine": DOCKER._replace(data_root="/var/snap/docker/common/x")}, "warn", "/var/snap"),
    ("engine.podman-shim", {}, "ok", "is docker"),
    ("engine.podman-shim", {"engine_health": engine(podman_shim=True)}, "info", "is podman"),
    ("engine.oci-runtime", {}, "ok", "runc serves"),
    ("engine.oci-runtime", {"engine": CRUN}, "ok", "crun"),
    ("engine.oci-runtime", {"engine": CRUN._replace(runtime="runc")}, "warn", "apt-get install crun"),
    ("engine.subids", {}, "skip", "not rootless"),
    ("engine.subids", {"engine": CRUN, "health": health(subuid=IDS, subgid=IDS)}, "ok", "9 ids"),
    ("engine.subids", {"engine": CRUN, "health": health(subuid=(), subgid=IDS)}, "fail", "--add-subuids"),
    ("engine.subids", {"engine": CRUN}, "skip", "could not be read"),
    ("engine.subset-isolation", {}, "skip", "all GPUs"),
    ("engine.subset-isolation", {"host": TWO, "asked": asked(gpus="0")}, "ok", "device cgroup holds"),
    ("engine.subset-isolation", {"host": TWO, "asked": asked(gpus="0"), "engine": ROOTLESS}, "warn", "ROCR_VISIBLE"),
    ("engine.subset-isolation", {"host": TWO, "asked": asked(gpus="0", strict=True), "engine": ROOTLESS}, "fail",
     "cannot be isolated"),
    ("engine.subset-isolation", {"host": host([gpu(0), gpu(1, "gfx1036", kind="apu")]), "engine": ROOTLESS}, "warn",
     "`auto` of 2"),
    ("engine.cdi-fresh", {}, "skip", "nothing here needs"),
    ("engine.cdi-fresh", {"health": health(cdi=(cdi("/dev/dri/renderD128", 226, 128),))}, "ok", "/etc/cdi/amd.json: 0"),
    ("engine.cdi-fresh", {"health": health(cdi=(cdi("/dev/dri/renderD130"),))}, "warn", "is not there"),
    ("engine.cdi-fresh", {"health": health(cdi=(cdi("/dev/kfd", 235, 0),), kfd_number=(511, 0))}, "warn",
     "511:0, not 235:0"),
    ("engine.cdi-fresh", {"health": health(cdi=(cdi("/dev/dri/renderD130", file="/home/u/.config/cdi/a.json"),))},
     "warn", "`rocenv cdi generate --output=/home/u/.config/cdi/a.json`"),
    ("engine.cdi-fresh", {"health": health(cdi=(CdiSpec("/etc/cdi/a.json", None, problem="no JSON"),))}, "warn",
     "no JSON"),
    ("engine.cdi-fresh", {"health": health(cdi=(cdi("/dev/dri/renderD128"), cdi("/dev/dri/renderD128",
     file="/etc/cdi/b.json")))}, "warn", "/etc/cdi/amd.json and /etc/cdi/b.json: both give amd.com/gpu=0"),
    ("engine.cdi-fresh", {"health": health(cdi=(cdi("/dev/dri/renderD128"), cdi("/dev/dri/renderD128",
     file="/var/run/cdi/amd.json")))}, "ok", "/var/run/cdi/amd.json"),
    ("container.devnum", {}, "skip", "not asked"),
    ("container.devnum", {"engine_health": engine(containers=())}, "ok", "no environment"),
    ("container.devnum", {"engine_health": engine(containers=made(CdiNode("/dev/kfd", 226, 0)))}, "ok", "1 env"),
    ("container.devnum", {"engine_health": engine(containers=made(CdiNode("/dev/kfd", 9, 0)))}, "warn", "restart a"),
    ("container.devnum", {"engine_health": engine(containers=made(CdiNode("/dev/dri/renderD199")))}, "warn",
     "docker rm -f a`, then `rocenv up`"),
    ("engine.amd-runtime", {}, "info", "no runtime amd"),
    ("engine.amd-runtime", {"engine": DOCKER._replace(runtimes=("amd", "runc")), "engine_health": engine(
        cdi_devices=("amd.com/gpu=0", "nvidia.com/gpu=0"))}, "info", "runtime amd, CDI devices: amd.com/gpu=0"),
    ("engine.disk", {}, "skip", "not on this host"),
    ("engine.disk", room(free_bytes=500 * GIB), "ok", "500 GiB free"),
    ("engine.disk", room(free_bytes=20 * GIB), "warn", "60 GiB"),
    ("engine.disk", room(free_bytes=1 * GIB), "fail", "docker system prune"),
    ("engine.disk", {"engine": CRUN, **room(free_bytes=1 * GIB, kind="podman")}, "fail", "podman system prune"),
    ("engine.disk", {"engine_health": engine(free_bytes=500 * GIB), "image": image()}, "ok", "500 GiB free"),
    ("engine.disk", {"engine_health": engine(free_bytes=25 * GIB), "image": image(compressed_bytes=11 * GIB)}, "fail",
     "33 GiB"),
    ("engine.disk", {"engine_health": engine(free_bytes=40 * GIB), "image": image(compressed_bytes=11 * GIB)}, "ok",
     "33 GiB"),
    ("engine.disk", {"engine_health": engine(free_bytes=1 * GIB), "image": image(state="local")}, "ok", "here already"),
    ("engine.inodes", {}, "skip", "no inodes"),
    ("engine.inodes", room(free_inodes=9_000_000), "ok", "9000000"),
    ("engine.inodes", room(free_inodes=100_000), "warn", "as many files"),
    ("engine.inodes", room(free_inodes=2000), "fail", "no inode for each"),
    ("engine.inodes", {"engine": CRUN, **room(free_inodes=2000, kind="podman")}, "fail", "podman system prune"),
    ("engine.inodes", {"engine_health": engine(free_inodes=200_000), "image": image(inodes=400_000)}, "fail", "400000"),
    ("engine.second-store", {}, "ok", "no store"),
    ("engine.second-store", {"engine_health": engine(stores=(Store("/var/lib/docker", "docker"),))}, "ok", "docker"),
    ("engine.second-store", {"engine_health": engine(stores=(
        Store("/var/lib/docker", "docker"), Store("/home/u/.local/share/docker", "docker", 90 * GIB)))}, "warn",
     "du -sh /home/u/.local/share/docker"),
    ("engine.second-store", {"engine_health": engine(stores=(
        Store("/var/lib/docker", "docker"), Store("/var/lib/containers/storage", "podman")))}, "ok", "podman"),
    ("engine.second-store", {"engine_health": engine(stores=(
        Store("/var/lib/docker", "docker", holds=True), Store("/x", "docker", holds=False)))}, "ok", "/x"),
    ("engine.second-store", {"engine_health": engine(stores=(
        Store("/var/lib/docker", "docker", holds=True), Store("/x", "docker", holds=True)))}, "warn", "du -sh /x"),
    ("engine.second-store", {"engine_health": engine(stores=(
        Store("/var/lib/docker", "docker", holds=True), Store("/x", "docker")))}, "info", "may not be read"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "given", "verdict", "words"), CASES)
def test_a_check_of_the_engine(check: str, given: dict[str, Any], verdict: str, words: str) -> None:
    finding = found(check, facts(**given))
    assert finding.verdict == verdict, finding
    assert words in " ".join(filter(None, (finding.evidence, finding.cause, finding.fix))), finding


def test_sudo_is_no_remedy_for_a_closed_socket() -> None:
    fix = found("engine.socket", facts(engine=None, engine_health=engine(socket="EACCES"))).fix or ""
    assert "sudo docker" not in fix
    assert "with `sudo`" not in fix


def test_an_engine_that_does_not_answer_silences_what_would_ask_it() -> None:
    given = facts(engine=None, engine_health=engine(socket="ENOENT"))
    assert found("engine.same-kernel", given).evidence == "because engine.socket failed"


def test_a_node_that_is_none_of_the_gpus_is_not_looked_at() -> None:
    spec = cdi("/dev/dri/card7", 226, 7)
    assert found("engine.cdi-fresh", facts(host=WELL, health=health(cdi=(spec,)))).verdict == "ok"
    assert node("/dev/kfd").major == 226  # what the numbers above are compared with
