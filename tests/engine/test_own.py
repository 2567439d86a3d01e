"""When a container's nodes must be looked at inside, and when they are the host's for certain.

The client is a stand-in that answers as Docker and podman do; the node on the host is a real one, /dev/null (1:3).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rocenv.engine import Engine
from rocenv.engine.listing import LABELS
from rocenv.engine.own import OwnContainers
from rocenv.model.health import CdiNode

CLIENT = """#!/bin/sh
case $1 in
  ps) cat {folder}/listed ;;
  inspect) cat {folder}/told ;;
  exec) touch {folder}/looked; echo 'crw-rw-rw- 1 0 0 7, 8 Jan 1 00:00 /dev/null' ;;
esac
"""
NOW = "2999-01-01T00:00:00.123456789"
BEFORE = "1999-01-01T00:00:00.5"


def told(started: str, created: str, *, running: bool = True, node: str = "/dev/null") -> dict[str, Any]:
    device = {"PathOnHost": node, "PathInContainer": node}
    return {
        "Id": "one", "Name": "/rocenv-a-b", "Created": created, "HostConfig": {"Devices": [device]},
        "State": {"Running": running, "StartedAt": started},
    }  # fmt: skip


def listed(kind: str, container: dict[str, Any], nodes: str = "") -> str:
    """The container in the list of `ps`, as it asks for it; `nodes` is the label of that name."""
    labels = ["0", *[""] * (len(LABELS) - 1)]
    labels[LABELS.index("rocenv.nodes")] = nodes
    state = "running" if container["State"]["Running"] else "exited"
    if kind == "docker":
        created = container["Created"].replace("T", " ").partition(".")[0] + " +0000 UTC"
        return json.dumps(["one", "rocenv-a-b", state, "image", created, *labels])
    rows = {"Id": "one", "Names": ["rocenv-a-b"], "State": state, "Image": "image", "Created": 0}
    return json.dumps([{**rows, "Labels": dict(zip(LABELS, labels, strict=True))}])


def asked(folder: Path, kind: str, container: dict[str, Any]) -> CdiNode:
    """The node as it is found to be in that container."""
    program = folder / kind
    program.write_text(CLIENT.format(folder=folder))
    program.chmod(0o755)
    (folder / "told").write_text(json.dumps([container]))
    (folder / "listed").write_text(listed(kind, container))
    own = OwnContainers(Engine(kind, str(program)))
    try:
        found = own.found()
    finally:
        own.close()
    assert found is not None
    assert (found[0].name, found[0].running) == ("rocenv-a-b", container["State"]["Running"])
    return found[0].devices[0]


@pytest.mark.parametrize(
    ("kind", "started", "created", "looked"),
    [
        ("docker", f"{NOW}Z", f"{BEFORE}Z", False),  # docker looks nodes up at each start
        ("docker", f"{BEFORE}Z", f"{BEFORE}Z", True),
        ("podman", f"{NOW}+02:00", f"{BEFORE}+02:00", True),  # podman when a container is made
        ("podman", f"{NOW}+02:00", f"{NOW}+02:00", False),
        ("docker", "yesterday", "yesterday", True),
    ],
)
def test_a_container_younger_than_its_nodes_is_not_looked_into(
    tmp_path: Path, kind: str, started: str, created: str, looked: bool
) -> None:
    node = asked(tmp_path, kind, told(started, created))
    assert (tmp_path / "looked").exists() == looked
    assert node == (CdiNode("/dev/null", 7, 8) if looked else CdiNode("/dev/null", 1, 3))


DEVICES = '{"devices": {"/dev/null": "9:9"}}'


@pytest.mark.parametrize(
    ("created", "label", "inspected"),
    [(NOW, DEVICES, False), (BEFORE, DEVICES, True), (NOW, "[7]", True), (NOW, '{"devices": 7}', True)],
)
def test_a_container_that_its_labels_tell_of_is_not_inspected(
    tmp_path: Path, created: str, label: str, inspected: bool
) -> None:
    program = tmp_path / "docker"
    program.write_text(CLIENT.format(folder=tmp_path).replace("inspect)", f"inspect) touch {tmp_path}/inspected;"))
    program.chmod(0o755)
    container = told(f"{NOW}Z", f"{created}Z")
    (tmp_path / "told").write_text(json.dumps([container]))
    (tmp_path / "listed").write_text(listed("docker", container, label))
    own = OwnContainers(Engine("docker", str(program)))
    found = own.found()
    own.close()
    assert found is not None
    assert (found[0].name, found[0].running, found[0].devices) == ("rocenv-a-b", True, (CdiNode("/dev/null", 1, 3),))
    assert (tmp_path / "inspected").exists() == inspected


def test_a_node_that_is_gone_is_looked_for_inside(tmp_path: Path) -> None:
    node = asked(tmp_path, "docker", told(f"{NOW}Z", f"{NOW}Z", node="/dev/rocenv-none"))
    assert (tmp_path / "looked").exists()
    assert node == CdiNode("/dev/rocenv-none")


def test_a_stopped_container_has_no_numbers(tmp_path: Path) -> None:
    assert asked(tmp_path, "docker", told(f"{NOW}Z", f"{NOW}Z", running=False)) == CdiNode("/dev/null")


def test_nobody_is_left_when_it_is_closed_early(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    program = tmp_path / "docker"
    program.write_text(f"#!/bin/sh\nexec cat {tmp_path}/never\n")
    program.chmod(0o755)
    own = OwnContainers(Engine("docker", str(program)))
    own.close()
    assert own.found() in ((), None)
