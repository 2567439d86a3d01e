"""Hosts of a few words, made as facts directly, and profiles and requests to plan with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocenv.model.host import Allocation, Caller, DeviceNode, Driver, Gpu, Host, OsRelease, Partition
from rocenv.model.plan import EngineFacts, Plan
from rocenv.model.wish import BuildWish, ImageWish, Profile, SmokeWish
from rocenv.plan import Request, make_plan

CALLER = Caller(1000, 1000, (27, 44, 109, 1000))
DOCKER = EngineFacts("docker", assumed=True)
ROOTLESS_DOCKER = EngineFacts(
    "docker", rootless=True, gid_map=((0, 1000, 1), (1, 100000, 65536), (65537, 109, 1)), server_version="28.2"
)
CRUN = EngineFacts("podman", rootless=True, runtime="crun", server_version="5.4")
RUNC = EngineFacts("podman", rootless=True, runtime="runc", gid_map=((0, 1000, 1), (1, 100000, 65536), (65537, 109, 1)))
PODMAN = EngineFacts("podman", server_version="5.4")
REQUEST = Request("demo", "/home/u/demo", home="/home/u")


def gpu(index: int, gfx: str | None = "gfx942", **facts: Any) -> Gpu:
    """A GPU whose names follow from its index: render node 128 + index, bus 10 + index, unique id 1 + index."""
    made = Gpu(
        index=index,
        kfd_node=index + 1,
        kfd_gpu_id=1000 + index,
        bdf=f"0000:{0x10 + index:02x}:00.0",
        location_id=(0x10 + index) << 8,
        pci_id="1002:74a1",
        gfx=gfx,
        gfx_source="gfx_target_version",
        marketing_name=None,
        product_name=None,
        kind="dgpu",
        vram_bytes=192 << 30,
        card_vram_bytes=192 << 30,
        gtt_bytes=None,
        kfd_bank_bytes=None,
        compute_units=304,
        num_xcc=8,
        render_node=f"/dev/dri/renderD{128 + index}",
        render_node_exists=True,
        card_node=f"/dev/dri/card{index}",
        unique_id=f"{index + 1:016x}",
        partition=Partition("SPX", "NPS1", 0, 1),
        numa_node=0,
        kfd_cpu_node=0,
        can_open_kfd=True,
        can_open_render=True,
    )
    return made._replace(**facts)


def node(path: str, gid: int = 109, mode: int = 0o660, **facts: Any) -> DeviceNode:
    """A device node of root's that the caller can open, unless told otherwise."""
    minor = int(path.rpartition("renderD")[2]) if "renderD" in path else 0
    return DeviceNode(path, 226, minor, mode, 0, gid, "render", accessible=True)._replace(**facts)


def host(
    gpus: Sequence[Gpu] = (),
    *,
    devices: Sequence[DeviceNode] | None = None,
    driver: Driver | None = None,
    visible: Mapping[str, str] | None = None,
    **facts: Any,
) -> Host:
    """A bare-metal host with these GPUs, their nodes in group 109, the 30.30.4 driver and 256 GiB of RAM."""
    renders = [node(one.render_node) for one in gpus if one.render_node]
    made = Host(
        name="made",
        environment="bare-metal",
        caller=CALLER,
        os=OsRelease("ubuntu", "24.04", "Ubuntu 24.04"),
        kernel="6.8.0-60-generic",
        machine="x86_64",
        driver=driver or Driver(loaded=True, version="6.16.13", origin="dkms", release="30.30.4"),
        kfd_sysfs=True,
        devices=tuple([node("/dev/kfd"), *renders] if devices is None else devices),
        rocm_default=None,
        rocm_installed=(),
        group_render=109,
        group_video=44,
        gpus=tuple(gpus),
        unusable=(),
        other_displays=(),
        masked_nodes=(),
        broken_nodes=(),
        memory_bytes=256 << 30,
        numa_nodes=1,
        selinux=None,
        cgroup_version=2,
        user_namespace=False,
        virtualization=None,
        allocation=Allocation(None, None, tuple((visible or {}).items())) if visible else None,
    )
    return made._replace(**facts)


def profile(**wishes: Any) -> Profile:
    """The built-in pytorch profile in essence, with what a test wishes laid over it."""
    made = Profile(
        name="pytorch",
        summary="",
        image=ImageWish(family="rocm/pytorch"),
        build=BuildWish(),
        gpus="auto",
        visible="rocr",
        env={},
        mounts=(),
        caches=("home", "miopen", "hf"),
        ports=(),
        user="caller",
        shm_size=None,
        loosen=(),
        smoke=SmokeWish("framework"),
        strict=False,
        origins={"image.reference": "--image"},
    )
    return made._replace(**wishes)


def plan(where: Host, *, engine: EngineFacts = DOCKER, request: Request = REQUEST, **wishes: Any) -> Plan:
    """The plan of the pytorch profile with these wishes."""
    return make_plan(profile(**wishes), where, engine, request)


def why(made: Plan, choice: str) -> str:
    """All that a plan says about one choice."""
    return " | ".join(f"{one.value}: {one.why}" for one in made.reasons if one.choice == choice)
