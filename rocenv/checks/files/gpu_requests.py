"""GPUs asked for in NVIDIA's words: --gpus, reserved drivers, runtimes; what of it reaches an AMD GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocenv.checks.catalogue import fail, info, warn
from rocenv.checks.files.asked import DRI, Container, Word
from rocenv.checks.files.lints import Given, lint
from rocenv.model.check import Finding
from rocenv.model.plan import EngineFacts
from rocenv.rules.nodes import KFD

# Docker's and Podman's releases from which --gpus reaches AMD GPUs (ROCm/container-toolkit, running workloads).
_BY_RUNTIME, _BY_CDI, _PODMAN = (28, 3), (29, 3), (6, 0)


@lint(
    "gpus-flag",
    severity="fail",
    title="GPUs are asked for in a way that reaches AMD's",
    why="--gpus means NVIDIA's GPUs but on engines of 2026 with AMD's runtime or a CDI spec; elsewhere nothing starts",
    source="ROCm/ROCm-docker#152, ROCm/container-toolkit (running workloads)",
)
def gpus_flag(asked: Container, given: Given) -> Iterator[Finding]:
    """`--gpus` or `gpus:`, unless the engine is known to understand it."""
    word = asked.gpus
    if word is None or word.text in ("0", "none"):
        return
    said = f"--gpus {word.text}" if asked.kind == "argv" else f"gpus: {word.text}"
    evidence = f"{word.where}: {asked.name} asks for `{said}`"
    reach = _reach(given.engine)
    if reach is None:
        version = "" if given.engine is None else f", and this is {given.engine.kind} {given.engine.server_version}"
        yield fail(
            evidence + version,
            "that means NVIDIA's GPUs (`could not select device driver`) before Docker 28.3 with AMD's runtime, "
            "Docker 29.3 with a CDI spec, and Podman 6.0",
            _by_hand(asked),
        )
    else:
        yield info(evidence, f"this engine understands it {reach}; elsewhere it means NVIDIA's GPUs")


def _reach(engine: EngineFacts | None) -> str | None:
    """How an engine reaches AMD GPUs by --gpus, or None."""
    if engine is None:
        return None
    version = _version(engine.server_version)
    if engine.kind == "podman":
        return "with a CDI spec" if version >= _PODMAN else None
    if version >= _BY_CDI:
        return "with a CDI spec"
    return "by AMD's runtime" if version >= _BY_RUNTIME and "amd" in engine.runtimes else None


def _version(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]{1,6}", text or "")[:2])


def _by_hand(asked: Container) -> str:
    if asked.kind == "argv":
        return f"`{asked.device(KFD)} {asked.device(DRI)} --group-add=$(stat -c %g {KFD})` in its place"
    return f'write `devices: [{KFD}, {DRI}]` and `group_add: ["$GID"]` in its place, with the gid of {KFD}'.replace(
        '"$GID"', '"NUMBER"'
    )


@lint(
    "gpu-driver",
    severity="fail",
    title="reserved devices name a driver that exists",
    why="Docker has no driver `rocm`: only `cdi`, `nvidia`, and on new engines with AMD's runtime `amd`",
    source="facefusion/facefusion-docker#31, docker compose: reservations",
    kinds=("compose",),
)
def gpu_driver(asked: Container, given: Given) -> Iterator[Finding]:
    """`deploy.resources.reservations.devices` with a driver that does not reach an AMD GPU."""
    for word, ids in asked.drivers:
        if word.open or (word.text == "cdi" and not any(one.startswith("nvidia.com/") for one in ids)):
            continue
        if word.text == "amd" and (given.engine is None or "amd" in given.engine.runtimes):
            continue
        called = f"the driver `{word.text}`" if word.text else "a GPU without naming a driver"
        what = f'could not select device driver "{word.text}"'
        yield fail(
            f"{word.where}: {asked.name} reserves {called}",
            f"no engine has it for AMD GPUs (`{what}`): reserved devices are NVIDIA's or CDI's",
            f"remove the reservation and write `devices: [{KFD}, {DRI}]`; or `driver: cdi` with "
            "`device_ids: [amd.com/gpu=all]`, where AMD's CDI spec is installed",
        )


@lint(
    "runtime",
    severity="fail",
    title="the runtime is one that reaches AMD GPUs",
    why="the runtime `nvidia` is not there on AMD hosts; `amd` must be registered with the engine first",
    source="ROCm/container-toolkit (docker compose)",
)
def runtime(asked: Container, given: Given) -> Iterator[Finding]:
    """A runtime of NVIDIA's, or AMD's where it is not registered."""
    word = asked.runtime
    if word is None or word.open:
        return
    where = f"{word.where}: {asked.name} asks for the runtime `{word.text}`"
    if word.text.startswith("nvidia"):
        yield fail(where, "that is NVIDIA's: an AMD GPU needs no runtime of its own", _by_hand(asked))
    elif word.text == "amd" and given.engine is not None and "amd" not in given.engine.runtimes:
        yield fail(
            f"{where}, and the engine has {', '.join(given.engine.runtimes) or 'none by name'}",
            "AMD's runtime is not registered with this engine",
            "`sudo amd-ctk runtime configure --runtime=docker && sudo systemctl restart docker`",
        )


@lint(
    "nvidia-env",
    severity="warn",
    title="no variable of another vendor's runtime",
    why="NVIDIA_VISIBLE_DEVICES chooses nothing on AMD, and AMD_VISIBLE_DEVICES nothing without AMD's runtime",
    source="ROCm/container-toolkit, flags of rocm-docs",
)
def nvidia_env(asked: Container, _: Given) -> Iterator[Finding]:
    """Variables that nobody reads here."""
    for one in asked.variables:
        if one.name == "NVIDIA_VISIBLE_DEVICES" and asked.about_rocm and one.value not in ("none", "void", ""):
            yield warn(
                f"{one.where}: {asked.name} sets {one.name}",
                "only NVIDIA's runtime reads it: it chooses no AMD GPU",
                "remove it; devices choose GPUs, or `ROCR_VISIBLE_DEVICES` among those that are passed",
            )
        elif one.name == "AMD_VISIBLE_DEVICES" and not _amd(asked.runtime):
            yield warn(
                f"{one.where}: {asked.name} sets {one.name}",
                "only AMD's runtime reads it, and it is not asked for: it chooses nothing",
                "remove it and pass the render nodes that are meant; or ask for the runtime `amd`",
            )


def _amd(word: Word | None) -> bool:
    return word is not None and (word.text == "amd" or word.open)
