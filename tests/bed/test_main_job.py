"""The main job, end to end, in the bed: `rocenv up pytorch` on a host with four MI300X, by a user like any other.

One environment with two of the four GPUs serves most tests; those that change it make their own.
"""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed import images, life
from bed.demo import ROCENV

if TYPE_CHECKING:
    from conftest import TestBed

# host.yaml in KFD order: render nodes 128, 136, 152, 144. Chosen below: GPUs 0 and 2.
CHOSEN = ["/dev/dri/renderD128", "/dev/dri/renderD152"]
LEVELS = ["access", "runtime", "kernel", "framework"]
OPEN = "for n in /dev/kfd /dev/dri/*; do if [ -c $n ] && : <>$n; then echo $n; fi; done"


@pytest.fixture(scope="module")
def place(make_bed: Callable[[Path], TestBed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBed]:
    """A project of this module's; whatever stands in it afterwards is removed."""
    bed = make_bed(tmp_path_factory.mktemp("main") / "job").standing_in()
    yield bed
    removed = bed.rocenv("down", "--volumes")
    assert removed.returncode == 0, removed.stderr


@pytest.fixture(scope="module")
def upped(place: TestBed) -> dict[str, Any]:
    """The answer of `rocenv up pytorch` on two of the GPUs."""
    done = place.rocenv("up", "pytorch", "--gpus", "0,2", "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def inside(place: TestBed, upped: dict[str, Any]) -> TestBed:
    """The project with its environment up."""
    return place


def test_up_takes_the_image_that_the_bed_holds(upped: dict[str, Any]) -> None:
    assert upped["status"] == "ok"
    assert upped["environment"]["reference"] == images.STAND_IN
    assert [gpu["render_node"] for gpu in upped["environment"]["gpus"]] == CHOSEN


def test_access_is_proven_and_the_rest_stands_in(upped: dict[str, Any]) -> None:
    """Opening nodes is shown for real; all that needs a driver is a stand-in, and nothing of it passes."""
    probes = upped["proof"]["probes"]
    assert {probe["level"] for probe in probes} == set(LEVELS)
    for probe in probes:
        assert probe["result"] == ("passed" if probe["level"] == "access" else "stand-in"), probe
    assert sorted(probe["gpu"] for probe in probes if probe["level"] == "access" and probe["gpu"] is not None) == [0, 2]


def test_chosen_nodes_open_and_no_other(inside: TestBed, upped: dict[str, Any]) -> None:
    assert inside.rocenv("exec", "--", "bash", "-c", OPEN).stdout.split() == ["/dev/kfd", *CHOSEN]


def test_device_cgroup_denies_the_others(inside: TestBed, upped: dict[str, Any]) -> None:
    """Also under another name, and with rights for everyone: a node is what its number says."""
    numbers = inside.run("stat", "-c", "%T", "/dev/dri/renderD128", "/dev/dri/renderD136").stdout.split()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, minor in zip(("chosen", "other"), numbers, strict=True):
            node = tarfile.TarInfo(name)
            node.type, node.mode, node.devmajor, node.devminor = tarfile.CHRTYPE, 0o666, 4, int(minor, 16)
            tar.addfile(node)
    argv = inside.argv("docker", "cp", "-", f"{upped['environment']['container']}:/opt")
    subprocess.run(argv, env=inside.environment(), input=packed.getvalue(), check=True)
    script = "for n in /opt/chosen /opt/other; do : <>$n && echo $n; done"
    told = inside.rocenv("exec", "--", "bash", "-c", script)
    assert told.stdout.split() == ["/opt/chosen"]
    assert "/opt/other: Operation not permitted" in told.stderr


def test_groups_are_the_nodes_numbers(inside: TestBed) -> None:
    uid, gid = life.user()
    assert inside.rocenv("exec", "--", "id", "-u").stdout.strip() == str(uid)
    assert set(inside.rocenv("exec", "--", "id", "-G").stdout.split()) == {str(gid), "993", "2044"}


def test_no_rights_but_the_least(inside: TestBed, upped: dict[str, Any]) -> None:
    (told,) = json.loads(inside.docker("inspect", upped["environment"]["container"]).stdout)
    host = told["HostConfig"]
    assert (host["Privileged"], host["CapAdd"], host["IpcMode"]) == (False, None, "private")
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert sorted(device["PathInContainer"] for device in host["Devices"]) == sorted(["/dev/kfd", *CHOSEN])


def test_files_belong_to_the_caller(inside: TestBed) -> None:
    assert inside.rocenv("exec", "--", "sh", "-c", "pwd; echo hello > made").stdout.strip() == "/workspace"
    made = inside.project / "made"
    assert made.read_text() == "hello\n"
    assert (made.stat().st_uid, made.stat().st_gid) == life.user()


def test_exit_status_passes_through(inside: TestBed) -> None:
    assert inside.rocenv("exec", "--", "sh", "-c", "exit 42").returncode == 42
    assert inside.rocenv("exec", "no-such-one", "--", "true").returncode == 125


def test_shell_is_a_terminal(inside: TestBed) -> None:
    """A real terminal at both ends: what is typed runs inside, and the size is the caller's."""
    main, other = pty.openpty()
    try:
        subprocess.run(["stty", "rows", "37", "cols", "91"], stdin=other, check=True)
        argv = inside.argv(str(ROCENV), "shell")
        with subprocess.Popen(argv, env=inside.environment(), stdin=other, stdout=other, stderr=other) as shell:
            os.close(other)
            # Docker tells the size once the shell has started: it is waited for.
            os.write(main, b"for i in $(seq 300); do [ \"$(stty size)\" = '37 91' ] && break; sleep 0.1; done\n")
            os.write(main, b"stty size; test -t 1 && echo terminal=$((40 + 2)); exit 7\n")
            told = _all_that_comes(main)
            assert shell.wait() == 7, told
    finally:
        os.close(main)
    assert "37 91" in told
    assert "terminal=42" in told


def test_a_shell_s_prompt_names_the_environment(inside: TestBed) -> None:
    """The image knows no name for the caller's uid: bash alone would greet with `I have no name!`."""
    main, other = pty.openpty()
    try:
        argv = inside.argv(str(ROCENV), "shell")
        with subprocess.Popen(argv, env=inside.environment(), stdin=other, stdout=other, stderr=other):
            os.close(other)
            os.write(main, b"exit\n")
            told = _all_that_comes(main)
    finally:
        os.close(main)
    assert "rocenv@pytorch:/workspace$ " in told


def _all_that_comes(terminal: int) -> str:
    """What a terminal shows until its other end is closed; gives up when nothing has come for a minute."""
    told = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # Linux answers EIO when the last one at the other end has gone
            break
        if not more:
            break
        told += more
    return told.decode(errors="replace")


def test_second_up_uses_what_runs(inside: TestBed, upped: dict[str, Any]) -> None:
    again = inside.rocenv("up", "pytorch", "--gpus", "0,2", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["environment"]["id"] == upped["environment"]["id"]


def test_ps_names_it(inside: TestBed, upped: dict[str, Any]) -> None:
    listed = json.loads(inside.rocenv("ps", "--json").stdout)["environments"]
    (own,) = [there for there in listed if there["id"] == upped["environment"]["id"]]
    assert (own["name"], own["profile"], own["state"]) == ("pytorch", "pytorch", "running")
    assert [gpu["index"] for gpu in own["gpus"]] == [0, 2]


def test_without_the_variable_nothing_stands_in(inside: TestBed, upped: dict[str, Any]) -> None:
    """The image's label alone is not enough: the runtime level fails, with a cause, and ends with 6."""
    done = replace(inside, variables={}).rocenv("test", "--json")
    assert done.returncode == 6
    answer = json.loads(done.stdout)
    assert answer["status"] == "failed"
    assert "stand-in" not in {probe["result"] for probe in answer["probes"]}
    assert all(probe["cause"] for probe in answer["probes"] if probe["result"] in ("failed", "error"))


def test_down_leaves_nothing(bed: TestBed) -> None:
    """All four GPUs, in a project of its own; afterwards no container and no volume of it is left."""
    bed = bed.standing_in()
    before = everything(bed)
    done = bed.rocenv("up", "pytorch", "--name", "short", "--json")
    assert done.returncode == 0, done.stderr
    assert [gpu["index"] for gpu in json.loads(done.stdout)["environment"]["gpus"]] == [0, 1, 2, 3]
    assert everything(bed) != before
    removed = bed.rocenv("down", "--volumes")
    assert removed.returncode == 0, removed.stderr
    assert everything(bed) == before


def everything(bed: TestBed) -> tuple[list[str], list[str], list[str]]:
    """All containers, volumes and networks of the bed's engine."""
    return (
        sorted(bed.docker("ps", "-aq", "--no-trunc").stdout.split()),
        sorted(bed.docker("volume", "ls", "-q").stdout.split()),
        sorted(bed.docker("network", "ls", "-q").stdout.split()),
    )
