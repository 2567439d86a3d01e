"""The exact command lines: what `plan` shows and `up` runs."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.made import CRUN, DOCKER, REQUEST, RUNC, gpu, host, plan

from rocenv.model.plan import EngineFacts, Plan
from rocenv.model.wish import ImageWish
from rocenv.render.argv import run_argv, shell_text

TWO = host([gpu(0), gpu(1)], memory_bytes=64 << 30)
COMMAND = run_argv(plan(TWO))
IMAGE = "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"


def golden(made: Plan) -> list[str]:
    """The command line without labels and volumes, whose names are hashes (their words: below)."""
    return [word for word in run_argv(made) if not word.startswith(("--label=", "--mount=type=volume"))]


def test_rootful_docker() -> None:
    assert golden(plan(TWO, caches=("home",))) == [
        "docker", "run", "--detach", "--name=rocenv-demo-pytorch", "--init",
        "--device=/dev/kfd", "--device=/dev/dri/renderD128", "--device=/dev/dri/renderD129",
        "--group-add=109", "--user=1000:1000",
        "--security-opt=no-new-privileges", "--ipc=private", "--shm-size=16g",
        "--env=USER=rocenv", "--env=LOGNAME=rocenv", "--env=HOME=/home/rocenv",
        "--mount=type=bind,source=/home/u/demo,target=/workspace",
        "--workdir=/workspace", "--entrypoint=sleep", IMAGE, "infinity",
    ]  # fmt: skip


def test_one_gpu_of_two_with_everything_that_a_profile_may_add() -> None:
    made = plan(
        TWO, gpus="1", caches=(), env={"NCCL_DEBUG": "INFO", "HF_TOKEN": "$HF_TOKEN"}, ports=("127.0.0.1:8000:8000",),
        mounts=("/data:/data:ro", "weights:/weights"), loosen=("ptrace",), shm_size="512m", user="root",
        image=ImageWish(reference="ghcr.io/example/own:1"),
    )  # fmt: skip
    assert golden(made) == [
        "docker", "run", "--detach", "--name=rocenv-demo-pytorch", "--init",
        "--device=/dev/kfd", "--device=/dev/dri/renderD129", "--group-add=109", "--user=0:0",
        "--security-opt=no-new-privileges", "--cap-add=SYS_PTRACE", "--ipc=private", "--shm-size=512m",
        "--env=NCCL_DEBUG=INFO", "--env=HF_TOKEN",
        "--mount=type=bind,source=/home/u/demo,target=/workspace",
        "--mount=type=bind,source=/data,target=/data,readonly",
        "--publish=127.0.0.1:8000:8000", "--workdir=/workspace", "--entrypoint=sleep",
        "ghcr.io/example/own:1", "infinity",
    ]  # fmt: skip
    assert "--mount=type=volume,source=weights,target=/weights" in run_argv(made)


def test_rootless_podman_with_crun_and_a_subset() -> None:
    assert golden(plan(TWO, engine=CRUN, gpus="0", caches=())) == [
        "podman", "run", "--detach", "--name=rocenv-demo-pytorch", "--init",
        "--device=/dev/kfd", "--device=/dev/dri/renderD128", "--device=/dev/dri/renderD129",
        "--group-add=keep-groups", "--user=1000:1000", "--userns=keep-id",
        "--security-opt=no-new-privileges", "--ipc=private", "--shm-size=16g",
        "--env=USER=rocenv", "--env=LOGNAME=rocenv", "--env=ROCR_VISIBLE_DEVICES=GPU-0000000000000001",
        "--mount=type=bind,source=/home/u/demo,target=/workspace",
        "--workdir=/workspace", "--entrypoint=sleep", f"docker.io/{IMAGE}", "infinity",
    ]  # fmt: skip


def test_rootless_podman_with_runc() -> None:
    words = golden(plan(TWO, engine=RUNC, caches=()))
    assert words[8:16] == [
        "--group-add=109", "--user=1000:1000",
        "--uidmap=0:1:1000", "--uidmap=1000:0:1", "--uidmap=1001:1001:64536",
        "--gidmap=0:1:109", "--gidmap=109:65537:1", "--gidmap=110:110:890",
    ]  # fmt: skip


def test_without_gpus() -> None:
    words = run_argv(plan(TWO, request=REQUEST._replace(cpu=True), caches=()))
    assert not [word for word in words if word.startswith(("--device", "--group-add"))]


def test_a_one_off_command() -> None:
    words = run_argv(
        plan(TWO), detach=False, remove=True, interactive=True, tty=True, command=["python3", "-c", "print(1)"]
    )
    assert words[:5] == ["docker", "run", "--rm", "--interactive", "--tty"]
    assert words[-4:] == ["--entrypoint=python3", IMAGE, "-c", "print(1)"]


def test_labels_stand_on_the_command_line() -> None:
    made = plan(TWO)
    assert {f"--label={name}={value}" for name, value in made.labels.items()} <= set(run_argv(made))


@pytest.mark.parametrize(
    ("folder", "word"),
    [
        ("/a b", "--mount=type=bind,source=/a b,target=/workspace"),
        ("/a,b", "--volume=/a,b:/workspace"),
        ("/a:b", "--mount=type=bind,source=/a:b,target=/workspace"),
    ],
)
def test_paths_with_signs_of_the_engine_s_own(folder: str, word: str) -> None:
    assert word in run_argv(plan(TWO, request=REQUEST._replace(project_folder=folder)))


@settings(deadline=None, max_examples=50)
@given(value=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_a_shell_reads_the_copyable_text_as_the_argv(value: str) -> None:
    words = [*COMMAND[:-3], f"--env=A={value}", *COMMAND[-3:]]
    read = subprocess.run(["sh", "-c", f"printf '%s\\0' {shell_text(words)}"], capture_output=True, check=True)
    assert read.stdout.decode().split("\0")[:-1] == words


def test_no_word_of_the_argv_comes_from_a_shell() -> None:
    made = plan(TWO, env={"A": "$(touch /tmp/x); `id`"}, engine=EngineFacts("docker"))
    assert "--env=A=$(touch /tmp/x); `id`" in run_argv(made)
    assert DOCKER.kind == run_argv(made)[0]
