"""What a Dockerfile installs from where: repositories that are not there or for another release, torch without ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocenv.checks.catalogue import fail, warn
from rocenv.checks.files.asked import Word
from rocenv.checks.files.dockerfile import is_rocm, lint
from rocenv.checks.files.dockerfile_reading import Dockerfile, Instruction, filled
from rocenv.checks.files.dockerfile_run import runs
from rocenv.model.check import Finding

_AMDGPU = re.compile(r"repo\.radeon\.com/amdgpu/([0-9]+)((?:\.[0-9]+)*)")
_ROCM_APT = re.compile(r"repo\.radeon\.com/rocm/(?:apt|rhel[0-9]*|zyp)/([0-9]+)\.([0-9]+)(?:\.[0-9]+)?")
_DISTRIBUTION = re.compile(r"repo\.radeon\.com/(?:rocm/apt|amdgpu|graphics)/\S+\s+([a-z]+)\s+(?:main|proprietary)")
_CODENAMES = {"20.04": "focal", "22.04": "jammy", "24.04": "noble", "26.04": "resolute"}
_UBUNTU = re.compile(r"ubuntu[:-]?([0-9]{2}\.[0-9]{2})")
# The driver's own numbers begin here; below, driver and ROCm had one number up to 6.4 (rocm-releases: kmd_releases).
_FIRST_DRIVER, _LAST_SHARED = 30, 6
_LAST_LEGACY = (7, 2)  # of repo.radeon.com/rocm: later releases are at repo.amd.com
_TORCH = re.compile(r"(torch|torchvision|torchaudio)(\[.*\])?([=<>!~@+ ].*)?")
_ROCM_SOURCE = re.compile(r"rocm|repo\.amd\.com|repo\.radeon\.com|gfx[0-9]", re.IGNORECASE)
_OTHER_SOURCE = re.compile(r"(?:-url|-links|_URL|-i|-f)[= ](?!\S*pypi)\S")
_CUDA_SOURCE = re.compile(r"/whl/cu[0-9]+|\+cu[0-9]+|/cuda", re.IGNORECASE)
_CUDA_PACKAGES = re.compile(
    r"(onnxruntime-gpu|cupy-cuda[0-9x]+|tensorflow-gpu|nvidia-(cuda|cudnn|cublas|nccl)[a-z0-9-]*|"
    r"cuda-toolkit(-.*)?|nvidia-cuda-toolkit|libcudnn[0-9].*|bitsandbytes-cuda[0-9]+)([=<>!~\[].*)?"
)
_INSTEAD = {"onnxruntime-gpu": "onnxruntime-rocm", "tensorflow-gpu": "tensorflow-rocm"}
_TAKING_VALUES = frozenset(
    {"-i", "--index-url", "--extra-index-url", "-c", "--constraint", "-f", "--find-links", "-r", "--requirement"}
)


@lint(
    "amdgpu-repo",
    severity="fail",
    title="AMD's repositories are named by numbers that they have",
    why="since ROCm 7.0 the driver has numbers of its own (30.10 …): repo.radeon.com/amdgpu/7.x does not exist; and "
    "repo.radeon.com/rocm ends with 7.2",
    source="rocm-docs release notes 7.0 to 10.1, ROCm/amdgpu-docs",
)
def amdgpu_repo(file: Dockerfile) -> Iterator[Finding]:
    """Addresses of repositories that were never there."""
    values = file.values
    for one in file.instructions("RUN", "ADD", "COPY", "ENV", "ARG"):
        text = filled(one.text, values)
        for match in _AMDGPU.finditer(text):
            number = int(match.group(1))
            if _LAST_SHARED < number < _FIRST_DRIVER:
                yield fail(
                    f"{_where(one, match.group(0))}: `{match.group(0)}`",
                    "`does not have a Release file`: that is a number of ROCm's, and the driver's own begin with 30",
                    "leave the repository away: an image needs no driver; for ROCm it is repo.radeon.com/rocm/apt/…",
                )
        for match in _ROCM_APT.finditer(text):
            if (int(match.group(1)), int(match.group(2))) > _LAST_LEGACY:
                yield fail(
                    f"{_where(one, match.group(0))}: `{match.group(0)}`",
                    "`does not have a Release file`: repo.radeon.com holds ROCm up to 7.2 alone",
                    "take packages from repo.amd.com/rocm, or an image `FROM rocm/dev-ubuntu-24.04:TAG`",
                )


def _where(one: Instruction, text: str) -> str:
    """The line of a text; the instruction's first where an ARG was put in for a part of it."""
    offset = one.text.find(text[: text.rfind("/") + 1])
    return one.at(max(offset, 0))


@lint(
    "repo-codename",
    severity="warn",
    title="repositories are for the base's own release",
    why="packages of another Ubuntu release depend on libraries that this one has not",
    source="rocm-docs installation on Ubuntu",
)
def repo_codename(file: Dockerfile) -> Iterator[Finding]:
    """A code name that is not the base's."""
    for stage in file.stages:
        base = _UBUNTU.search(file.root(stage).text)
        expected = _CODENAMES.get(base.group(1)) if base else None
        for one in stage.instructions:
            for match in _DISTRIBUTION.finditer(one.text) if expected and one.keyword == "RUN" else ():
                if match.group(1) in _CODENAMES.values() and match.group(1) != expected:
                    yield warn(
                        f"{one.at(match.start(1))}: a repository for `{match.group(1)}` on {file.root(stage).text}",
                        f"that base is `{expected}`: packages for another release do not fit it",
                        f"write `{expected}` in place of `{match.group(1)}`",
                    )


@lint(
    "torch-index",
    severity="fail",
    title="torch comes from an index of ROCm builds",
    why="PyPI's torch for Linux is built for CUDA: it replaces the ROCm build of the image, and finds no AMD GPU",
    source="YanWenKun/ComfyUI-Docker#187, ROCm/pytorch#1532",
)
def torch_index(file: Dockerfile) -> Iterator[Finding]:
    """A pip install of torch from another index, or of what is built for CUDA."""
    values = file.values
    for stage, one, words in runs(file):
        packages, sources = _pip(words)
        if packages is None:
            continue
        known = filled(" ".join([*sources, _settings(file, one)]), values)
        for word in packages:
            text = filled(word.text, values)
            if _CUDA_PACKAGES.fullmatch(text):
                name = re.split(r"[=<>!~\[]", text)[0]
                instead = f"`{_INSTEAD[name]}`" if name in _INSTEAD else "its ROCm build, where there is one"
                yield fail(f"{word.where}: installs `{text}`", "that is built for NVIDIA's CUDA", f"install {instead}")
            elif _TORCH.fullmatch(text) and "rocm" not in text:
                yield from _torch(word, known, on_rocm=is_rocm(file, stage))


def _torch(word: Word, known: str, *, on_rocm: bool) -> Iterator[Finding]:
    index = "`--index-url https://download.pytorch.org/whl/rocm7.2` (or AMD's, with the release of the image)"
    if _CUDA_SOURCE.search(known):
        yield fail(
            f"{word.where}: installs `{word.text}` from {known.strip()}", "those are builds for CUDA", f"write {index}"
        )
    elif "constraint" in known or "$" in known or "PIP_CONSTRAINT" in known or ("--no-deps" in known and not on_rocm):
        return
    elif not _ROCM_SOURCE.search(known):
        if _OTHER_SOURCE.search(known):
            return  # an index of somebody's own: what is in it is not known here
        replaces = ", which replaces the ROCm build of the image" if on_rocm else ""
        yield fail(
            f"{word.where}: installs `{word.text}` from PyPI",
            f"PyPI's torch is built for CUDA{replaces}: `torch.version.hip` is None, and no AMD GPU is found",
            f"leave `{word.text}` away: the image has it" if on_rocm else f"add {index}",
        )
    elif "--extra-index-url" in known and "--index-url" not in known.replace("--extra-index-url", ""):
        yield warn(
            f"{word.where}: installs `{word.text}` with `--extra-index-url`",
            "pip takes the highest version of both indexes, which may be PyPI's build for CUDA",
            f"write {index} in its place",
        )


def _settings(file: Dockerfile, one: Instruction) -> str:
    """What else tells pip where to look: variables in ENV, ARG and before the command."""
    names = r"(PIP_INDEX_URL|PIP_EXTRA_INDEX_URL|PIP_CONSTRAINT|UV_INDEX_URL|UV_DEFAULT_INDEX|UV_TORCH_BACKEND)=(\S+)"
    texts = [one.text, *(other.text for other in file.instructions("ENV", "ARG"))]
    found = re.findall(names, "\n".join(texts))
    return " ".join(f"{name}={value}" for name, value in found)


def _pip(words: Sequence[Word]) -> tuple[list[Word] | None, list[str]]:
    """The packages that a command of pip's installs, and its flags with their values; None for other commands."""
    texts = [word.text for word in words]
    program = texts[0].rpartition("/")[2] if texts else ""
    is_pip = bool(re.fullmatch(r"pip[0-9.]*", program)) or texts[1:3] == ["-m", "pip"] or texts[:2] == ["uv", "pip"]
    if not is_pip or "install" not in texts:
        return (list(words[1:]), []) if _is_apt(texts) else (None, [])
    packages: list[Word] = []
    sources: list[str] = []
    rest = iter(words[texts.index("install") + 1 :])
    for word in rest:
        if word.text in _TAKING_VALUES:
            value = next(rest, None)
            sources.append(f"{word.text} {value.text if value else ''}")
        elif word.text.startswith("-"):
            sources.append(word.text)
        else:
            packages.append(word)
    return packages, sources


def _is_apt(texts: Sequence[str]) -> bool:
    """True for the system's package manager, whose CUDA packages are as wrong as pip's; it has no torch."""
    return bool(texts) and texts[0] in ("apt-get", "apt", "dnf", "yum") and "install" in texts
