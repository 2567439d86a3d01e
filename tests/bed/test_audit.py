"""Images made in the bed by a real compiler and a real engine: the audit, against what the compiler's own tools say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed import images
from bed.demo import ROCENV

if TYPE_CHECKING:
    from conftest import TestBed

IMAGE = "audited:1"
KERNEL = """
#include <hip/hip_runtime.h>
__global__ void add(float *a, const float *b) { a[threadIdx.x] += b[threadIdx.x]; }
extern "C" void launch(float *a, const float *b) { hipLaunchKernelGGL(add, dim3(1), dim3(64), 0, 0, a, b); }
"""
# Debian 13's hipcc (clang 17) compiles; its clang-offload-bundler says what it compiled.
DOCKERFILE = f"""
FROM {images.STAND_IN} AS made
COPY kernel.hip /
RUN hipcc -shared -fPIC --offload-arch=gfx90a --offload-arch=gfx942 --offload-arch=gfx1100 kernel.hip -o libmany.so \
 && hipcc -shared -fPIC --offload-arch=gfx906:xnack- kernel.hip -o libone.so \
 && hipcc --genco --offload-arch=gfx90a:xnack+ --offload-arch=gfx1030 kernel.hip -o loose.hsaco \
 && for file in libmany.so libone.so; do \
      /usr/lib/llvm-17/bin/llvm-objcopy -O binary --only-section=.hip_fatbin $file fatbin \
      && clang-offload-bundler-17 --list --type=o --input=fatbin > $file.list; done \
 && clang-offload-bundler-17 --list --type=o --input=loose.hsaco > loose.hsaco.list
FROM {images.SMALL}
COPY --from=made /libmany.so /libone.so /loose.hsaco /opt/own/
COPY --from=made /libone.so /opt/own/libremoved.so
COPY --from=made /libmany.so /opt/gone/libmany.so
COPY --from=made /libone.so.list /libmany.so.list /loose.hsaco.list /judged/
RUN rm /opt/own/libremoved.so && rm -r /opt/gone && mkdir /opt/gone && echo none > /opt/gone/text
COPY --from=made /libone.so /opt/own/libmany2.so
COPY --from=made /libmany.so /opt/own/libmany2.so
LABEL made.for=audit
USER 1000
ENTRYPOINT ["/bin/sh"]
"""


@pytest.fixture(scope="module")
def made(make_bed: Callable[[Path], TestBed], tmp_path_factory: pytest.TempPathFactory) -> TestBed:
    """The bed with that image on its Docker."""
    bed = make_bed(tmp_path_factory.mktemp("audit") / "project")
    (bed.project / "Dockerfile").write_text(DOCKERFILE)
    (bed.project / "kernel.hip").write_text(KERNEL)
    built = bed.run("env", "DOCKER_BUILDKIT=0", "docker", "build", "--force-rm", "--tag", IMAGE, ".")
    assert built.returncode == 0, built.stdout + built.stderr
    return bed


def audit(bed: TestBed, *words: str) -> dict[str, Any]:
    done = bed.rocenv("audit", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def judged(bed: TestBed, file: str) -> set[str]:
    """The targets in a file by clang-offload-bundler, which ran when the image was made."""
    said = bed.docker("run", "--rm", "--entrypoint=cat", IMAGE, f"/judged/{file}.list").stdout.split()
    return {one.partition("amdhsa--")[2] for one in said if not one.startswith("host-")}


def test_the_audit_says_what_was_compiled_and_what_the_tools_say(made: TestBed) -> None:
    found = audit(made, IMAGE, "--fresh")
    assert found["read_from"] == "engine"
    assert {name: set(targets) for name, targets in found["gfx"].items()} == {
        "many": {"gfx90a", "gfx942", "gfx1100"},
        "many2": {"gfx90a", "gfx942", "gfx1100"},
        "one": {"gfx906:xnack-"},
        "own objects": {"gfx90a:xnack+", "gfx1030"},
    }
    assert set(found["gfx"]["many"]) == judged(made, "libmany.so")
    assert set(found["gfx"]["one"]) == judged(made, "libone.so")
    assert set(found["gfx"]["own objects"]) == judged(made, "loose.hsaco")
    assert (found["user"], found["entrypoint"]) == ("1000", ["/bin/sh"])
    assert set(found["verdicts"]) == {"gfx942"}, "the bed's host has MI300X"
    assert found["verdicts"]["gfx942"]["many"]["verdict"] == "native"
    assert found["verdicts"]["gfx942"]["one"]["verdict"] == "none"
    assert audit(made, found["id"].removeprefix("sha256:")[:12])["gfx"] == found["gfx"], "an id names it too"


def test_the_doctor_knows_what_the_audit_found(made: TestBed) -> None:
    audit(made, IMAGE)
    for gfx, verdict in (("gfx1100", "ok"), ("gfx1201", "fail")):
        done = made.rocenv("doctor", "--image", IMAGE, "--gpu", gfx, "--json")
        found = [one for one in json.loads(done.stdout)["findings"] if one["check"] == "gpu.gfx-supported"]
        assert [one["verdict"] for one in found] == [verdict]
        assert "`rocenv audit`" in found[0]["evidence"]


def test_a_saved_file_says_the_same_as_the_engine(made: TestBed) -> None:
    from_engine = audit(made, IMAGE)
    assert made.docker("save", "--output", "image.tar", IMAGE).returncode == 0
    from_file = audit(made, "./image.tar", "--fresh")
    for key in ("id", "gfx", "libraries", "user", "entrypoint", "groups", "pythons", "machine"):
        assert from_file[key] == from_engine[key]


def test_the_registry_says_the_same_as_the_engine(made: TestBed) -> None:
    assert made.docker("pull", "--quiet", images.SMALL).returncode == 0
    of_engine = audit(made, images.SMALL, "--from", "engine", "--fresh")
    of_registry = audit(made, images.SMALL, "--from", "registry", "--fresh")
    assert of_registry["digest"].startswith("sha256:")
    for key in ("id", "digest", "gfx", "env", "groups", "command", "machine"):
        assert of_registry[key] == of_engine[key]


def test_an_image_that_is_nowhere(made: TestBed) -> None:
    done = made.rocenv("audit", "own/missing:1", "--json")
    assert done.returncode == 5
    assert json.loads(done.stdout)["error"]["kind"] == "image"
    done = made.rocenv("audit", "own/missing:1", "--from", "engine")
    assert done.returncode == 5
    assert "there is no image `own/missing:1` on the engine" in done.stderr


# A docker that sends a signal to whoever calls `docker export`, as somebody would who loses patience.
SHIM = """#!/bin/sh
[ "$1" != export ] || kill -{signal} $PPID
exec {docker} "$@"
"""


@pytest.mark.parametrize(("signal", "left"), [("TERM", 0), ("INT", 0), ("KILL", 1)])
def test_killed_while_it_reads(signal: str, left: int, made: TestBed) -> None:
    held = ("ps", "--all", "--quiet", "--filter", "label=rocenv.name=audit")
    assert made.docker(*held).stdout == "", "an audit that ended leaves nothing"
    path = made.run("sh", "-c", 'command -v docker; echo "$PATH"').stdout.split()
    shim = made.project / signal / "docker"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(signal=signal, docker=path[0]))
    shim.chmod(0o755)
    done = made.run("env", f"PATH={shim.parent}:{path[1]}", str(ROCENV), "audit", IMAGE, "--fresh")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert len(made.docker(*held).stdout.split()) == left
    if left:
        assert made.rocenv("down").returncode == 0
        assert made.docker(*held).stdout == ""
