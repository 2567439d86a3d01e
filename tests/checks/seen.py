"""Facts for checks, made in a few words: a host with a GPU that is well, and what a case changes of it."""

from __future__ import annotations

from typing import Any

from plan.made import gpu, host, node

from rocenv.checks.facts import Facts
from rocenv.checks.run import run
from rocenv.model.check import Finding
from rocenv.model.health import Asked, EngineHealth, Health, ImageView, Opening
from rocenv.model.host import Driver, Host
from rocenv.model.plan import EngineFacts

KFD, RENDER = "/dev/kfd", "/dev/dri/renderD128"
IN_TREE = Driver(loaded=True, version=None, origin="in-tree")
NO_DRIVER = Driver(loaded=False, version=None, origin=None)
WELL = host([gpu(0)])
TWO = host([gpu(0), gpu(1)], numa_nodes=2)
WSL = host(environment="wsl2", driver=NO_DRIVER, kfd_sysfs=False, devices=[node("/dev/dxg", 0, 0o666)])
CONTAINER = host([gpu(0)], environment="container", virtualization="docker")
HEALTH = Health(user="u", opens=(Opening(KFD, None), Opening(RENDER, None)), cmdline="quiet", kernel_log=(), iommus=0)
DOCKER = EngineFacts(
    "docker", server_version="28.2", endpoint="unix:///var/run/docker.sock", kernel="6.8.0-60-generic", runtime="runc",
    operating_system="Ubuntu 24.04", data_root="/var/lib/docker",
)  # fmt: skip
ROOTLESS = EngineFacts("docker", rootless=True, server_version="28.2", gid_map=((0, 1000, 1), (1, 100000, 65536)))
ENGINE = EngineHealth("docker", program="/usr/bin/docker", endpoint="unix:///var/run/docker.sock")
IMAGE = ImageView("rocm/pytorch:rocm7.2", state="found", machines=("amd64",), rocm="7.2", gfx=("gfx942",))


def facts(**changed: Any) -> Facts:
    """Facts of a host that is well, an engine that answers, and an image that fits; a case changes what it is about."""
    given: dict[str, Any] = {
        "host": WELL, "health": HEALTH, "engine": DOCKER, "engine_health": ENGINE, "image": IMAGE, "env": {},
    }  # fmt: skip
    return Facts(**{**given, **changed})


def health(**changed: Any) -> Health:
    """A host's health with this changed."""
    return HEALTH._replace(**changed)


def image(**changed: Any) -> ImageView:
    """An image that fits, with this changed."""
    return IMAGE._replace(**changed)


def engine(**changed: Any) -> EngineHealth:
    """An engine's health with this changed."""
    return ENGINE._replace(**changed)


def asked(**wishes: Any) -> Asked:
    """What is wanted."""
    return Asked(**wishes)


def found(check: str, given: Facts) -> Finding:
    """The one finding of a check."""
    mine = [one for one in run(given, only=[check]) if one.check == check]
    assert len(mine) == 1, mine
    return mine[0]


def refused(path: str, gid: int, mode: int = 0o660, group: str | None = "render") -> Host:
    """A host whose caller, in none of its groups, may not open one node, nor the other."""
    nodes = [
        node(one, gid, mode, group=group, accessible=False, refused_by="EACCES") if one == path else node(one, 44)
        for one in (KFD, RENDER)
    ]
    return host([gpu(0)], devices=nodes)
