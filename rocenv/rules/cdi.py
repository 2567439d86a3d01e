"""CDI's own rules, and the judgement of a specification against a host: told in the same words by plan and doctor.

Names, versions and which file wins: SPEC.md and pkg/cdi of cncf-tags/container-device-interface.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rocenv.rules.nodes import KFD, obstacle

if TYPE_CHECKING:
    from rocenv.model.health import CdiNode, CdiSpec
    from rocenv.model.host import Gpu, Host

KIND = "amd.com/gpu"
ALL = "all"
# Where engines look unless told otherwise. A device of a later folder takes the place of one of an earlier folder.
FOLDERS = ("/etc/cdi", "/var/run/cdi")
_RENDER = "/dev/dri/renderD"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")  # engines take no other for a device


def own_name(gpu: Gpu) -> str:
    """The name that a GPU keeps over a reboot: its BDF, and `_N` for a partition. A CDI name holds no `/`."""
    whole = gpu.partition.count == 1 and gpu.partition.index == 0
    return gpu.bdf if whole else f"{gpu.bdf}_{gpu.partition.index}"


def numbered(host: Host) -> Iterator[tuple[int, Gpu]]:
    """The GPUs as AMD's own tools count them: by the bus, not by KFD; partitions in the order of their render nodes.

    What KFD does not show they do not count (ROCm/container-toolkit, internal/amdgpu).
    """
    return enumerate(sorted(host.gpus, key=lambda gpu: (gpu.bdf, _by_render_node(gpu))))


def _by_render_node(gpu: Gpu) -> tuple[int, int]:
    minor = (gpu.render_node or "").removeprefix(_RENDER)
    return (int(minor), gpu.index) if minor else (1 << 32, gpu.index)


def meant(host: Host) -> dict[str, tuple[Gpu, ...]]:
    """Every name that a specification of rocenv's gives, and the usable GPUs that it means."""
    usable = [(number, gpu) for number, gpu in numbered(host) if obstacle(gpu, host, rootless=False) is None]
    names: dict[str, tuple[Gpu, ...]] = {str(number): (gpu,) for number, gpu in usable}
    for _, gpu in usable:
        # A name of several parts means them all: a whole GPU by its BDF, and by a UUID that older drivers repeat.
        for name in dict.fromkeys((own_name(gpu), gpu.bdf, gpu.uuid)):
            if name is not None:
                names[name] = (*names.get(name, ()), gpu)
    return {**names, ALL: tuple(gpu for _, gpu in usable)} if usable else {}


def version_of(spec: Mapping[str, Any]) -> str:
    """The oldest version of CDI that knows all that a specification holds: old engines pass newer ones over."""
    devices = spec["devices"]
    edits = [spec.get("containerEdits") or {}, *(one["containerEdits"] for one in devices)]
    nodes = [node for edit in edits for node in edit.get("deviceNodes", ())]
    if any("additionalGids" in edit or "intelRdt" in edit for edit in edits):
        return "0.7.0"
    if any("annotations" in one for one in (spec, *devices)) or "." in spec["kind"].partition("/")[2]:
        return "0.6.0"
    if any(not one["name"][0].isalpha() for one in devices) or any("hostPath" in node for node in nodes):
        return "0.5.0"
    return "0.4.0" if any("type" in mount for edit in edits for mount in edit.get("mounts", ())) else "0.3.0"


class Device(NamedTuple):
    """A device as an engine finds it: its name, the file that counts, and its nodes."""

    name: str
    spec: CdiSpec
    nodes: tuple[CdiNode, ...]

    @property
    def more(self) -> tuple[str, ...]:
        """What it brings beside nodes."""
        return self.spec.more.get(self.name, ())

    @property
    def paths(self) -> frozenset[str]:
        """The nodes that it passes on."""
        return frozenset(node.path for node in self.nodes)


class Found(NamedTuple):
    """What an engine makes of the specifications in its folders."""

    devices: tuple[Device, ...]  # those that it can give
    conflicts: Mapping[str, tuple[str, ...]]  # names that several files of one folder give: none of them counts
    shadowed: tuple[Device, ...]  # those of a folder that counts less


def folders(specs: Sequence[CdiSpec]) -> tuple[str, ...]:
    """The folders where engines look, and whatever others these specifications lie in; a later one counts more."""
    return tuple(dict.fromkeys((*FOLDERS, *(spec.file.rpartition("/")[0] for spec in specs))))


def found(specs: Sequence[CdiSpec], places: Sequence[str] = FOLDERS) -> Found:
    """The devices of AMD's kind that an engine which reads these folders can give."""
    best: dict[str, list[Device]] = {}
    shadowed: list[Device] = []
    for folder in places:
        mine = [spec for spec in specs if _folder(spec.file) == _real(folder) and spec.kind == KIND]
        here: dict[str, list[Device]] = {}
        for spec in mine:
            for name, nodes in spec.devices.items():
                here.setdefault(name, []).append(Device(name, spec, nodes))
        for name, them in here.items():
            shadowed += best.get(name, ())
            best[name] = them
    return Found(
        tuple(them[0] for them in best.values() if len(them) == 1),
        {name: tuple(one.spec.file for one in them) for name, them in best.items() if len(them) > 1},
        tuple(shadowed),
    )


def _folder(file: str) -> str:
    return _real(file.rpartition("/")[0])


def _real(folder: str) -> str:
    """/var/run is /run everywhere by now."""
    folder = folder.rstrip("/")
    return folder.removeprefix("/var") if folder.startswith("/var/run/") else folder


def generating(file: str) -> str:
    """The command that makes a specification anew."""
    return f"`{sudo(file)}rocenv cdi generate --output={shlex.quote(file)}`"


def leaving_one(files: Sequence[str]) -> str:
    """The command that leaves the first of several files, made anew."""
    return f"`{sudo(files[0])}rm {shlex.join(files[1:])} && {generating(files[0])[1:]}"


def sudo(file: str) -> str:
    """`sudo ` before a command that writes a file which is not below a user's own settings."""
    return "" if "/.config/" in file or file.startswith("/home/") else "sudo "


def device_for(gpu: Gpu, devices: Sequence[Device]) -> Device | None:
    """The device that passes on this GPU and nothing else, by its most lasting name; None where there is none.

    Judged by its nodes: names are the tools' own, and the same number means another GPU elsewhere.
    """
    needed, allowed = {KFD, gpu.render_node}, {KFD, gpu.render_node, gpu.card_node}
    exact = [one for one in devices if needed <= one.paths <= allowed and _NAME.fullmatch(one.name)]
    order = {own_name(gpu): 0, gpu.uuid: 1}
    return min(exact, key=lambda one: (bool(one.more), order.get(one.name, 2)), default=None)


def stale(spec: CdiSpec, host: Host, kfd_number: tuple[int, int] | None = None) -> list[str]:
    """What of a specification is not so any more, each once."""
    wrong: dict[str, list[str]] = {}
    for name, nodes in spec.devices.items():
        for node in nodes:
            said = gone(node, host, kfd_number)
            if said:
                wrong.setdefault(said, []).append(name)
    told = {name for names in wrong.values() for name in names}
    lines = [f"{said} ({_devices(names)})" for said, names in wrong.items()]
    return [*lines, *_renamed(spec, host, told)]


def _devices(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"device{'s' if len(names) > 1 else ''} {', '.join(names[:most])}{more}"


def gone(node: CdiNode, host: Host, kfd_number: tuple[int, int] | None = None) -> str | None:
    """What is wrong with a node that was written down; None for one that is as it was, or is none that is read here."""
    if not node.path.startswith((KFD, _RENDER)):
        return None
    there = host.device(node.path)
    if there is None:
        return f"{node.path} is not there"
    now = kfd_number if node.path == KFD and kfd_number else (there.major, there.minor)
    if node.major is not None and node.minor is not None and (node.major, node.minor) != now:
        return f"{node.path} is {now[0]}:{now[1]}, not {node.major}:{node.minor}"
    if node.gid is not None and node.gid != there.gid:
        return f"{node.path} belongs to gid {there.gid}, not {node.gid}"
    return None


def _renamed(spec: CdiSpec, host: Host, told: Container[str]) -> list[str]:
    """Names, but those `told` already, that mean other GPUs than when they were written; what `all` does not hold."""
    names = meant(host)
    ours = any(gpu.bdf in spec.devices for gpu in host.gpus)  # of another tool's numbers nothing is known
    lines = []
    for name, nodes in spec.devices.items():
        now = sorted(gpu.render_node or "" for gpu in names.get(name, ()))
        then = sorted({node.path for node in nodes if node.path.startswith(_RENDER)})
        if name == ALL:
            lines += [f"`{ALL}` lacks {path}" for path in now if path not in then]
        elif now and now != then and name not in told and (ours or not name.isdigit()):
            lines.append(f"{name} is {', '.join(now)} now, not {', '.join(then) or 'nothing'}")
    return lines
