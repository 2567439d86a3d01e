"""What a Dockerfile runs: drivers in images, numbers of a host's groups, questions for a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocenv.checks.catalogue import fail, info, warn
from rocenv.checks.files.asked import Word
from rocenv.checks.files.dockerfile import lint
from rocenv.checks.files.dockerfile_reading import Dockerfile, Instruction, Stage, filled
from rocenv.model.check import Finding

_MANAGERS = frozenset({"apt", "apt-get", "aptitude", "dnf", "yum", "microdnf", "tdnf", "zypper", "apk"})
_DKMS = re.compile(r"(.*-)?dkms(=.*)?")
_GPU_GROUPS = re.compile(r"render|video|kfd|.*render", re.IGNORECASE)
_GROUP_LINE = re.compile(r"\b(render|video|kfd):[x*!]?:(\d+)")
_GROUP_PROGRAMS = frozenset({"groupadd", "addgroup", "groupmod"})
_ASKING_GPUS = frozenset({"rocminfo", "rocm-smi", "amd-smi", "rocm_agent_enumerator", "clinfo"})
_TORCH_SEES = re.compile(r"torch\.cuda\.(is_available|device_count|get_device_name)|tf\.config\.list_physical_devices")
_ASSERTED = re.compile(r"assert|sys\.exit|raise")
_SHELL_GUARD = re.compile(r"\|\|\s*(true|:|echo)")


def runs(file: Dockerfile) -> Iterator[tuple[Stage, Instruction, list[Word]]]:
    """Every command that a file runs, with the stage and the instruction that it stands in."""
    for stage in file.stages:
        for one in stage.instructions:
            if one.keyword == "RUN":
                for words in one.commands():
                    yield stage, one, _bare(words)


def _bare(words: list[Word]) -> list[Word]:
    """A command without what stands before it: RUN's flags, assignments, sudo, the shell's own words."""
    skipped = {"sudo", "then", "else", "do", "if", "set", "exec", "eatmydata", "time", "("}
    at = 0
    while at < len(words) and (
        words[at].text in skipped or words[at].text.startswith("--") or re.match(r"[A-Za-z_]\w*=", words[at].text)
    ):
        at += 1
    return words[at:]


def _installed(words: Sequence[Word]) -> Sequence[Word]:
    """The packages that a command installs by the system's package manager."""
    if not words or words[0].text.rpartition("/")[2] not in _MANAGERS:
        return ()
    texts = [word.text for word in words]
    verb = next((place for place, text in enumerate(texts) if text in ("install", "add", "in")), None)
    return () if verb is None else [word for word in words[verb + 1 :] if not word.text.startswith("-")]


@lint(
    "dkms",
    severity="fail",
    title="no kernel driver is installed in an image",
    why="a container has the host's kernel: the driver is the host's, and its packages fail without one to build for",
    source="ROCm/ROCm#459",
)
def dkms(file: Dockerfile) -> Iterator[Finding]:
    """Packages of drivers, and amdgpu-install without --no-dkms."""
    for _, _, words in runs(file):
        texts = [word.text for word in words]
        for word in _installed(words):
            if _DKMS.fullmatch(word.text) or word.text in ("amdgpu-kmod", "amdgpu-lib-dkms"):
                yield fail(
                    f"{word.where}: installs `{word.text}`",
                    "that is a kernel driver, which belongs on the host: a container uses the host's kernel",
                    f"leave `{word.text}` away; user space alone (`rocm`, `rocm-dev`) belongs into an image",
                )
        if texts and texts[0].rpartition("/")[2] == "amdgpu-install" and "--no-dkms" not in texts and len(texts) > 1:
            if {"--list-usecase", "--help", "--uninstall"} & set(texts):
                continue
            yield fail(
                f"{words[0].where}: `{' '.join(texts)[:80]}`",
                "amdgpu-install builds the kernel driver too unless it is told not to",
                "add `--no-dkms`",
            )


@lint(
    "hardcoded-gid",
    severity="warn",
    title="no number of a host's group is baked in",
    why="the group that owns the nodes has another number on each host; the one in the image opens nothing there, or "
    "is some other group's",
    source="ROCm/rocMLIR#1839, ROCm/ROCm-docker#90",
)
def hardcoded_gid(file: Dockerfile) -> Iterator[Finding]:
    """A groupadd or its like with a number for a GPU's group, or a line of /etc/group with one."""
    for one in file.instructions("RUN"):
        yield from _written_groups(one)
    for _, _, words in runs(file):
        if not words or words[0].text.rpartition("/")[2] not in _GROUP_PROGRAMS:
            continue
        number = _value(words, ("-g", "--gid"))
        if number is None:
            continue
        literal = filled(number.text, file.values)
        groups = [word for word in words[1:] if word is not number and _GPU_GROUPS.fullmatch(word.text)]
        if groups and literal.isdecimal():
            yield _baked_in(number.where, groups[0].text, literal)


def _written_groups(instruction: Instruction) -> Iterator[Finding]:
    """Lines for /etc/group that a text holds, `render:x:109:`."""
    for match in _GROUP_LINE.finditer(instruction.text):
        yield _baked_in(instruction.at(match.start()), match.group(1), match.group(2))


def _baked_in(where: str, group: str, number: str) -> Finding:
    return warn(
        f"{where}: gives the group `{group}` the number {number}",
        "that number is one host's: on another the nodes belong to another group",
        "remove it; the group is given when the container starts: `--group-add=$(stat -c %g /dev/kfd)`",
    )


def _value(words: Sequence[Word], flags: tuple[str, ...]) -> Word | None:
    """The value of a flag, in its own word, behind `=`, or joined to a short one."""
    for place, word in enumerate(words):
        name, sign, value = word.text.partition("=")
        if name in flags and sign:
            return Word(value, word.where)
        if word.text in flags and place + 1 < len(words):
            return words[place + 1]
        if word.text.startswith(flags[0]) and word.text[2:].isdecimal():
            return Word(word.text[2:], word.where)
    return None


@lint(
    "group-members",
    severity="info",
    title="membership in the image's groups is not what opens the nodes",
    why="the kernel compares numbers: the image's `render` has another one than the host's",
    source="ROCm/rocm-examples#172",
)
def group_members(file: Dockerfile) -> Iterator[Finding]:
    """A usermod or its like that puts a user into a GPU's group."""
    for _, _, words in runs(file):
        if not words or words[0].text.rpartition("/")[2] not in ("usermod", "useradd", "adduser", "gpasswd"):
            continue
        named = {part for word in words[1:] for part in word.text.split(",")} & {"render", "video"}
        if named:
            yield info(
                f"{words[0].where}: puts a user into {', '.join(f'`{name}`' for name in sorted(named))}",
                "that is the image's group by that name; the host's number is given when the container starts",
            )


@lint(
    "gpu-in-build",
    severity="warn",
    title="nothing asks for a GPU while the image is built",
    why="a build has no /dev/kfd: what asks for a GPU fails there, or finds none",
    source="docker build; BuildKit passes devices by CDI alone",
)
def gpu_in_build(file: Dockerfile) -> Iterator[Finding]:
    """A rocminfo or its like, and torch's own question."""
    for _, one, words in runs(file):
        program = words[0].text.rpartition("/")[2] if words else ""
        if _SHELL_GUARD.search(one.text) or "--device=" in one.text:
            continue
        asked = next((word for word in words if _TORCH_SEES.search(word.text)), None)
        if program in _ASKING_GPUS and len([word for word in words if word.text in ("--version", "--help")]) == 0:
            asked = words[0]
        if asked is not None and (asked is words[0] or _ASSERTED.search(asked.text)):
            yield warn(
                f"{asked.where}: runs `{asked.text[:60]}`",
                "there is no GPU while an image is built",
                "run it in the container: `rocenv test` does, on every GPU",
            )
