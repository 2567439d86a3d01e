"""Projects really compiled: the examples, hipified and built for three targets, judged by the compiler's own tools."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bed import images
from lifecycle.test_build import BUILDKIT

if TYPE_CHECKING:
    from conftest import TestBed

EXAMPLES = Path(__file__).parents[2] / "examples"
TARGETS = ("gfx90a", "gfx942", "gfx1100")
RUNTIME, POOR = "rocenv-test/hip-runtime:1", "rocenv-test/poor-runtime:1"
# Busybox and what HIP's runtime loads, and a stand-in without that runtime: the results are put into them.
DOCKERFILE = f"""
FROM {images.STAND_IN} AS whole
RUN hip=/usr/lib/x86_64-linux-gnu/libamdhip64.so.5 && mkdir /kept \\
 && cp -L --parents $hip $(ldd $hip | grep -o '/[^ ]*') /kept
FROM {images.SMALL} AS runtime
COPY --from=whole /kept /
ENV LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu
FROM {images.STAND_IN} AS poor
RUN rm /usr/lib/x86_64-linux-gnu/libamdhip64.so.5*
"""


@pytest.fixture(scope="module")
def runtimes(make_bed: Callable[[Path], TestBed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBed]:
    bed = make_bed(tmp_path_factory.mktemp("runtime") / "project")
    bed = replace(bed, variables={**bed.variables, **BUILDKIT, "DOCKER_BUILDKIT": "1"})
    (bed.project / "Dockerfile").write_text(DOCKERFILE)
    assert bed.docker("pull", "--quiet", images.STAND_IN).returncode == 0
    for tag in (RUNTIME, POOR):
        done = bed.docker("build", f"--target={tag.partition('/')[2].split('-')[0]}".replace("hip", "runtime"),
                          f"--tag={tag}", ".")  # fmt: skip
        assert done.returncode == 0, done.stderr
    yield bed
    bed.docker("rmi", "-f", RUNTIME, POOR)


@pytest.fixture
def home(runtimes: TestBed, bed: TestBed) -> Iterator[TestBed]:
    yield replace(bed, variables=runtimes.variables)
    for name in ("vector-add", "cuda-port"):
        built = bed.docker("images", "-q", f"--filter=label=rocenv.image.profile={name}").stdout.split()
        if built:
            bed.docker("rmi", "-f", *dict.fromkeys(built))


def put(home: TestBed, example: str, **source: str) -> None:
    """Lay an example out as the project, with a few words of its `source` changed."""
    shutil.copytree(EXAMPLES / example, home.project, dirs_exist_ok=True)
    file = home.project / "rocenv.yaml"
    changed = "".join(f", {key}: '{value}'" for key, value in source.items())
    file.write_text(file.read_text().replace("]}", f"]{changed}}}").replace("saxpy}", f"saxpy{changed}}}"))


def build(home: TestBed) -> str:
    targets = [word for target in TARGETS for word in ("--gfx", target)]
    done = home.rocenv("build", "--json", "--image", images.STAND_IN, *targets)
    assert done.returncode == 0, done.stderr
    reference: str = json.loads(done.stdout)["reference"]
    return reference


def listed(home: TestBed, reference: str, program: str) -> set[str]:
    """The targets in a program of an image, as clang-offload-bundler of the stand-in's clang reads them."""
    held = home.docker("create", reference).stdout.strip()
    try:
        home.docker("cp", f"{held}:/opt/project/bin/{program}", "built")
    finally:
        home.docker("rm", held)
    script = (
        "/usr/lib/llvm-17/bin/llvm-objcopy -O binary --only-section=.hip_fatbin /p/built /tmp/fatbin"
        " && clang-offload-bundler-17 --list --type=o --input=/tmp/fatbin"
    )
    mount = f"--volume={home.project}:/p:ro"
    said = home.docker("run", "--rm", "--network=none", mount, "--entrypoint=sh", images.STAND_IN, "-c", script)
    assert said.returncode == 0, said.stderr
    return {one.partition("amdhsa--")[2] for one in said.stdout.split() if not one.startswith("host-")}


@pytest.mark.parametrize(("example", "program"), [("hip-vector-add", "vector-add"), ("cuda-port", "saxpy")])
def test_an_example_is_compiled_for_three_targets(home: TestBed, example: str, program: str) -> None:
    """No GPU is here: the program starts in the runtime image, finds its libraries, and HIP says that it has none."""
    put(home, example, runtime=RUNTIME)
    reference = build(home)
    assert listed(home, reference, program) == set(TARGETS)
    audit = json.loads(home.rocenv("audit", reference, "--from", "engine", "--json").stdout)
    assert set(audit["gfx"][program]) == set(TARGETS)
    ran = home.docker("run", "--rm", "--network=none", reference)
    assert ran.returncode == 1
    assert re.search("invalid device ordinal|no ROCm-capable device", ran.stderr), "HIP 5.7 says so without a GPU"
    seen = home.docker("run", "--rm", "--network=none", reference, "sh", "-c", "ls /usr/src; command -v hipcc").stdout
    assert seen == "", "neither the sources nor the compiler are in the image"
    labels = json.loads(home.docker("image", "inspect", "--format", "{{json .Config.Labels}}", reference).stdout)
    assert labels["rocenv.image.gfx"] == ",".join(TARGETS)
    assert labels["rocenv.image.runtime"] == RUNTIME


def test_a_runtime_that_lacks_a_library_ends_the_build(home: TestBed) -> None:
    put(home, "hip-vector-add", runtime=POOR)
    done = home.rocenv("build", "--image", images.STAND_IN, "--gfx", "gfx942")
    assert done.returncode == 5, done.stderr
    assert "error: rocenv: the runtime image lacks what the program loads" in done.stderr
    assert "libamdhip64.so.5 => not found" in done.stderr


def test_what_is_no_cuda_ends_the_build(home: TestBed) -> None:
    put(home, "hip-vector-add", hipify="perl")
    (home.project / "vector_add.hip").write_text("int main() {}\n")
    done = home.rocenv("build", "--image", images.STAND_IN, "--gfx", "gfx942")
    assert done.returncode == 5, done.stderr
    assert "error: rocenv: there is no CUDA source in build.source.folder" in done.stderr
    assert "error: building `rocenv/vector-add:" in done.stderr


def test_a_tool_that_the_image_lacks_is_named(home: TestBed) -> None:
    put(home, "hip-vector-add")
    (home.project / "CMakeLists.txt").touch()
    file = home.project / "rocenv.yaml"
    file.write_text(file.read_text().replace("{files: [vector_add.hip]}", "{hipify: clang}"))
    done = home.rocenv("build", "--image", images.STAND_IN, "--gfx", "gfx942")
    assert done.returncode == 5
    assert "error: rocenv: the image that compiles has no hipify-clang" in done.stderr
