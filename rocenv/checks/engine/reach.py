"""Whether an engine answers, and whether its containers run on this host's kernel."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.model.health import EngineHealth
from rocenv.rules.engines import BACK, DESKTOP, SOCKET_GROUP, START, other_kernel

_SNAP = ("/snap/", "/var/snap/")
_CONNECTING = {
    "ENOENT": "no daemon runs: its socket is not there",
    "ECONNREFUSED": "the socket is there and nobody listens: the daemon stopped or crashed",
}
_UNREACHED = "the engine cannot be reached there"


@check(
    id="engine.socket",
    layer="engine",
    severity="fail",
    title="the engine answers",
    reads="connect() to the engine's socket, the words of its client",
    why="'permission denied', 'no such file' and 'connection refused' are three faults with three remedies",
    source="YanWenKun/ComfyUI-Docker#164",
)
def socket(facts: Facts) -> Answer:
    """Each errno on its own; never by sudo, which changes the context and HOME."""
    health = facts.need_engine_health()
    place = (health.endpoint or "its socket").removeprefix("unix://")
    verify = f"{health.kind} info"
    evidence = f"connect({place}): {health.socket}"
    if health.socket in ("EACCES", "EPERM"):
        fix = SOCKET_GROUP.format(user=(facts.health.user if facts.health else None) or "$USER")
        return fail(evidence, "this user may not use the socket", fix, needs="login", verify=verify)
    if health.socket is not None:
        return fail(evidence, _CONNECTING.get(health.socket, _UNREACHED), _start(health), verify=verify)
    if health.said is not None:
        return fail(health.said, "the engine does not answer", health.hint or f"`{verify}` says why", verify=verify)
    engine = facts.need_engine()
    return ok(f"{engine.kind} {engine.server_version or ''} at {engine.endpoint or place}")


def _start(health: EngineHealth) -> str:
    chosen = health.endpoint is not None and health.endpoint != "unix:///var/run/docker.sock"
    if health.kind == "podman":
        return "`systemctl --user start podman.socket`"
    return BACK if chosen else START


@check(
    id="engine.desktop",
    layer="engine",
    severity="fail",
    title="the engine is not Docker Desktop",
    reads="the docker context, `docker info`: OperatingSystem, Name",
    why="Docker Desktop runs containers in a virtual machine without /dev/kfd, also on Linux, also beside docker-ce",
    source="ROCm/container-toolkit#86; legacy-rocm-build#1893",
    after=("engine.socket",),
)
def desktop(facts: Facts) -> Answer:
    """By context, by name, or by what it calls its system."""
    engine, health = facts.need_engine(), facts.engine_health
    context = health.context if health else None
    if not engine.desktop and context != "desktop-linux" and "/.docker/desktop/" not in (engine.endpoint or ""):
        return ok(engine.operating_system or "the engine's system has no name")
    seen = f"context {context}" if context else f"at {engine.endpoint}"
    return fail(
        f"{engine.operating_system or 'its system has no name'}, {seen}",
        DESKTOP,
        "`docker context use default` (with Docker Engine installed beside it)",
        verify="docker info --format '{{.OperatingSystem}} {{.KernelVersion}}'",
    )


@check(
    id="engine.remote",
    layer="engine",
    severity="warn",
    title="the engine is this machine's",
    reads="DOCKER_HOST, CONTAINER_HOST, the context's endpoint",
    why="the GPUs that are read here are not those of the machine where a remote engine's containers run",
    source="microsoft/vscode-remote-release#10307",
    after=("engine.socket",),
)
def remote(facts: Facts) -> Answer:
    """Another machine is examined there, not from here."""
    engine, health = facts.need_engine(), facts.engine_health
    if not engine.remote:
        return ok(engine.endpoint or "a local engine")
    name = (health.name if health else None) or "another machine"
    return warn(
        f"{engine.endpoint or 'a remote service'}: {name}, kernel {engine.kernel or 'unknown'}",
        f"containers run on {name}, and what is read here is this machine: no GPU flag of here is right there",
        f"run `rocenv doctor` on {name}; {BACK}",
    )


@check(
    id="engine.same-kernel",
    layer="engine",
    severity="fail",
    title="containers run on this host's kernel",
    reads="`docker info`: KernelVersion, against uname",
    why="a local socket may lead into a virtual machine: Docker Desktop, colima, Rancher Desktop, podman machine",
    source="ROCm/ROCm-docker#107; containers/ramalama#570",
    after=("engine.socket", "engine.desktop"),
)
def same_kernel(facts: Facts) -> Answer:
    """Two releases that differ; on another system than Linux containers never run on the host's kernel."""
    host, engine = facts.need_host(), facts.need_engine()
    system = facts.health.system if facts.health else "Linux"
    if system != "Linux":
        return fail(
            f"this is {system}, the engine's kernel is {engine.kernel or 'unknown'}",
            f"containers run in a virtual machine on {system}, which has no AMD GPU for ROCm",
            "work on a Linux host with an AMD GPU",
        )
    other = other_kernel(engine, host)
    if other is not None and engine.remote:
        return skip(f"the engine is on another machine, kernel {engine.kernel} (`engine.remote`)")
    if other is not None:
        return fail(
            f"the engine: {engine.kernel}, uname: {host.kernel}",
            other,
            BACK,
            verify="docker info --format '{{.KernelVersion}}'; uname -r",
        )
    if not (host.kernel and engine.kernel):
        return skip("one of the two kernels is unknown")
    return ok(f"{engine.kernel} both")


@check(
    id="engine.snap",
    layer="engine",
    severity="warn",
    title="docker does not come from a snap",
    reads="where `docker` leads, `docker info`: DockerRootDir",
    why="a snap sees a /dev, /tmp and library folders of its own: devices and mounts fail in odd ways",
    source="docker-archive/docker-snap#23; odysseus-dev/odysseus#5259",
)
def snap(facts: Facts) -> Answer:
    """By the client's path or the daemon's data."""
    health = facts.need_engine_health()
    root = facts.engine.data_root if facts.engine else None
    seen = [place for place in (health.program, root) if place and place.startswith(_SNAP)]
    if not seen:
        return ok(health.program or root or "no snap is in sight")
    return warn(
        seen[0],
        "this docker is confined by snap: its /dev, /tmp and libraries are not the host's",
        "`sudo snap remove docker`, then install docker-ce or docker.io",
        needs="container",
        verify="readlink -f $(which docker)",
    )


@check(
    id="engine.podman-shim",
    layer="engine",
    severity="info",
    title="whether `docker` is podman",
    reads="where `docker` leads, what its info looks like",
    why="flags differ: keep-groups is podman's alone, and docker takes it for a group's name",
    source="lamikr/rocm_sdk_builder#247",
)
def shim(facts: Facts) -> Answer:
    """Told, for rocenv speaks to it as podman."""
    health = facts.need_engine_health()
    if health.podman_shim:
        return info(f"{health.program or 'docker'} is podman", "rocenv treats it as podman")
    return ok(f"{health.program or health.kind} is {health.kind}")
