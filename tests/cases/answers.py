"""A case's state beside its host: what the engine, the image, Python and HIP answer, as the doctor takes it."""

from __future__ import annotations

import json

from cases.state import State, groups

from rocenv.engine.facts import docker_facts, podman_facts
from rocenv.engine.resolve import arch_list, view
from rocenv.host.modules import dkms_status
from rocenv.model.health import ClusterNode, EngineHealth, Health, ImageView, Smoke, Store
from rocenv.model.host import Driver, Host
from rocenv.model.plan import EngineFacts


def engine(state: State) -> EngineFacts:
    """The facts of a case's engine; of what it leaves out, those of a usual one of its kind."""
    told = state.get("engine", {})
    kind = "podman" if "podman" in told.get("name", "") else "docker"
    answers = told.get("answers", {})
    info = next((text for words, text in answers.items() if " info" in words), None)
    if info is not None and kind == "docker":
        endpoint = state.get("env", {}).get("DOCKER_HOST", "unix:///var/run/docker.sock")
        context = answers.get("docker context show", "default")
        said = {"ServerVersion": "27.5.1", "ClientInfo": {"Context": context}, **json.loads(info)}
        return docker_facts(json.dumps(said), "", endpoint)
    if info is not None:
        return podman_facts(info, "")
    rootless = bool(told.get("rootless"))
    podman = kind == "podman"
    return EngineFacts(
        kind,
        rootless=rootless,
        server_version=str(told.get("version", "5.4.0" if podman else "27.5.1")),
        kernel=state.get("uname", "6.8.0-60-generic"),
        runtime=told.get("runtime", "crun" if podman else "runc"),
        security=tuple(name for name in ("selinux",) if told.get(name)),
        data_root=told.get("data_root"),
        gid_map=_gid_map(state) if rootless else (),
    )


def says_engine(state: State) -> bool:
    """True where a case says anything of an engine."""
    return any(key in state for key in ("engine", "stores", "statvfs"))


def engine_health(state: State) -> EngineHealth | None:
    """What else is known of a case's engine; None where it says nothing of one."""
    told = state.get("engine", {})
    sockets = state.get("socket", {})
    if not says_engine(state) and not sockets:
        return None
    space: State = next(iter(state.get("statvfs", {}).values()), {})
    gigabytes = space.get("free_gb")
    context = told.get("answers", {}).get("docker context show")
    return EngineHealth(
        kind=engine(state).kind,
        program=told.get("path", "/usr/bin/docker"),
        endpoint=state.get("env", {}).get("DOCKER_HOST") or (f"unix://{next(iter(sockets))}" if sockets else None),
        context=context,
        socket=next(iter(sockets.values()), None),
        name=next((json.loads(text).get("Name") for text in told.get("answers", {}).values() if text[:1] == "{"), None),
        free_bytes=None if gigabytes is None else gigabytes * 10**9,
        free_inodes=space.get("free_inodes"),
        stores=tuple(Store(path, "docker", size * 10**9) for path, size in state.get("stores", {}).items()),
    )


def host(state: State, read: Host) -> Host:
    """What was read of the capture, and what a case says of the driver by the name of its release alone."""
    if "driver_release" not in state:
        return read
    return read._replace(driver=Driver(loaded=True, version=None, origin="dkms", release=state["driver_release"]))


def health(state: State, read: Health) -> Health:
    """What was read of the capture, and what no file of it holds: the words of `dkms status`, another system."""
    if "dkms" in state:
        read = read._replace(dkms=dkms_status(state["dkms"]))
    return read._replace(system={"darwin": "Darwin"}.get(state.get("platform", ""), read.system))


def image(state: State, reference: str | None) -> ImageView | None:
    """A case's image: what the catalog knows of its reference, and what the case says that is in it."""
    told = state.get("image", {})
    reference = told.get("ref", reference)
    if reference is None and not told:
        return None
    known = view(reference or "example/image:1", None, "x86_64")
    env = told.get("env", {})
    held = told.get("rocblas") or told.get("torch_archs") or arch_list(env.get("PYTORCH_ROCM_ARCH"))
    packed = told.get("compressed_gb")
    return known._replace(
        state="found",
        said=None,
        rocm=told.get("rocm", known.rocm),
        gfx=tuple(held) or known.gfx,
        gfx_source="the image" if held else known.gfx_source,
        compressed_bytes=None if packed is None else packed * 10**9,
        inodes=told.get("est_inodes"),
        user=str(told["user"]) if "user" in told else known.user,
        env=env,
        groups=groups(told["etc_group"]) if "etc_group" in told else known.groups,
        torch=told.get("torch"),
        hip=told.get("hip"),
        pythons=told.get("pythons", {}),
        programs=tuple(told["bins"]) if "bins" in told else None,
    )


def packages(state: State) -> dict[str, str] | None:
    """The Python distributions that a case names."""
    return state.get("pip") or state.get("python")


def smoke(state: State) -> Smoke | None:
    """What HIP answered."""
    told = state.get("smoke")
    if told is None:
        return None
    return Smoke(told.get("host"), told.get("container"), told.get("hipGetDeviceCount"))


def cluster(state: State) -> tuple[ClusterNode, ...] | None:
    """The nodes of a cluster."""
    if "nodes" in state:
        return tuple(ClusterNode(one["name"], (one["gid"],)) for one in state["nodes"])
    if "k8s_capacity" in state:
        return (ClusterNode("node", (), int(state["k8s_capacity"]["amd.com/gpu"]), state["kfd_gpu_nodes"]),)
    return None


def _gid_map(state: State) -> tuple[tuple[int, int, int], ...]:
    """The namespace that a user's /etc/subgid makes: the own gid, then the ranges in their order."""
    user = state.get("user", {})
    rows, inside = [(0, user.get("gid", user.get("uid", 1000)), 1)], 1
    for line in state.get("etc_subgid", "u:100000:65536").splitlines():
        _, start, count = line.split(":")
        rows.append((inside, int(start), int(count)))
        inside += int(count)
    return tuple(rows)
