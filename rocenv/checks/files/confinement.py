"""How a container is confined: more rights than a GPU needs, and shared memory that is too small or asked for twice."""

from __future__ import annotations

from collections.abc import Iterator

from rocenv.checks.catalogue import info, warn
from rocenv.checks.files.asked import DRI, Container, source
from rocenv.checks.files.lints import Given, lint
from rocenv.model.check import Finding

_SHM = "/dev/shm"  # noqa: S108 (a container's own)


@lint(
    "privileged",
    severity="warn",
    title="no GPU needs --privileged",
    why="it passes every device, turns seccomp and SELinux off, and hides a missing GPU: the container starts anyway",
    source="ROCm/ROCm-docker#107, rocm-docs docker-containers",
)
def privileged(asked: Container, _: Given) -> Iterator[Finding]:
    """`privileged`, which a GPU does not need."""
    if asked.privileged is None:
        return
    named = "`--privileged`" if asked.kind == "argv" else "`privileged: true`"
    yield warn(
        f"{asked.privileged.where}: {asked.name} is privileged",
        "it gives every device and takes all confinement away; a GPU needs /dev/kfd, render nodes and their groups",
        f"remove {named}; pass `{asked.device('/dev/kfd')}`, `{asked.device(DRI)}` and the groups that own them",
    )


@lint(
    "seccomp",
    severity="info",
    title="the default seccomp profile does for ROCm",
    why="AMD's pages turn it off for NUMA calls; ROCm tolerates their refusal, and SYS_NICE allows them",
    source="ROCm/ROCm#2067, moby's default profile",
)
def seccomp(asked: Container, _: Given) -> Iterator[Finding]:
    """seccomp=unconfined, which ROCm does not need."""
    for word in asked.security:
        if word.text.replace(":", "=").replace(" ", "") == "seccomp=unconfined":
            yield info(
                f"{word.where}: {asked.name} turns seccomp off",
                "ROCm runs under the default profile; for NUMA placement `SYS_NICE` among the capabilities is enough",
            )


@lint(
    "shm",
    severity="warn",
    title="shared memory is large enough, and asked for once",
    why="the engine's 64 MiB stop data loaders and RCCL between GPUs; with the host's IPC a size means nothing",
    source="vllm-project/vllm#1710, pytorch/pytorch#40632",
)
def shm(asked: Container, given: Given) -> Iterator[Finding]:
    """A size beside the host's IPC, or the engine's 64 MiB for several GPUs."""
    size, ipc = asked.shm_size, asked.ipc
    keys = ("--ipc=host", "--shm-size") if asked.kind == "argv" else ("ipc: host", "shm_size")
    if size is not None and ipc is not None and ipc.text == "host":
        yield info(
            f"{size.where}: {asked.name} has `{keys[1]}` {size.text} and `{keys[0]}`",
            "with the host's IPC the container has the host's /dev/shm, whatever size is asked for; the size alone, "
            f"without `{keys[0]}`, keeps IPC private",
        )
    shared = ipc is not None and ipc.text != "private"
    mounted = any(one.text.split(":")[1:2] == [_SHM] for one in asked.mounts)
    if size is None and not shared and not mounted and _several(asked, given):
        written = "--shm-size=16g" if asked.kind == "argv" else "shm_size: 16g"
        yield warn(
            f"{asked.where}: {asked.name} gets several GPUs and the engine's /dev/shm of 64 MiB",
            "data loaders and RCCL between GPUs stop or hang there",
            f"add `{written}`",
        )


def _several(asked: Container, given: Given) -> bool:
    if not asked.about_rocm or asked.partial:
        return False
    renders = {path for path in asked.sources if path.startswith(f"{DRI}/renderD")}
    whole = any(path.rstrip("/") == DRI for path in asked.sources)
    return len(renders) > 1 or (whole and given.host is not None and len(given.host.gpus) > 1)


@lint(
    "host-rocm",
    severity="warn",
    title="the host's ROCm is not mounted over the image's",
    why="libraries of two releases mix then: undefined symbols, missing kernels, or the wrong results",
    source="ROCm/spur#779, apptainer/apptainer#2606",
)
def host_rocm(asked: Container, _: Given) -> Iterator[Finding]:
    """A mount of /opt/rocm*, but for the one library that WSL2 needs."""
    for word in asked.mounts:
        path = source(word)
        if path.startswith("/opt/rocm") and "librocdxg" not in path and "libhsa-runtime64" not in path:
            yield warn(
                f"{word.where}: {asked.name} mounts `{word.text}`",
                "the image brings its own ROCm, and the host's driver is all that it needs from there",
                "remove the mount",
            )
