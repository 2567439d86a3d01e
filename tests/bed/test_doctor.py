"""Real faults, made in the bed and found: its host has four MI300X, its user is in no group of their nodes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bed import images, life

if TYPE_CHECKING:
    from conftest import TestBed

LABELS = {"version": "0", "profile": "pytorch", "plan": "p", "gpus": "[]", "owner": "1000", "name": "hand"}
KFD_GID, RENDER_GID = 993, 2044  # host.yaml
NODES = ("--device=/dev/kfd", "--device=/dev/dri/renderD128")
GROUPS = (f"--group-add={KFD_GID}", f"--group-add={RENDER_GID}")
Findings = dict[str, list[dict[str, Any]]]


def doctor(bed: TestBed, *words: str, code: int | None = None) -> Findings:
    """What it finds, by check; those from inside a container come after the host's."""
    done = bed.rocenv("doctor", *words, "--json")
    assert done.stdout, done.stderr
    assert code is None or done.returncode == code, done.stdout
    found: Findings = {}
    for one in json.loads(done.stdout)["findings"]:
        found.setdefault(one["check"], []).append(one)
    return found


def verdict(found: Findings, check: str) -> str:
    return str(found[check][-1]["verdict"])


@contextmanager
def by_hand(bed: TestBed, *flags: str) -> Iterator[str]:
    """A container that a person started by hand, with the labels of an environment so that it can be looked into."""
    name = f"rocenv-{bed.project.name}-hand"
    labels = [f"--label=rocenv.{key}={value}" for key, value in {**LABELS, "project": bed.project.name}.items()]
    words = ["run", "-d", "--name", name, *labels, "--user=1000:1000", *flags, images.SMALL, "sleep", "infinity"]
    made = bed.docker(*words)
    assert made.returncode == 0, made.stderr
    try:
        yield name
    finally:
        bed.docker("rm", "-f", name)


@contextmanager
def as_root(bed: TestBed, breaks: str, mends: str) -> Iterator[None]:
    """Something of the host's broken for a while."""
    done = bed.run("sh", "-c", breaks, as_root=True)
    assert done.returncode == 0, done.stderr
    try:
        yield
    finally:
        assert bed.run("sh", "-c", mends, as_root=True).returncode == 0


def test_a_host_that_is_well_gives_no_failure_and_no_warning(bed: TestBed) -> None:
    found = doctor(bed, code=0)
    bad = [one for told in found.values() for one in told if one["verdict"] in ("fail", "warn")]
    assert bad == []
    assert verdict(found, "engine.socket") == "ok"
    assert verdict(found, "engine.same-kernel") == "ok"


def test_a_profile_is_well_too_before_its_image_is_pulled(bed: TestBed) -> None:
    unread = {**bed.variables, "XDG_CACHE_HOME": str(bed.project)}  # nothing is remembered of what is in the stand-in
    found = doctor(replace(bed, variables=unread), "pytorch", code=0)
    for check in ("image.resolve", "gpu.gfx-supported", "driver.userspace", "engine.disk", "profile.plan"):
        assert verdict(found, check) == "ok", found[check]


def test_a_node_of_mode_0600(bed: TestBed) -> None:
    with as_root(bed, "chmod 0600 /dev/kfd", "chmod 0660 /dev/kfd"):
        found = doctor(bed, code=3)
    assert verdict(found, "kfd.access") == "fail"
    assert "/etc/udev/rules.d/70-amdgpu.rules" in found["kfd.access"][0]["fix"]


def test_a_node_that_is_gone(bed: TestBed) -> None:
    with as_root(bed, "mv /dev/kfd /dev/kfd-away", "mv /dev/kfd-away /dev/kfd"):
        found = doctor(bed, code=3)
    assert verdict(found, "kfd.present") == "fail"
    assert found["kfd.open"][0]["evidence"] == "because kfd.present failed"


def test_a_folder_that_docker_made_in_the_node_s_place(bed: TestBed, small_image: str) -> None:
    with as_root(bed, "mv /dev/kfd /dev/kfd-away", "rmdir /dev/kfd; mv /dev/kfd-away /dev/kfd"):
        made = bed.docker("run", "--rm", "--volume=/dev/kfd:/dev/kfd", small_image, "true")
        assert made.returncode == 0, made.stderr
        refused = bed.docker("run", "--rm", "--device=/dev/kfd", small_image, "true")
        found = doctor(bed, "--symptom", refused.stderr, code=3)
    assert next(iter(found)) == "kfd.present", refused.stderr
    assert "/dev/kfd is a folder" in found["kfd.present"][0]["evidence"]
    assert "sudo rmdir /dev/kfd" in found["kfd.present"][0]["fix"]


def test_a_socket_that_this_user_may_not_use(bed: TestBed) -> None:
    with as_root(bed, "chmod 0600 /run/docker.sock", "chmod 0660 /run/docker.sock"):
        found = doctor(bed)
    assert verdict(found, "engine.socket") == "fail"
    assert "EACCES" in found["engine.socket"][0]["evidence"]
    assert "usermod -aG docker" in found["engine.socket"][0]["fix"]


def test_a_daemon_that_does_not_run(bed: TestBed) -> None:
    with as_root(bed, "mv /run/docker.sock /run/docker.away", "mv /run/docker.away /run/docker.sock"):
        found = doctor(bed)
    assert verdict(found, "engine.socket") == "fail"
    assert "ENOENT" in found["engine.socket"][0]["evidence"]


@pytest.mark.parametrize(
    ("tag", "state"),
    [("rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.99.0", "manifest unknown"),
     ("rocm/no-such-thing:1", "no such repository"), ("127.0.0.1:1/a/b:1", "cannot be reached")],
)  # fmt: skip
def test_images_that_cannot_be_had(bed: TestBed, tag: str, state: str) -> None:
    found = doctor(bed, "--image", tag, code=5)
    assert state in found["image.resolve"][0]["cause"]


def test_a_container_with_everything_it_needs(bed: TestBed) -> None:
    with by_hand(bed, *NODES, *GROUPS, "--shm-size=2g"):
        found = doctor(bed, "--in", "hand")
    for check in ("kfd.open", "kfd.access", "render.open", "render.access", "container.shm"):
        assert verdict(found, check) == "ok", found[check]
        assert found[check][-1]["evidence"].startswith("inside rocenv-")


@pytest.mark.parametrize("kfd", [(), ("--group-add=109",)])
def test_a_container_without_the_group_or_with_another_host_s(bed: TestBed, kfd: tuple[str, ...]) -> None:
    with by_hand(bed, *NODES, *kfd, f"--group-add={RENDER_GID}"):
        found = doctor(bed, "--in", "hand", code=3)
    assert verdict(found, "kfd.access") == "fail"
    assert f"--group-add={KFD_GID}" in found["kfd.access"][-1]["fix"]
    assert verdict(found, "render.access") == "ok"


def test_a_node_that_is_mounted_and_not_passed(bed: TestBed) -> None:
    with by_hand(bed, "--volume=/dev/kfd:/dev/kfd", "--device=/dev/dri/renderD128", *GROUPS):
        found = doctor(bed, "--in", "hand", code=3)
    assert verdict(found, "kfd.open") == "fail"
    assert "EPERM" in found["kfd.open"][-1]["evidence"]
    assert "--device=/dev/kfd" in found["kfd.open"][-1]["fix"]


def test_a_container_without_nodes(bed: TestBed) -> None:
    with by_hand(bed, *GROUPS):
        found = doctor(bed, "--in", "hand", code=3)
    assert verdict(found, "kfd.present") == "fail"
    assert "without it" in found["kfd.present"][-1]["cause"]


def test_the_engine_s_own_shared_memory_is_too_small(bed: TestBed) -> None:
    with by_hand(bed, *NODES, *GROUPS):
        found = doctor(bed, "--in", "hand")
    assert verdict(found, "container.shm") == "warn"
    assert "64 MiB" in found["container.shm"][-1]["evidence"]


def test_a_container_of_another_boot_is_started_again(bed: TestBed) -> None:
    """The driver is loaded anew, and /dev/kfd has another number: a container that runs since has the old one."""
    number = bed.run("stat", "-c", "%t %T", "/dev/kfd").stdout.split()
    old = " ".join(str(int(part, 16)) for part in number)
    again = f"chgrp {KFD_GID} /dev/kfd"
    renewed = f"rm /dev/kfd && mknod -m 0660 /dev/kfd c 10 237 && {again}"
    with by_hand(bed, *NODES, *GROUPS) as name:
        assert verdict(doctor(bed), "container.devnum") == "ok"
        with as_root(bed, renewed, f"rm /dev/kfd && mknod -m 0660 /dev/kfd c {old} && {again}"):
            found = doctor(bed)
            assert verdict(found, "container.devnum") == "warn"
            assert name in found["container.devnum"][0]["evidence"]
            shown = bed.rocenv("doctor", "--fix", "--dry-run")
            assert f"would run `docker restart {name}`" in shown.stderr
            assert verdict(doctor(bed), "container.devnum") == "warn"
            mended = bed.rocenv("doctor", "--fix")
            assert f"done: run `docker restart {name}`" in mended.stderr, mended.stderr
            assert verdict(doctor(bed), "container.devnum") == "ok"


def test_a_specification_that_names_a_node_that_is_gone(bed: TestBed) -> None:
    folder = bed.project / "config" / "cdi"
    folder.mkdir(parents=True)
    node = {"path": "/dev/dri/renderD199", "major": 226, "minor": 199}
    spec = {"cdiVersion": "0.5.0", "kind": "amd.com/gpu", "devices": [{"name": "0", "containerEdits": {
        "deviceNodes": [node]}}]}  # fmt: skip
    (folder / "amd.json").write_text(json.dumps(spec))
    assert bed.run("chown", "-R", f"{life.user()[0]}", str(folder), as_root=True).returncode == 0
    here = ("env", f"XDG_CONFIG_HOME={bed.project}/config", *rocenv())
    told = {one["check"]: one for one in json.loads(bed.run(*here, "doctor", "--json").stdout)["findings"]}
    assert told["engine.cdi-fresh"]["verdict"] == "warn"
    assert "/dev/dri/renderD199 is not there" in told["engine.cdi-fresh"]["evidence"]
    assert bed.run(*here, "cdi", "check").returncode == 3
    mended = bed.run(*here, "doctor", "--fix")
    assert f"\ndone: make `{folder}/amd.json` anew" in mended.stderr, mended.stderr
    checked = bed.run(*here, "cdi", "check")
    assert (checked.returncode, checked.stdout) == (0, f"{folder}/amd.json: ok\n")
    assert "amd.com/gpu=0000:05:00.0" in bed.run(*here, "cdi", "list").stdout


def rocenv() -> list[str]:
    from bed.demo import ROCENV

    return [str(ROCENV)]


def test_a_second_engine_s_images(bed: TestBed) -> None:
    place = bed.project / "home/.local/share/docker/image/overlay2"
    place.mkdir(parents=True)
    (place / "repositories.json").write_text('{"Repositories":{"a":{"a:1":"sha256:00"}}}')
    done = bed.run("env", f"HOME={bed.project}/home", *rocenv(), "doctor", "--json")
    told = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert ".local/share/docker" in told["engine.second-store"]["evidence"]


def test_a_bundle_of_a_real_engine_comes_back(bed: TestBed) -> None:
    file = str(bed.project / "b.tar.gz")
    first = doctor(bed, "--save", file, code=0)
    again = doctor(bed, "--host", file, code=0)
    for check in ("engine.socket", "engine.same-kernel", "engine.disk", "kfd.topology", "kfd.access"):
        assert again[check][0]["verdict"] == first[check][0]["verdict"], check


# What people type, and the check that knows why it fails: the words are those of the Docker that is here.
WRONG = [
    (("--group-add=render",), images.SMALL, "argv.group-names"),
    (("--device=/dev/fdk",), images.SMALL, "argv.device-exists"),
    (("--device=/dev/dri/renderD199",), images.SMALL, "argv.device-exists"),
    (("--gpus=all",), images.SMALL, "argv.gpus-flag"),
    (("--runtime=amd",), images.SMALL, "argv.runtime"),
    ((), "127.0.0.1:5000/rocenv/small:nope", "image.resolve"),
    ((), "127.0.0.1:1/rocenv/small:1", "image.resolve"),
]


@pytest.mark.parametrize(("flags", "image", "check"), WRONG)
def test_the_words_of_a_docker_that_failed(
    bed: TestBed, small_image: str, flags: tuple[str, ...], image: str, check: str
) -> None:
    line = ["run", "--rm", *flags, image, "true"]
    failed = bed.docker(*line)
    assert failed.returncode != 0
    found = doctor(bed, "--symptom", failed.stderr, "--argv", shlex.join(["docker", *line]), "--image", image)
    bad = [one for told in found.values() for one in told if one["verdict"] == "fail"]
    assert bad[0]["check"] == check, (failed.stderr, [one["check"] for one in bad])


def test_what_rocm_itself_says(bed: TestBed) -> None:
    """rocminfo without the nodes, and without their groups."""
    user = "--user=1000:1000"
    pulled = bed.docker("pull", "--quiet", images.STAND_IN)
    assert pulled.returncode == 0, pulled.stderr
    for flags, check in (((), "kfd.present"), ((*NODES, user), "kfd.access")):
        said = bed.docker("run", "--rm", *flags, images.STAND_IN, "rocminfo")
        assert said.returncode != 0
        assert check in doctor_points(bed, said.stdout + said.stderr), said.stdout + said.stderr


def doctor_points(bed: TestBed, text: str) -> str:
    """The line in which the doctor says what a text points to."""
    return bed.rocenv("doctor", "--symptom", text).stderr
