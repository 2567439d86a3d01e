"""The containers that rocenv made, and the numbers of the device nodes in them: looked up beside everything else."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocenv import process
from rocenv.engine import listing
from rocenv.model.health import CdiNode, OwnContainer

if TYPE_CHECKING:
    import subprocess

    from rocenv.engine.engine import Engine
    from rocenv.model.proof import Environment

_PATIENCE = 20.0  # seconds for one answer
_MOST = 8  # environments whose nodes are looked at
_NODE = re.compile(r"^c\S+\s+\d+\s+\d+\s+\d+\s+(\d+),\s*(\d+)\s.*?(/dev/\S+)$", re.MULTILINE)
_LIST = "ls -ln /dev/kfd /dev/dri/renderD* 2>/dev/null"
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.\d]*(Z|[+-]\d\d:\d\d)")
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)  # of an answer in no engine's form


class OwnContainers:
    """Asks for them from the moment that it is made; each answer leads to the next question without a pause."""

    def __init__(self, engine: Engine) -> None:
        self._program, self._kind = engine.program, engine.kind
        self._children: list[subprocess.Popen[bytes]] = []
        self._closed = False
        self._found: tuple[OwnContainer, ...] | None = None
        self._asking = threading.Thread(target=self._ask, daemon=True)
        self._asking.start()

    def found(self) -> tuple[OwnContainer, ...] | None:
        """The containers, the first few; None where the engine does not tell."""
        self._asking.join()
        return self._found

    def close(self) -> None:
        """End what has not ended by itself: who asks has no answer then, and comes to an end too."""
        self._closed = True
        for child in self._children:
            if child.returncode is None:
                child.kill()
        self._asking.join()
        for child in self._children:
            if child.returncode is None:
                process.end(child)

    def _ask(self) -> None:
        try:
            rows = self._listed()[:_MOST]
            known = {row.id: _by_label(row) for row in rows}
            others = [identity for identity, own in known.items() if own is None]
            looked = self._inspected(others) if others else {}
            self._found = tuple(own or looked[identity] for identity, own in known.items() if own or identity in looked)
        except (process.ProgramMissingError, process.GivenUpError, *_UNREADABLE):
            self._found = None

    def _listed(self) -> list[Environment]:
        docker = self._kind == "docker"
        form = listing.DOCKER_FORMAT if docker else "json"
        text = self._answer("ps", "--all", "--no-trunc", "--filter=label=rocenv.version", f"--format={form}")
        return listing.docker_environments(text) if docker else listing.podman_environments(text)

    def _inspected(self, ids: list[str]) -> dict[str, OwnContainer]:
        """Those of which their labels do not tell enough, looked into where that may tell more."""
        told = {str(one["Id"]): one for one in json.loads(self._answer("inspect", *ids) or "[]")}
        looks = {identity: self._look(one) for identity, one in told.items()}  # all of them at once
        return {identity: _container(one, _seen(looks[identity], one)) for identity, one in told.items()}

    def _look(self, told: dict[str, Any]) -> subprocess.Popen[bytes] | None:
        """A look into a container whose nodes may have other numbers than the host's: it runs since before those."""
        if not told["State"].get("Running") or _younger(told, self._kind):
            return None
        return self._start("exec", str(told["Id"]), "sh", "-c", _LIST)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        if self._closed:
            raise process.GivenUpError
        child = process.start([self._program, *arguments])
        self._children.append(child)
        return child

    def _answer(self, *arguments: str) -> str:
        return process.finish(self._start(*arguments), _PATIENCE).stdout


def _by_label(row: Environment) -> OwnContainer | None:
    """A container by its own labels, where it does not run, or was made since its nodes are as they are."""
    running = row.state == "running"
    paths = _paths(row.labels.get("rocenv.nodes") or "{}")
    since = _seconds(row.created or "")
    if not paths or (running and not _before(paths, since)):
        return None
    nodes = {path: _node(path) if running else None for path in paths}
    return OwnContainer(row.container, running, tuple(CdiNode(path, *_numbers(node)) for path, node in nodes.items()))


def _paths(label: str) -> list[str]:
    """The nodes that a label names; none where it is not of rocenv's form: anybody may write one."""
    try:
        return [str(path) for path in json.loads(label)["devices"]]
    except _UNREADABLE:
        return []


def _before(paths: list[str], since: float | None) -> bool:
    """True where these nodes are as they were at that time: a node's change is its making, or later.

    A second is left for clocks that tick coarsely.
    """
    nodes = [_node(path) for path in paths]
    return since is not None and all(node is not None and node.st_ctime + 1 < since for node in nodes)


def _numbers(node: os.stat_result | None) -> tuple[int | None, int | None]:
    return (None, None) if node is None else (os.major(node.st_rdev), os.minor(node.st_rdev))


def _younger(told: dict[str, Any], kind: str) -> bool:
    """True where the container got its nodes after the host had them as they are now.

    Docker looks nodes up at each start, podman when a container is made.
    """
    since = _seconds(str(told["State"].get("StartedAt") if kind == "docker" else told.get("Created")))
    return _before([here for here, _ in _devices(told)], since)


def _node(path: str) -> os.stat_result | None:
    """A node of this host, None where it is not there."""
    try:
        return Path(path).stat()
    except (OSError, ValueError):
        return None


def _seconds(text: str) -> float | None:
    """An engine's time as seconds of the epoch."""
    from datetime import datetime

    match = _TIME.match(text)
    return None if match is None else datetime.fromisoformat(match[1] + match[2].replace("Z", "+00:00")).timestamp()


def _devices(told: dict[str, Any]) -> list[tuple[str, str]]:
    """The nodes that a container was given: their paths on the host and inside."""
    devices = (told.get("HostConfig") or {}).get("Devices") or ()
    return [(str(one.get("PathOnHost")), str(one.get("PathInContainer"))) for one in devices if isinstance(one, dict)]


def _seen(look: subprocess.Popen[bytes] | None, told: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """The numbers of the nodes in a container: as they were seen in it, or the host's, which they are then."""
    if look is not None:
        try:
            text = process.finish(look, _PATIENCE).stdout
        except process.GivenUpError:
            return {}
        return {path: (int(major), int(minor)) for major, minor, path in _NODE.findall(text)}
    if not told["State"].get("Running"):
        return {}
    nodes = {there: _node(here) for here, there in _devices(told)}
    return {there: (os.major(node.st_rdev), os.minor(node.st_rdev)) for there, node in nodes.items() if node}


def _container(told: dict[str, Any], seen: dict[str, tuple[int, int]]) -> OwnContainer:
    return OwnContainer(
        name=str(told.get("Name", "")).lstrip("/"),
        running=bool(told["State"].get("Running")),
        devices=tuple(CdiNode(here, *seen.get(there, (None, None))) for here, there in _devices(told)),
    )
