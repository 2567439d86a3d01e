"""What a Dockerfile sets: overrides and lists of one host, secrets, proxies, paths of another ROCm, the login shell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocenv.checks.catalogue import fail, warn
from rocenv.checks.files.asked import Variable
from rocenv.checks.files.dockerfile import is_rocm, lint
from rocenv.checks.files.dockerfile_reading import Dockerfile, Instruction
from rocenv.checks.files.variables import both_visible, override_format
from rocenv.model.check import Finding
from rocenv.rules import override
from rocenv.rules.secrets import is_secret

_LISTS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_PROXIES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"})
_PROXY_SET = re.compile(r"(?:^|[\s;&])(?:export\s+)?(https?_proxy)=([^\s;&\\]+)|--proxy[= ](\S+)", re.IGNORECASE)
_LOGIN = re.compile(r'"(-[a-z]*l[a-z]*|--login)"')
_TAG_RELEASE = re.compile(r"rocm([0-9]+\.[0-9]+)|/(?:dev-|rocm-)[a-z0-9.-]*:([0-9]+\.[0-9]+)")
_TREE = re.compile(r"/opt/rocm-([0-9]+\.[0-9]+)")


def variables(instruction: Instruction) -> Iterator[Variable]:
    """What an ENV or ARG sets: `NAME=VALUE …`, or ENV's old form `NAME VALUE`."""
    for words in instruction.commands():
        if words and instruction.keyword == "ENV" and "=" not in words[0].text:
            yield Variable(words[0].text, " ".join(word.text for word in words[1:]), words[0].where)
            continue
        for word in words:
            name, sign, value = word.text.partition("=")
            yield Variable(name, value if sign else None, word.where, listed=True)


def _set(file: Dockerfile, *keywords: str) -> list[Variable]:
    return [one for instruction in file.instructions(*keywords) for one in variables(instruction)]


@lint(
    "variables",
    severity="fail",
    title="no fact of one host is baked in as a variable",
    why="an override or a list of GPUs is true for one host and wrong on the next; a wrong form stops ROCm's start "
    "(found as env.override-format and gpu.visible-env)",
    source="ollama/ollama#8473, rocm-systems: libhsakmt topology.c",
)
def baked(file: Dockerfile) -> Iterator[Finding]:
    """Overrides and visibility lists in ENV."""
    found = _set(file, "ENV")
    wrong = list(override_format(found, "the image", None))
    yield from wrong
    yield from both_visible(found, "the image")
    for one in found:
        if one.name.startswith(override.NAME) and not wrong and one.value:
            yield warn(
                f"{one.where}: the image sets {one.name}={one.value}",
                "it makes every GPU pass for another, wherever the image runs",
                f"remove it; the one who runs the image sets it where it is needed: `-e {one.name}={one.value}`",
            )
        elif one.name in _LISTS and one.value:
            yield warn(
                f"{one.where}: the image sets {one.name}={one.value}",
                "which GPUs are there is known when the container starts, not when its image is built",
                "remove it",
            )
        elif one.name == "NVIDIA_VISIBLE_DEVICES" and one.value not in ("", "none", "void"):
            yield warn(f"{one.where}: the image sets {one.name}", "only NVIDIA's runtime reads it", "remove it")


@lint(
    "secret",
    severity="fail",
    title="no secret is in the image's history",
    why="ENV stands in the image's configuration and ARG in its history, for everybody who has the image",
    source="docker build checks: SecretsUsedInArgOrEnv",
)
def secret(file: Dockerfile) -> Iterator[Finding]:
    """Names of secrets in ENV and ARG; no value is shown."""
    for one in _set(file, "ENV", "ARG"):
        if not is_secret(one.name):
            continue
        literal = bool(one.value) and "$" not in (one.value or "")
        fix = f"`RUN --mount=type=secret,id={one.name.lower()} …`, or `-e {one.name}` when it runs"
        if literal:
            yield fail(f"{one.where}: {one.name} has a literal value", "it is in the image for all who have it", fix)
        elif one.value is None or one.value:
            yield warn(f"{one.where}: {one.name}", "its value will be in the image's history or configuration", fix)


@lint(
    "proxy",
    severity="warn",
    title="no proxy is baked in",
    why="it is one network's: elsewhere the build and the container reach nothing",
    source="tensorflow/ngraph-bridge#212",
)
def proxy(file: Dockerfile) -> Iterator[Finding]:
    """Proxies in ENV, ARG and RUN."""
    fix = "remove it; `--build-arg https_proxy --build-arg HTTPS_PROXY` passes the caller's own, and no layer keeps it"
    for one in _set(file, "ENV", "ARG"):
        if one.name.lower() in _PROXIES and one.value and "$" not in one.value:
            yield warn(f"{one.where}: {one.name} is set", "a proxy of one network is in the image", fix)
    for run in file.instructions("RUN"):
        for match in _PROXY_SET.finditer(run.text):
            if "$" not in (match.group(2) or match.group(3)):
                yield warn(f"{run.at(match.start())}: a proxy is set", "a proxy of one network is in the file", fix)


@lint(
    "login-shell",
    severity="warn",
    title="no login shell hides the image's Python",
    why="a login shell reads /etc/profile, where conda or another Python comes before the one that has ROCm's torch",
    source="AMDResearch/Ryzers#79, tile-ai/tilelang#503",
)
def login_shell(file: Dockerfile) -> Iterator[Finding]:
    """SHELL, ENTRYPOINT and CMD with -l, on an image of ROCm's with Python in it."""
    for stage in file.stages:
        if not is_rocm(file, stage) or re.search(r"rocm/(dev-|rocm-terminal)", file.root(stage).text):
            continue
        for one in stage.instructions:
            if one.keyword in ("SHELL", "ENTRYPOINT", "CMD") and "bash" in one.text and _LOGIN.search(one.text):
                yield warn(
                    f"{one.where}: {one.keyword} {' '.join(one.text.split())[:80]}",
                    "a login shell sets PATH anew, and another Python comes before the one with ROCm's torch",
                    'write `SHELL ["/bin/bash", "-c"]`' if one.keyword == "SHELL" else "leave `-l` away",
                )


@lint(
    "library-path",
    severity="warn",
    title="LD_LIBRARY_PATH leads to the image's own ROCm",
    why="it comes before what a wheel or the image brings: two releases in one process crash",
    source="ROCm/TheRock#1011",
)
def library_path(file: Dockerfile) -> Iterator[Finding]:
    """A tree of another release than the base's tag tells."""
    for stage in file.stages:
        tag = _TAG_RELEASE.search(file.root(stage).text)
        release = (tag.group(1) or tag.group(2)) if tag else None
        for one in stage.instructions:
            for variable in variables(one) if one.keyword == "ENV" and release else ():
                tree = _TREE.search(variable.value or "")
                if variable.name == "LD_LIBRARY_PATH" and tree is not None and tree.group(1) != release:
                    yield warn(
                        f"{variable.where}: LD_LIBRARY_PATH leads to {tree.group(0)} on {file.root(stage).text}",
                        f"the base has ROCm {release}: libraries of two releases mix",
                        "leave it away: the image's own libraries are found without it",
                    )
