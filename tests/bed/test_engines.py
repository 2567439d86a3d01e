"""One suite for every engine, for real: Docker 20.10, 26, 28 or newer; podman rootful and rootless, by crun and runc.

And every way by which GPUs come in. The nodes are those of the bed, each with a number of its own; a node of another
GPU's number that lies in /workspace tells whether the device cgroup holds.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from bed import engines, images, life
from bed.demo import ROCENV
from bed.newer import BED, Newer, dockerd
from bed.place import remove_tree

if TYPE_CHECKING:
    from conftest import TestBed

HERE = Path(__file__).parent
CDI_ON = {"experimental": True, "features": {"cdi": True}}
# host.yaml: GPU 1 of KFD's order is the first on the bus.
CHOSEN, OTHER, BDF, UUID = "renderD136", "renderD128", "0000:05:00.0", "GPU-5a1c07d2e9b34f02"
PARTITION = "0000:65:00.0_2"
IMAGE = f"127.0.0.1:5000/{images.SMALL}"
UP = ("up", "terminal", "--image", images.SMALL, "--gpus", "1", "--no-test")
OPEN = f": <>/dev/kfd && : <>/dev/dri/{CHOSEN} && echo opened"
LOOK = f"ls /dev/dri && stat -c '%a %u %g' /dev/kfd /dev/dri/{CHOSEN} && id -u"
# The life of an environment, told line by line; podman's words keep rootless containers within one command.
LIFE = f"""
rocenv() {{ {ROCENV} "$@"; }}
rocenv up terminal --image $IMAGE --gpus 1 --no-test $MORE 2> err; echo up $?
rocenv up terminal --image $IMAGE --gpus 1 --no-test $MORE 2>&1 | grep -o 'runs already'
rocenv exec $ENGINE -- sh -c "{OPEN}; id -u"
for node in chosen other; do rocenv exec $ENGINE -- sh -c ": <>/workspace/$node && echo reached $node" 2>&1; done
rocenv ps $ENGINE --json > ps
rocenv down $ENGINE --volumes 2> down; echo down $?
rocenv ps $ENGINE --json > left
"""


def life_of(run: Callable[[str], CompletedProcess[str]], project: Path, words: str) -> list[str]:
    """What is told of an environment's life in `project` on an engine; it was listed while it was there."""
    project.mkdir(parents=True, exist_ok=True)
    nodes = " && ".join(
        f"mknod -m 0666 {project}/{name} c $(stat -c '0x%t 0x%T' /dev/dri/{node})"
        for name, node in (("chosen", CHOSEN), ("other", OTHER))
    )
    assert life.run(BED, ["sh", "-c", nodes], as_root=True).returncode == 0
    done = run(f"{words}\n{LIFE}")
    assert "down 0" in done.stdout, done.stdout + done.stderr + (project / "err").read_text()
    listed, left = (json.loads((project / name).read_text())["environments"] for name in ("ps", "left"))
    mine = [one for one in listed if one["name"] == "terminal" and one["gpus"]]
    assert [one["gpus"][0]["bdf"] for one in mine if one["project"] in str(project)] == [BDF]
    assert not [one for one in left if one["project"] in str(project)]
    return done.stdout.splitlines()


def isolated(user: int) -> list[str]:
    """What an engine with a device cgroup lets happen: `user` opens what was chosen and nothing else."""
    denied = "sh: can't create /workspace/other: Operation not permitted"
    return ["up 0", "runs already", "opened", str(user), "reached chosen", denied, "down 0"]


@pytest.fixture(scope="module", params=engines.SUITES)
def docker(request: pytest.FixtureRequest, small_image: str) -> Iterator[Newer]:
    """A newer Docker that has CDI on, and the stand-in for AMD's runtime."""
    with dockerd(request.param, CDI_ON, amd=True) as one:
        yield one


@pytest.fixture
def there(docker: Newer, bed: TestBed) -> Iterator[TestBed]:
    """The bed's project on that Docker; its environments and specifications are gone afterwards."""
    here = docker.seen_from(bed)
    yield here
    here.rocenv("down", "--volumes")
    for file in (docker.folder / "cdi").iterdir():
        file.unlink()


def generated(bed: TestBed, folder: Path) -> Path:
    file = folder / "rocenv.json"
    done = bed.run(str(ROCENV), "cdi", "generate", f"--output={file}", as_root=True)
    assert done.returncode == 0, done.stderr
    return file


def test_a_life_on_the_bed_s_docker(bed: TestBed, small_image: str) -> None:
    words = f"IMAGE={images.SMALL}"
    assert life_of(lambda line: bed.run("sh", "-c", line), bed.project, words) == isolated(life.user()[0])


@pytest.mark.parametrize(
    ("docker", "way"),
    [("trixie", "devices"), ("trixie", "cdi"), ("testing", "devices"), ("testing", "cdi"), ("testing", "runtime")],
    indirect=["docker"],
)
def test_a_life_on_a_newer_docker(docker: Newer, there: TestBed, way: str) -> None:
    generated(there, docker.folder / "cdi")
    words = f"IMAGE={images.SMALL}; MORE='--via {way}'"
    assert life_of(lambda line: there.run("sh", "-c", line), there.project, words) == isolated(life.user()[0])


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for podman's store and the project: one that a user namespace can reach."""
    folder = Path(tempfile.mkdtemp(prefix="rocenv-pod-"))
    folder.chmod(0o755)
    (folder / "cdi").mkdir()
    yield folder
    life.run(BED, ["sh", "-c", "rmdir /sys/fs/cgroup/*/libpod_parent"], as_root=True)  # where it is empty
    remove_tree(folder)


@pytest.mark.parametrize("way", ["devices", "cdi"])
def test_a_life_on_rootful_podman(bed: TestBed, place: Path, way: str) -> None:
    """root calls it, for another user inside."""
    generated(bed, place / "cdi")
    words = f"ENGINE='--engine podman' IMAGE={IMAGE} MORE='--engine podman --user 1500:1500 --via {way}'"
    pull = f"podman pull --quiet --tls-verify=false {IMAGE} > pulled"

    def run(line: str) -> CompletedProcess[str]:
        script = ("sh", str(HERE / "rootful.sh"), str(BED.run), str(place), "sh", "-c", f"{pull}\n{line}")
        return bed.run("unshare", "--mount", *script, as_root=True)

    assert life_of(run, place / "project", words) == isolated(1500)


def one_who_may(place: Path, *, nodes: bool) -> Path:
    """A user in the nodes' groups, and the groups for user namespaces where `nodes` says so; the user's project."""
    (place / "passwd").write_text(f"root:x:0:0::/root:/bin/sh\nkeen:x:1500:1500::{place}/home:/bin/sh\n")
    (place / "group").write_text("root:x:0:\nkeen:x:1500:\nkfd:x:993:keen\nrender:x:2044:keen\n")
    (place / "subuid").write_text("keen:200000:65536\n")
    (place / "subgid").write_text("keen:200000:65536\n" + ("keen:993:1\nkeen:2044:1\n" if nodes else ""))
    return place / "home/project"


ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh")


@pytest.mark.parametrize(("runtime", "way"), [("crun", "devices"), ("crun", "cdi"), ("runc", "cdi")])
def test_a_life_on_rootless_podman(bed: TestBed, place: Path, runtime: str, way: str) -> None:
    """It has no device cgroup: every node is there, a variable chooses, and that is said."""
    generated(bed, place / "cdi")
    project = one_who_may(place, nodes=runtime == "runc")
    words = f"ENGINE='--engine podman' IMAGE={IMAGE} MORE='--engine podman --via {way}'"
    pull = f"podman pull --quiet --tls-verify=false {IMAGE} > pulled"
    script = (str(HERE / "rootless.sh"), runtime, str(place), "sh", "-c")
    told = life_of(lambda line: bed.run(*ALONE, *script, f"{pull}\n{line}", as_root=True), project, words)
    assert told == ["up 0", "runs already", "opened", "1500", "reached chosen", "reached other", "down 0"]
    assert "rootless podman cannot isolate a part of the GPUs" in (project / "err").read_text()


@pytest.mark.parametrize("way", ["devices", "cdi"])
def test_a_life_on_rootless_docker(bed: TestBed, place: Path, small_image: str, way: str) -> None:
    """The same, and the groups have other numbers inside; root there is the caller outside."""
    generated(bed, place / "cdi")
    project = one_who_may(place, nodes=True)
    image = place / "image.tar"
    assert bed.run("docker", "save", f"--output={image}", small_image, as_root=True).returncode == 0
    image.chmod(0o644)
    script = (str(HERE / "rootless-docker.sh"), str(place), str(engines.unpacked("testing")), str(image), "sh", "-c")
    words = f"IMAGE={small_image} MORE='--via {way}'"
    told = life_of(lambda line: bed.run(*ALONE, *script, line, as_root=True), project, words)
    assert told == ["up 0", "runs already", "opened", "0", "reached chosen", "reached other", "down 0"]
    assert "rootless docker cannot isolate a part of the GPUs" in (project / "err").read_text()


def test_by_cdi_a_gpu_comes_in_by_name_with_its_own_owners(docker: Newer, there: TestBed) -> None:
    refused = there.rocenv(*UP, "--via", "cdi")
    assert refused.returncode == 3
    assert f"rocenv cdi generate --output={docker.folder}/cdi/rocenv.json`" in refused.stderr
    file = generated(there, docker.folder / "cdi")
    done = there.rocenv(*UP, "--via", "cdi", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert f"--device=amd.com/gpu={BDF}" in answer["plan"]["argv"]
    told = json.loads(there.docker("inspect", answer["container"]).stdout)[0]["HostConfig"]
    assert (told["DeviceRequests"][0]["DeviceIDs"], told["Devices"]) == ([f"amd.com/gpu={BDF}"], [])
    inside = there.rocenv("exec", "--", "sh", "-c", LOOK)
    assert inside.stdout.splitlines() == [CHOSEN, "660 0 993", "660 0 2044", str(life.user()[0])], inside.stderr
    other = there.rocenv(*UP)
    assert (other.returncode, "via: cdi → none" in other.stderr) == (2, True), other.stderr
    file.write_text(file.read_text().replace(CHOSEN, "renderD191"))
    stale = there.rocenv(*UP, "--via", "cdi", "--recreate")
    assert (stale.returncode, f"--output={file}`" in stale.stderr) == (3, True), stale.stderr


def test_every_kind_of_name_is_taken_and_the_group_is_still_needed(docker: Newer, there: TestBed) -> None:
    file = generated(there, docker.folder / "cdi")
    spec = json.loads(file.read_text())
    spec["devices"].append({**spec["devices"][0], "name": PARTITION})  # the bed has none: the engine reads the name
    file.write_text(json.dumps(spec))
    for name, count in (("0", 1), (PARTITION, 1), (UUID, 1), ("all", 4)):
        words = ("run", "--rm", "--user=1500:1500", f"--device=amd.com/gpu={name}", images.SMALL, "sh", "-c")
        found = there.docker(*words, "ls /dev/dri; : <>/dev/kfd")
        assert len(found.stdout.split()) == count, f"{name}: {found.stderr}"
        assert "Permission denied" in found.stderr


@pytest.mark.parametrize("docker", ["testing"], indirect=True)
def test_run_takes_the_same_way(docker: Newer, there: TestBed) -> None:
    generated(there, docker.folder / "cdi")
    words = ["run", "terminal", "--image", images.SMALL, "--gpus", "1", "--via", "cdi", "--", "sh", "-c", LOOK]
    assert there.rocenv(*words).stdout.startswith(f"{CHOSEN}\n660 0 993\n")


@pytest.mark.parametrize("docker", ["testing"], indirect=True)
def test_by_the_runtime_the_card_comes_along_and_the_plan_says_so(there: TestBed) -> None:
    done = there.rocenv(*UP, "--via", "runtime", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)["plan"]
    assert {"--runtime=amd", "--env=AMD_VISIBLE_DEVICES=0x5a1c07d2e9b34f02"} <= set(plan["argv"])
    card, render = there.rocenv("exec", "--", "ls", "/dev/dri").stdout.split()
    assert plan["devices"] == ["/dev/kfd", f"/dev/dri/{render}", f"/dev/dri/{card}"]


def test_an_engine_that_has_neither_way(bed: TestBed, small_image: str) -> None:
    with dockerd("trixie", {"features": {"cdi": False}}) as one:
        here = one.seen_from(bed)
        by_cdi, by_runtime = (here.rocenv(*UP, "--via", way) for way in ("cdi", "runtime"))
    assert (by_cdi.returncode, by_runtime.returncode) == (4, 4)
    assert "has CDI switched off" in by_cdi.stderr
    assert "docker has no runtime `amd`" in by_runtime.stderr
