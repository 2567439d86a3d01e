"""Rootless podman for real, with each of its OCI runtimes: who may open the nodes, and what the doctor says of it.

The user is in the groups of the nodes. Registry, nodes and kernel are the bed's; podman, crun and runc are Debian's.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed import images, space
from bed.demo import ROCENV

if TYPE_CHECKING:
    from conftest import TestBed

SCRIPT = Path(__file__).with_name("rootless.sh")
KFD_GID, RENDER_GID = 993, 2044  # host.yaml
IMAGE = f"127.0.0.1:5000/{images.SMALL}"
RANGE = "keen:200000:65536\n"
NODES = f"keen:{KFD_GID}:1\nkeen:{RENDER_GID}:1\n"  # what rootless engines need to map the nodes' groups
OPEN = ": <> /dev/kfd && : <> /dev/dri/renderD128 && echo opened"
Podman = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for the user's home: one that a user namespace can reach, which tests' own folders are not."""
    with tempfile.TemporaryDirectory(prefix="rocenv-keen-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def podman(bed: TestBed, place: Path) -> Podman:
    """Runs a shell's line as the user, by one of the runtimes; `subgid` is the file of that name."""
    for program in ("podman", "crun", "newuidmap", "catatonit"):
        # Debian has catatonit beside the programs that people call.
        assert shutil.which(program, path=f"{space.PATH}:/usr/libexec/podman"), f"{program} is not installed"
    (place / "passwd").write_text(f"root:x:0:0::/root:/bin/sh\nkeen:x:1500:1500::{place}/home:/bin/sh\n")
    (place / "group").write_text(f"root:x:0:\nkeen:x:1500:\nkfd:x:{KFD_GID}:keen\nrender:x:{RENDER_GID}:keen\n")

    def run(runtime: str, line: str, *, subids: str = RANGE, subgid: str = RANGE) -> subprocess.CompletedProcess[str]:
        (place / "subuid").write_text(subids)
        (place / "subgid").write_text(subgid)
        alone = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
        return bed.run(*alone, "sh", str(SCRIPT), runtime, str(place), "sh", "-c", line, as_root=True)

    return run


def doctor(podman: Podman, runtime: str, **files: str) -> dict[str, dict[str, Any]]:
    done = podman(runtime, f"{ROCENV} doctor --engine podman --json", **files)
    assert done.stdout, done.stderr
    return {one["check"]: one for one in json.loads(done.stdout)["findings"]}


PULL = f"podman pull --quiet --tls-verify=false {IMAGE}"
KEEP = f"{PULL} && podman run --rm --device /dev/kfd --device /dev/dri/renderD128 --group-add keep-groups"


def test_crun_keeps_the_groups_and_the_doctor_is_content(podman: Podman) -> None:
    done = podman("crun", f"{KEEP} {IMAGE} sh -c '{OPEN}'")
    assert done.stdout.endswith("opened\n"), done.stderr
    found = doctor(podman, "crun")
    assert [one for one in found.values() if one["verdict"] in ("fail", "warn")] == []
    assert (found["engine.oci-runtime"]["evidence"], found["engine.rootless-gid"]["verdict"]) == ("crun", "ok")


def test_runc_drops_the_groups_without_a_word_and_the_doctor_tells(podman: Podman) -> None:
    done = podman("runc", f"{KEEP} {IMAGE} sh -c '{OPEN}'")
    assert "opened" not in done.stdout
    assert "Permission denied" in done.stderr
    found = doctor(podman, "runc")
    assert (found["engine.oci-runtime"]["verdict"], found["engine.rootless-gid"]["verdict"]) == ("warn", "fail")
    assert "keep-groups" in found["engine.oci-runtime"]["cause"]
    assert f"keen:{KFD_GID}:1" in found["engine.rootless-gid"]["fix"]
    assert f"keen:{RENDER_GID}:1" in found["engine.rootless-gid"]["fix"]
    refused = podman("runc", f"{ROCENV} up terminal --engine podman --image {IMAGE}")
    assert refused.returncode != 0
    assert f":{KFD_GID}:1 | sudo tee -a /etc/subgid" in refused.stderr


def test_what_the_doctor_advises_mends_it(podman: Podman) -> None:
    found = doctor(podman, "runc", subgid=RANGE + NODES)
    assert found["engine.rootless-gid"]["verdict"] == "ok"


@pytest.mark.parametrize(("runtime", "subgid"), [("crun", RANGE), ("runc", RANGE + NODES)])
def test_an_environment_opens_its_nodes(podman: Podman, runtime: str, subgid: str) -> None:
    names = f"--engine podman --image {IMAGE} --gpus all"
    look = f"{OPEN}; touch /workspace/made; id -u"
    within = f"{ROCENV} doctor --engine podman --in terminal > report; echo doctor $?"
    up = f"{ROCENV} up terminal {names} --no-test; {ROCENV} exec --engine podman -- sh -c '{look}'"
    done = podman(runtime, f"{PULL}; {up}; stat -c %u made; {within}; {ROCENV} down --engine podman", subgid=subgid)
    assert done.stdout.splitlines()[-4:] == ["opened", "1500", "1500", "doctor 0"], done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


def test_a_container_that_cannot_be_started_is_told_by_the_engine_s_words(podman: Podman, place: Path) -> None:
    """podman makes the container and leaves it where its runtime fails: here one that stands in and always does."""
    runtime = place / "crun"
    runtime.write_text('#!/bin/sh\ncase " $* " in *" start "*) exit 1; esac\nexec crun "$@"\n')
    runtime.chmod(0o755)
    done = podman(str(runtime), f"{PULL}; {ROCENV} up terminal --engine podman --image {IMAGE} --no-test")
    assert done.returncode == 4
    assert "error: `podman` said: " in done.stderr
    assert "by others" not in done.stderr


def test_a_user_without_subordinate_ids(podman: Podman) -> None:
    found = doctor(podman, "crun", subids="", subgid="")
    assert found["engine.subids"]["verdict"] == "fail"
    assert "--add-subuids" in found["engine.subids"]["fix"]
