"""Variables that ROCm reads, of the caller or of a container."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed
from rocenv.model.host import Gpu

_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_PATHS = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH", "HIP_DEVICE_LIB_PATH", "VIRTUAL_ENV", "TRITON_CACHE_DIR")
_ROCM_TREE = re.compile(r"/rocm(?:-(\d+\.\d+[\d.]*))?(?:/|$)")


@check(
    id="env.override-format",
    layer="environment",
    severity="fail",
    title="HSA_OVERRIDE_GFX_VERSION is three decimal numbers",
    reads="HSA_OVERRIDE_GFX_VERSION and HSA_OVERRIDE_GFX_VERSION_<n>",
    why="ROCm reads it by `%u.%u.%u`: quotes or a hex digit make its start fail, they are not ignored",
    source="rocm-systems: libhsakmt topology.c; ollama/ollama#6685; rjmalagon/ollama-linux-amd-apu#2",
)
def override_format(facts: Facts) -> Answer:
    """The form of each value."""
    found = _overrides(facts.need_env())
    if not found:
        return ok("it is not set")
    from rocenv.rules import override

    for name, value in found.items():
        wrong = override.fault(value)
        if wrong is not None:
            right = override.mended(value, _of(facts, name))
            return fail(f"{name}={value}", f"ROCm does not start with it: {wrong}", f"`export {name}={right}`")
    return ok(listed(f"{name}={value}" for name, value in found.items()))


def _overrides(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if re.fullmatch(rf"{_OVERRIDE}(?:_\d+)?", name)}


def _of(facts: Facts, name: str) -> str | None:
    """The target of the GPU that an override means, as far as that can be told: the first one that is known."""
    gpus = facts.host.gpus if facts.host else ()
    first = (facts.host.numa_nodes if facts.host else None) or 1
    number = name.removeprefix(f"{_OVERRIDE}_")
    if number.isdecimal() and first <= int(number) < first + len(gpus):
        return gpus[int(number) - first].gfx
    return next((gpu.gfx for gpu in gpus if gpu.gfx), None)


@check(
    id="env.override-noop",
    layer="environment",
    severity="warn",
    title="HSA_OVERRIDE_GFX_VERSION does something, and the right thing",
    reads="HSA_OVERRIDE_GFX_VERSION, gfx_target_version of each GPU",
    why="on a GPU that is that target already it does nothing; one for all is wrong where GPUs differ",
    source="ollama/ollama#8475, #8473",
    after=("env.override-format",),
)
def override_noop(facts: Facts) -> Answer:
    """What a global override makes of each GPU."""
    host, value = facts.need_host(), facts.need_env().get(_OVERRIDE)
    if value is None:
        return ok("it is not set for all GPUs")
    from rocenv.rules import override

    meant = override.meant(value)
    gpus = [gpu for gpu in host.gpus if gpu.gfx]
    same = [gpu for gpu in gpus if gpu.gfx == meant]
    evidence = f"{_OVERRIDE}={value}; GPUs: {listed(gpu.gfx or '' for gpu in gpus) or 'none'}"
    if gpus and len(same) == len(gpus):
        return info(evidence, f"every GPU is {meant} already: it changes nothing, and is better left away")
    if same or len({gpu.gfx for gpu in gpus}) > 1:
        return warn(
            evidence,
            f"it makes every GPU pass for {meant}, also those that are something else",
            f"`unset {_OVERRIDE}`, and set `{_OVERRIDE}_<n>` for the one GPU, n counting KFD's visible nodes",
        )
    return info(evidence, f"it makes the GPU pass for {meant}; AMD does not support that")


@check(
    id="gpu.visible-env",
    layer="environment",
    severity="fail",
    title="the visibility variables leave GPUs",
    reads="ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, KFD's GPUs",
    why="HIP counts within what ROCR left, from 0: both set to 1 leave nothing",
    source="mcmonkeyprojects/SwarmUI#565; ROCR-Runtime#155",
)
def visible(facts: Facts) -> Answer:
    """ROCR first, then HIP (or CUDA) within what that left; each list ends at its first entry that means nothing."""
    env, host = facts.need_env(), facts.need_host()
    given = {name: env[name] for name in _VISIBLE if env.get(name) is not None}
    if not given:
        return ok("none is set")
    shown = listed(f"{name}={value}" for name, value in given.items())
    if not host.gpus:
        return skip(f"{shown}: KFD shows no GPU to count")
    from rocenv.rules.visible import narrowed

    rocr = given.get("ROCR_VISIBLE_DEVICES")
    second = next((name for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if name in given), None)
    left: Sequence[Gpu] = host.gpus
    evidence = f"{shown}; {len(host.gpus)} GPUs"
    for name in ("ROCR_VISIBLE_DEVICES", second):
        if name is None or name not in given:
            continue
        lost = _lost(given[name], left)
        if lost is not None:
            within = f" among the {len(left)} that ROCR_VISIBLE_DEVICES left, from 0" if left != host.gpus else ""
            cause = f"`{lost}` of {name} is no GPU{within}, and the list ends there"
            return fail(evidence, cause, f"`unset {name}`, or mend it")
        left = narrowed(left, given[name])
    if rocr is not None and second is not None:
        cause = f"both are set: {second} counts within what ROCR_VISIBLE_DEVICES left, from 0"
        return warn(f"{evidence}, {len(left)} left", cause, f"`unset {second}`: one is enough")
    return ok(f"{evidence}, {len(left)} left")


def _lost(value: str, gpus: Sequence[Gpu]) -> str | None:
    """The first entry of a list that means nothing; an empty list hides every GPU."""
    from rocenv.rules.visible import entry

    return next((word for word in value.split(",") if entry(gpus, word.strip()) is None), None)


@check(
    id="env.ld-library-path",
    layer="environment",
    severity="fail",
    title="LD_LIBRARY_PATH leads to no other ROCm",
    reads="LD_LIBRARY_PATH, the version of torch, /opt/rocm-*",
    why="it comes before what a wheel brings: libraries of two releases in one process crash",
    source="ROCm/TheRock#1011; pytorch/builder#1468",
)
def library_path(facts: Facts) -> Answer:
    """Entries that are a ROCm tree; a failure where torch is of another release."""
    env = facts.need_env()
    entries = [word for word in env.get("LD_LIBRARY_PATH", "").split(":") if _ROCM_TREE.search(word)]
    if not entries:
        return ok("no ROCm is in it")
    torch = (facts.packages or {}).get("torch") or (facts.image.torch if facts.image else None) or ""
    label = re.search(r"\+rocm(\d+\.\d+)", torch)
    told = _release(entries[0], facts)
    evidence = f"LD_LIBRARY_PATH has {listed(entries)}"
    fix = "`unset LD_LIBRARY_PATH`; rocenv passes it to no container"
    if label is not None and told is not None and not told.startswith(label.group(1)):
        cause = f"it puts ROCm {told} over the ROCm {label.group(1)} that torch {torch} brings"
        return fail(f"{evidence}; torch {torch}", cause, fix)
    if label is not None:
        return warn(f"{evidence}; torch {torch}", "torch brings ROCm's libraries of its own, and these come first", fix)
    return info(evidence, "it does not reach containers: rocenv passes it to none")


def _release(entry: str, facts: Facts) -> str | None:
    """The ROCm release of a tree: by its name, or by what the host has there."""
    match = _ROCM_TREE.search(entry)
    if match is not None and match.group(1):
        return match.group(1)
    default = facts.host.rocm_default if facts.host else None
    return default.version if default else None


@check(
    id="env.path-space",
    layer="environment",
    severity="warn",
    title="no path that ROCm's tools use holds a blank",
    reads="ROCM_PATH, HIP_PATH, VIRTUAL_ENV and their like",
    why="hipcc and build scripts split such a path in two",
    source="ROCm/HIP: hipcc",
)
def path_space(facts: Facts) -> Answer:
    """Blanks in their values."""
    env = facts.need_env()
    found = [f"{name}={env[name]}" for name in _PATHS if re.search(r"\s", env.get(name, ""))]
    if not found:
        return ok("none does")
    return warn(listed(found), "hipcc and build scripts split this path in two", "move it to a path without blanks")
