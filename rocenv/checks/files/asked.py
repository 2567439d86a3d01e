"""What a text asks of an engine for one container, each word with its place; the same for a file and a command line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocenv.rules.nodes import KFD

DRI = "/dev/dri"
_OVERRIDE_OR_LIST = re.compile(r"(HSA|HIP|ROCR|ROCM|AMD|MIOPEN)_")
_ROCM_IMAGE = re.compile(r"rocm|(^|[^a-z])hip([^a-z]|$)|gfx[0-9]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: where it stands (`compose.yaml:7`), and its characters there, start and end."""

    text: str
    where: str
    span: tuple[int, int] = (0, 0)

    @property
    def open(self) -> bool:
        """True where a shell or compose puts something in its place, which is not known here."""
        return "$" in self.text or "`" in self.text


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable; value None: the caller's own. `listed`: written as one word, NAME=VALUE."""

    name: str
    value: str | None
    where: str
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """One container as it is asked for. `devices` and `mounts` are SOURCE[:TARGET[:…]]."""

    kind: str  # compose | argv
    name: str  # as people call it: service `llm`
    where: str
    engine: str = "docker"
    image: Word | None = None
    devices: tuple[Word, ...] = ()
    groups: tuple[Word, ...] = ()
    mounts: tuple[Word, ...] = ()
    security: tuple[Word, ...] = ()
    variables: tuple[Variable, ...] = ()
    privileged: Word | None = None
    ipc: Word | None = None
    shm_size: Word | None = None
    runtime: Word | None = None
    user: Word | None = None
    gpus: Word | None = None  # `gpus:` or --gpus
    rules: tuple[Word, ...] = ()  # of the device cgroup, which let a mounted node be opened
    drivers: tuple[tuple[Word, tuple[str, ...]], ...] = ()  # compose: reserved drivers, each with its device ids
    partial: bool = False  # compose: `extends`, so that more of it stands elsewhere

    @property
    def sources(self) -> tuple[str, ...]:
        """The host's paths of its devices; CDI names as they are."""
        return tuple(source(one) for one in self.devices)

    @property
    def about_rocm(self) -> bool:
        """True where it is plain that ROCm is meant, not a display or a video encoder."""
        if self.image is not None and _ROCM_IMAGE.search(self.image.text):
            return True
        return KFD in self.sources or any(_OVERRIDE_OR_LIST.match(one.name) for one in self.variables)

    @property
    def passes_all_devices(self) -> bool:
        """True where devices come by another way than one by one."""
        by_name = any(is_cdi(path) for path in self.sources)
        return bool(self.privileged or self.gpus or self.runtime or self.drivers or by_name)

    def in_place_of(self, old: str, new: str, flag: str, *, quoted: bool = False) -> str:
        """The edit that puts one word in another's place; compose wants numbers of groups in quotes."""
        written = f"{flag}{new}" if self.kind == "argv" else f'"{new}"' if quoted else new
        return f"write `{written}` in place of `{flag if self.kind == 'argv' else ''}{old}`"

    def device(self, path: str) -> str:
        """How a device is passed here."""
        return f"--device={path}" if self.kind == "argv" else f"devices: [{path}]"

    def group(self, number: str) -> str:
        """How a group is added here."""
        return f"--group-add={number}" if self.kind == "argv" else f'group_add: ["{number}"]'


def source(word: Word) -> str:
    """The host's path of a device or mount, or the CDI name."""
    return word.text if is_cdi(word.text) else word.text.partition(":")[0]


def is_cdi(text: str) -> bool:
    """True for a CDI device, `amd.com/gpu=0`."""
    return not text.startswith(("/", ".", "~", "$")) and "/" in text and "=" in text
