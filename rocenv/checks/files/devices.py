"""Devices that are asked for: misspelt, not there, half of what is needed, mounted in place of passed, too many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocenv.checks.catalogue import fail, info, warn
from rocenv.checks.files.asked import DRI, Container, Word, is_cdi, source
from rocenv.checks.files.lints import Given, lint
from rocenv.model.check import Finding
from rocenv.model.host import Host
from rocenv.rules.nodes import KFD

_DXG = "/dev/dxg"
_GPU_PATH = re.compile(r"/dev/(kfd|dxg|dri(/(renderD|card)[0-9]+|/by-path/.+)?)/?")
_NUMBERED = re.compile(r"/dev/(?:dri/|drm/|dir/)?(render|card)[-_dD]*([0-9]+)", re.IGNORECASE)
# Real devices whose names are near to a GPU's.
_OTHERS = re.compile(r"/dev/(fd[0-9]*|dm-.*|kvm|kmsg|dsp|drbd.*)")
_NEAR = 0.85
_GONE = "error gathering device information while adding custom device"
_VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def meant(path: str) -> str | None:
    """The GPU's device that a path was probably meant to be; None for one that is right, or that is another's."""
    import difflib

    if not path.startswith("/"):
        return f"/{path}" if _GPU_PATH.fullmatch(f"/{path}") else None
    if _GPU_PATH.fullmatch(path) or _OTHERS.fullmatch(path):
        return None
    numbered = _NUMBERED.fullmatch(path)
    if numbered:
        return f"{DRI}/{'renderD' if numbered.group(1).lower() == 'render' else 'card'}{numbered.group(2)}"
    near = difflib.get_close_matches(path.lower(), (KFD, DRI, _DXG), n=1, cutoff=_NEAR)
    return near[0] if near else None


@lint(
    "device-exists",
    severity="fail",
    title="every device that is passed exists",
    why="the engine refuses to start a container whose device is not there; a misspelt path is easily overlooked",
    source="ROCm/rocm-install-on-linux#338, linuxserver/docker-kasm#57",
)
def device_exists(asked: Container, given: Given) -> Iterator[Finding]:
    """Misspelt paths wherever the file is read; missing ones where a host with GPUs is known."""
    for word in asked.devices:
        path = source(word)
        if word.open:
            continue
        if is_cdi(word.text):
            yield from _cdi(asked, word)
            continue
        right = meant(path)
        if right is not None:
            yield fail(
                f"{word.where}: {asked.name} passes `{path}`",
                f'there is no such device (`{_GONE} "{path}"`); did you mean `{right}`?',
                asked.in_place_of(path, right, "--device="),
            )
        elif given.host is not None and _GPU_PATH.fullmatch(path):
            yield from _missing(asked, word, given.host)


def _cdi(asked: Container, word: Word) -> Iterator[Finding]:
    if word.text.startswith("nvidia.com/"):
        yield fail(
            f"{word.where}: {asked.name} passes `{word.text}`",
            "that is an NVIDIA GPU's CDI device",
            f"{asked.in_place_of(word.text, 'amd.com/gpu=' + word.text.partition('=')[2], '--device=')}, "
            "with a spec by `sudo amd-ctk cdi generate --output=/etc/cdi/amd.json`",
        )


def _missing(asked: Container, word: Word, host: Host) -> Iterator[Finding]:
    path = source(word).rstrip("/")
    there = [device.path for device in host.devices]
    if path in there or "/by-path/" in path or (path == DRI and any(one.startswith(f"{DRI}/") for one in there)):
        return
    evidence = f"{word.where}: {asked.name} passes `{path}`, and this host has {_listed(there)}"
    if host.environment == "wsl2":
        yield fail(
            evidence,
            "WSL2 has no KFD and no render nodes: Windows' driver is reached through /dev/dxg",
            f"{asked.in_place_of(path, _DXG, '--device=')}, with the libraries that `rocenv plan` mounts beside it",
        )
        return
    kind = path.rstrip("0123456789")
    same = [one for one in there if one.rstrip("0123456789") == kind]
    if path == KFD:
        fix = "`sudo modprobe amdgpu`, which makes it"
    elif same:
        fix = asked.in_place_of(path, same[0], "--device=") + "; numbers change with the order in which GPUs are found"
    else:
        fix = "`rocenv detect` shows the GPUs of this host and their nodes"
    yield fail(evidence, f'there is no such device here (`{_GONE} "{path}"`)', fix)


def _listed(paths: list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths[:8]) or "none"


@lint(
    "device-missing",
    severity="fail",
    title="both halves of a GPU are passed: /dev/kfd and render nodes",
    why="compute goes through /dev/kfd, and KFD shows only GPUs whose render node the container was given",
    source="rocm-docs docker-containers, linux amdkfd kfd_priv.h (kfd_devcgroup_check_permission)",
)
def device_missing(asked: Container, given: Given) -> Iterator[Finding]:
    """Half of the devices, or none at all where ROCm is plainly meant."""
    sources = [path for path in asked.sources if not path.startswith(_DXG)]
    if asked.passes_all_devices or not asked.about_rocm or any(word.open for word in asked.devices) or asked.partial:
        return
    if given.host is not None and given.host.environment == "wsl2":
        return
    if any(one.text.startswith("/dev:") or source(one).startswith((KFD, DRI)) for one in asked.mounts):
        return  # `device-mounted` tells it
    kfd = any(path == KFD or meant(path) == KFD for path in sources)
    dri = any(path.startswith(DRI) or (meant(path) or "").startswith(DRI) for path in sources)
    where = asked.devices[0].where if asked.devices else asked.where
    if kfd and not dri:
        yield fail(
            f"{where}: {asked.name} passes {_listed(sources)} and no render node",
            "KFD shows no GPU whose render node is not passed",
            f"add `{asked.device(DRI)}`, or the render nodes of the GPUs that are meant",
        )
    elif dri and not kfd:
        yield fail(
            f"{where}: {asked.name} passes {_listed(sources)} and no `{KFD}`",
            "HIP and ROCr compute through /dev/kfd alone: without it there is no GPU inside",
            f"add `{asked.device(KFD)}`",
        )
    elif not asked.devices and asked.image is not None:
        yield warn(
            f"{asked.image.where}: {asked.name} uses `{asked.image.text}` and passes no device",
            "programs inside see no GPU, and many then compute on the CPU without a word",
            f"add `{asked.device(KFD)}` and `{asked.device(DRI)}`",
        )


@lint(
    "device-mounted",
    severity="fail",
    title="devices are passed as devices, not mounted",
    why="a mounted node is there and may not be opened: the device cgroup lets through what was passed as a device",
    source="ROCm/ROCm#1211 (EPERM with good mode bits), runc's device cgroup",
)
def device_mounted(asked: Container, _: Given) -> Iterator[Finding]:
    """A GPU's node, or all of /dev, among the mounts."""
    for word in () if asked.privileged or asked.rules else asked.mounts:
        path = source(word).rstrip("/")
        if path != "/dev" and not path.startswith((KFD, DRI)):
            continue
        meant_path = path if path != "/dev" else KFD
        yield fail(
            f"{word.where}: {asked.name} mounts `{word.text}`",
            "a mounted device is refused with EPERM: the device cgroup does not know it",
            f"write `{asked.device(meant_path)}` in its place",
        )


@lint(
    "device-subset",
    severity="info",
    title="only the GPUs that are meant are passed",
    why="/dev/dri holds every GPU, integrated ones too; a variable hides GPUs and a program may undo that; compute "
    "needs no card node",
    source="ROCm docs on GPU isolation, flags of rocm-docs",
)
def device_subset(asked: Container, given: Given) -> Iterator[Finding]:
    """More devices than are meant."""
    sources = list(asked.sources)
    renders = [path for path in sources if path.startswith(f"{DRI}/renderD")]
    cards = [path for path in sources if path.startswith(f"{DRI}/card")]
    whole = next((word for word in asked.devices if source(word).rstrip("/") == DRI), None)
    if whole is not None and (renders or cards):
        yield info(
            f"{whole.where}: {asked.name} passes `{DRI}` and `{(renders or cards)[0]}`",
            f"`{DRI}` already holds every GPU: the single nodes choose nothing; leave `{DRI}` away to pass these alone",
        )
    elif whole is not None and KFD in sources:
        yield from _whole(asked, whole, given)
    elif cards and renders and asked.about_rocm:
        yield info(
            f"{asked.devices[0].where}: {asked.name} passes `{cards[0]}`",
            "a card node is for displays: computing needs the render node alone",
        )


def _whole(asked: Container, whole: Word, given: Given) -> Iterator[Finding]:
    chosen = next((one for one in asked.variables if one.name in _VISIBLE and one.value), None)
    gpus = given.host.gpus if given.host else ()
    integrated = [gpu for gpu in gpus if gpu.kind == "apu"]
    if chosen is not None and len(gpus) != 1:
        yield info(
            f"{whole.where}: {asked.name} passes `{DRI}`, and {chosen.name}={chosen.value} chooses",
            "a variable is no isolation: pass the render nodes that are meant in place of the folder",
        )
    elif integrated and len(integrated) < len(gpus):
        discrete = [gpu.render_node for gpu in gpus if gpu.kind == "dgpu" and gpu.render_node]
        yield info(
            f"{whole.where}: {asked.name} passes `{DRI}`, which holds the integrated {integrated[0].gfx} too",
            f"programs may choose it or fail on it; pass {_listed(discrete)} alone for the discrete one",
        )
