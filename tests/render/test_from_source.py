"""Projects that are compiled: for which targets, in which image, and what the result is put into."""

from __future__ import annotations

from typing import Any

import pytest
from render.recipes import DEV, dockerfile, packages

from rocenv.checks.files.dockerfile_reading import Stage, read
from rocenv.errors import UsageError
from rocenv.model.wish import SourceWish


def text(reference: str = DEV, *, build: dict[str, Any] | None = None, **source: Any) -> str:
    wish = {"files": ("add.hip",), **source}
    return dockerfile(reference, template="from-source", context=".", source=SourceWish(**wish), **(build or {}))


def stages(written: str) -> tuple[Stage, Stage]:
    compiling, running = read(written, "Dockerfile").stages
    return compiling, running


def test_hipcc_compiles_for_the_hosts_targets_and_no_other() -> None:
    written = text(build={"gfx": ("gfx90a", "gfx1100")}, options=("-lrocblas",))
    step = " ".join(next(line for line in written.split("\nRUN ") if "hipcc -O3" in line).split("\n\n")[0].split())
    assert step == (
        "mkdir -p /opt/project/bin \\ && hipcc -O3 --offload-arch=gfx90a --offload-arch=gfx1100 "
        "-o /opt/project/bin/pytorch \\ -x hip ./add.hip -x none -lrocblas"
    )
    assert "--offload-arch=gfx942 " in text()  # the plan's GPU


def test_cmake_gets_the_targets_under_each_name_that_it_may_look_for() -> None:
    written = text(files=(), build={"gfx": ("gfx90a", "gfx11-generic")}, options=("-DUSE_FFT=ON",))
    for name in ("CMAKE_HIP_ARCHITECTURES", "GPU_TARGETS", "AMDGPU_TARGETS"):
        assert f"-D{name}='gfx90a;gfx11-generic'" in written
    assert "'gfx90a;gfx11-generic' -DUSE_FFT=ON" in written


@pytest.mark.parametrize(
    ("base", "runtime"),
    [
        # AMD publishes plain tags, without the math libraries, up to 7.2.4 (TheRock#8295)
        ("rocm/dev-ubuntu-24.04:7.2.4-complete", "rocm/dev-ubuntu-24.04:7.2.4"),
        ("rocm/dev-ubuntu-24.04:10.1.0-full", "rocm/dev-ubuntu-24.04:10.1.0-full"),
        ("rocm/dev-ubuntu-24.04:7.2.2-complete", "rocm/dev-ubuntu-24.04:7.2.2-complete"),  # no plain one is known
        ("own/image:1", "own/image:1"),
    ],
)
def test_the_result_is_put_into_the_smallest_known_image_of_the_release(base: str, runtime: str) -> None:
    compiling, running = stages(text(base))
    assert [compiling.written, running.written] == [base, runtime]
    assert "COPY --from=build /opt/project /opt/project" in text(base)
    _, named = stages(text(base, runtime="own/runtime:2"))
    assert named.written == "own/runtime:2"


def test_on_debian_the_compiler_stays_in_its_stage() -> None:
    written = text("debian:13", hipify="perl", build={"os": "debian-13"})
    first, _, second = written.partition("\nFROM debian:13\n")
    assert "hipcc hipify-perl" in first
    assert "libamdhip64-5" in second
    assert "hipcc" not in second
    with pytest.raises(UsageError, match="only on debian-13"):
        text("ubuntu:24.04", build={"os": "ubuntu-24.04"})


def test_cmake_is_told_debians_compiler() -> None:
    """Tried with cmake 3.31.10 and 4.4: without it the compiler of HIP is not found."""
    written = text("debian:13", files=(), options=("-DOWN=1",), build={"os": "debian-13"})
    assert "-DCMAKE_HIP_COMPILER=/usr/bin/clang++-17 -DOWN=1" in written
    assert "clang" not in text("debian:13", build={"os": "debian-13"})


def test_packages_of_the_image_are_not_those_of_compiling() -> None:
    written = text(packages=("ninja-build",), build={"packages": packages(apt=("git",))})
    first, _, second = written.partition("\nFROM ")
    assert "--no-install-recommends ninja-build" in first
    assert "--no-install-recommends git" in second
    with pytest.raises(UsageError, match="nothing tells the system"):
        text("own/image:1", packages=("cmake",))


@pytest.mark.parametrize(
    ("source", "build", "said"),
    [
        ({"files": ("../x.hip",)}, {}, "no path below the build's folder"),
        ({"folder": "/etc"}, {}, "no path below the build's folder"),
        ({"program": "A B"}, {}, "no program's name"),
        ({"hipify": "magic"}, {}, "`magic` is unknown"),
        ({}, {"gfx": ("gfx9",)}, "no gfx target"),
    ],
)
def test_what_cannot_be_compiled(source: dict[str, Any], build: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        text(build=build, **source)


def test_without_a_gpu_the_targets_must_be_named() -> None:
    from render.recipes import plan, profile

    from rocenv.render.recipe import recipe_of

    wished = profile(DEV, template="from-source", context=".", source=SourceWish(files=("add.hip",)))
    with pytest.raises(UsageError, match="nothing tells for which GPUs to compile"):
        recipe_of(plan(DEV, gfx=()), wished)


def test_a_generic_target_is_for_compilers_alone() -> None:
    with pytest.raises(UsageError, match="no gfx target"):
        dockerfile("ubuntu:24.04", template="distribution", gfx=("gfx11-generic",))
