"""What `inside.sh` told from inside a container, as facts: the same host, seen by another process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rocenv.host import access
from rocenv.host.source import RawDevice, parse_number
from rocenv.model.health import Group, Health, ImageView, Opening
from rocenv.model.host import Caller, DeviceNode, Gpu, Host

_LIST = re.compile(r"c([rwxsStT-]{9})\S*\s+\d+\s+(\d+)\s+(\d+)\s+(\d+),\s*(\d+)\s.*?(/dev/\S+)$")
# The words of strerror that shells print, and what they stand for; dash has its own for ENOENT.
_ERRORS = {
    "Permission denied": "EACCES",
    "Operation not permitted": "EPERM",
    "No such file or directory": "ENOENT",
    "Directory nonexistent": "ENOENT",
    "No such device": "ENODEV",
    "No such device or address": "ENXIO",
    "Cannot allocate memory": "ENOMEM",
    "Invalid argument": "EINVAL",
    "Device or resource busy": "EBUSY",
}
SCRIPT = Path(__file__).with_name("inside.sh")
_WHOLE = ["0", "0", "4294967295"]


@dataclass(frozen=True, slots=True)
class Inside:
    """The host as the container has it, more of it, its variables, and its image as far as its files tell."""

    host: Host
    health: Health
    env: Mapping[str, str]
    image: ImageView


def read_inside(text: str, outside: Host) -> Inside:
    """The facts in the script's answer; what a container shares with its host is taken from there."""
    told: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(": ")
        if colon:
            told.setdefault(key, []).append(value.strip())
    caller = _caller(told.get("ids", [""])[0])
    groups = _groups(told.get("group", []))
    names = {gid: name for name, gid in reversed(groups.items())}
    opens = _opens(told.get("open", []))
    raw = [found for line in told.get("list", []) if (found := _device(line, opens)) is not None]
    devices = tuple(access.judged(one, caller, names) for one in raw)
    uid_map = told.get("uid_map", [""])[0].split()
    host = outside._replace(
        environment="container",
        virtualization=None,
        caller=caller,
        devices=devices,
        gpus=_gpus(outside, told.get("node"), devices),
        group_render=groups.get("render"),
        group_video=groups.get("video"),
        user_namespace=None if not uid_map else uid_map != _WHOLE,
        allocation=None,
    )
    health = Health(
        opens=tuple(Opening(path, error) for path, error in opens.items()),
        groups=tuple(Group(name, gid, member=False) for name, gid in groups.items()),
        shm_bytes=_shm(told.get("shm", [""])[0]),
        seccomp=parse_number(told.get("seccomp", [""])[0].rpartition(":")[2].strip()),
    )
    env = dict(pair.partition("=")[::2] for pair in told.get("env", []))
    return Inside(host, health, env, ImageView("its image", state="local", groups=groups, user=str(caller.uid)))


def _caller(line: str) -> Caller:
    numbers = [int(word) for word in line.split() if word.isdecimal()]
    uid, gid, *groups = numbers if len(numbers) > 1 else (0, 0)
    return Caller(uid, gid, tuple(groups))


def _groups(lines: list[str]) -> dict[str, int]:
    """/etc/group by name, the first line of two equal names."""
    found: dict[str, int] = {}
    for line in lines:
        fields = line.split(":")
        gid = parse_number(fields[2]) if len(fields) > 2 else None  # noqa: PLR2004
        if gid is not None:
            found.setdefault(fields[0], gid)
    return found


def _opens(lines: list[str]) -> dict[str, str | None]:
    """What opening each node said: nothing, or the words of an errno at the end."""
    found: dict[str, str | None] = {}
    for line in lines:
        path, _, said = line.partition(" ")
        words = said.rpartition(": ")[2].strip()
        found[path] = None if not said.strip() else _ERRORS.get(words, "EIO")
    return found


def _device(line: str, opens: Mapping[str, str | None]) -> RawDevice | None:
    """A node from `ls -ln`; what its permissions refuse is left to the rules, other refusals are its fault."""
    match = _LIST.match(line)
    if match is None:
        return None
    letters, uid, gid, major, minor, path = match.groups()
    error = opens.get(path)
    return RawDevice(
        path=path,
        major=int(major),
        minor=int(minor),
        mode=sum((letter not in "-ST") << (8 - place) for place, letter in enumerate(letters)),
        uid=int(uid),
        gid=int(gid),
        allowed=error is None if error in (None, "EACCES") else None,
        fault=error if error not in (None, "EACCES") else None,
    )


def _gpus(outside: Host, nodes: list[str] | None, devices: tuple[DeviceNode, ...]) -> tuple[Gpu, ...]:
    """The GPUs whose KFD node can be read in there, with their render nodes as they are in there."""
    paths = {node.path: node for node in devices}
    readable = {int(number) for number in nodes or () if number.isdecimal()}
    return tuple(
        gpu._replace(
            render_node_exists=gpu.render_node in paths,
            can_open_render=paths[gpu.render_node].accessible if gpu.render_node in paths else None,
        )
        for gpu in outside.gpus
        if gpu.kfd_node in readable
    )


def _shm(line: str) -> int | None:
    """The size in a line of `df -k`."""
    words = line.split()
    size = parse_number(words[-5]) if len(words) > 4 else None  # noqa: PLR2004
    return None if size is None else size * 1024
