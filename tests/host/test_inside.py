"""What the script tells from inside a container, read into the facts of a host; its words in three shells."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from plan.made import gpu, host

from rocenv.host.inside import SCRIPT, read_inside
from rocenv.model.host import Caller

RENDER = "/dev/dri/renderD128"
OUTSIDE = host([gpu(0), gpu(1)])
TEXT = """\
ids: 1000 1000 1000 993
list: crw-rw---- 1 0 993 235, 0 Dec  1 10:00 /dev/kfd
open: /dev/kfd
list: crw-rw---- 1 0 2044 226, 128 Dec  1 10:00 /dev/dri/renderD128
open: /dev/dri/renderD128 sh: 1: cannot open /dev/dri/renderD128: Permission denied
node: 0
node: 1
uid_map: 0          0 4294967295
seccomp: Seccomp:\t2
shm: shm 65536 0 65536 0% /dev/shm
group: root:x:0:
group: render:x:109:dev
env: HSA_X=1=2
env: PATH=/bin
end: of it
"""


def test_the_process_in_there_is_the_caller() -> None:
    seen = read_inside(TEXT, OUTSIDE)
    assert seen.host.caller == Caller(1000, 1000, (1000, 993))
    assert (seen.host.environment, seen.host.user_namespace, seen.host.group_render) == ("container", False, 109)
    kfd, render = seen.host.devices
    assert (kfd.path, kfd.major, kfd.mode, kfd.granted_by) == ("/dev/kfd", 235, 0o660, "group 993")
    assert (render.path, render.minor, render.accessible, render.refused_by) == (RENDER, 128, False, "EACCES")
    assert [(one.path, one.errno) for one in seen.health.opens] == [
        ("/dev/kfd", None),
        (RENDER, "EACCES"),
    ]
    assert (seen.health.shm_bytes, seen.health.seccomp) == (64 << 20, 2)
    assert seen.env["HSA_X"] == "1=2"
    assert seen.image.groups == {"root": 0, "render": 109}


def test_gpus_that_cannot_be_read_in_there_are_not_there() -> None:
    assert [one.kfd_node for one in read_inside(TEXT, OUTSIDE).host.gpus] == [1]
    assert read_inside(TEXT.replace("node: 1\n", ""), OUTSIDE).host.gpus == ()


@pytest.mark.parametrize(
    ("words", "errno"),
    [("Operation not permitted", "EPERM"), ("Invalid argument", "EINVAL"), ("No such device or address", "ENXIO"),
     ("Cannot allocate memory", "ENOMEM"), ("Device or resource busy", "EBUSY"), ("Something new", "EIO")],
)  # fmt: skip
@pytest.mark.parametrize("said", ["sh: 1: cannot open /dev/kfd: {}", "sh: can't open /dev/kfd: {}", "/dev/kfd: {}"])
def test_the_words_of_each_shell_are_an_errno(words: str, errno: str, said: str) -> None:
    text = TEXT.replace("open: /dev/kfd\n", f"open: /dev/kfd {said.format(words)}\n")
    assert read_inside(text, OUTSIDE).health.opens[0].errno == errno


@pytest.mark.parametrize("text", ["", "ids: x\nlist: junk\nopen:\nshm: a\nseccomp: b\nuid_map: \ngroup: a:b\nnode: z"])
def test_junk_is_no_crash(text: str) -> None:
    seen = read_inside(text, OUTSIDE)
    assert (seen.host.devices, seen.host.gpus, seen.health.shm_bytes) == ((), (), None)


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_the_script_runs_in_each_shell(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not here")
    words = [program, "sh", "-s"] if shell == "busybox" else [program, "-s"]
    done = subprocess.run(words, input=SCRIPT.read_bytes(), capture_output=True, check=True)
    text = done.stdout.decode()
    assert text.endswith("end: of it\n")
    assert done.stderr == b""
    assert read_inside(text, OUTSIDE).host.caller.uid == os.getuid()
