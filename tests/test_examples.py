"""The examples are whole: each is planned and written for hosts of several kinds, clean, and its files are read."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bed import images
from golden.dockerfile_texts import DOCKER, described

from rocenv.lifecycle import lint
from rocenv.lifecycle.build import built
from rocenv.plan import Request, make_plan
from rocenv.profile import load_profile

if TYPE_CHECKING:
    from conftest import TestBed

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/rocenv.yaml"))


def test_there_are_four_and_each_is_told() -> None:
    assert NAMES == ["cuda-port", "hip-vector-add", "pytorch-training", "triton-kernel"]
    text = (EXAMPLES / "README.md").read_text()
    for name in NAMES:
        assert f"[{name}]({name})" in text
        assert "rocenv " in (EXAMPLES / name / "README.md").read_text()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("host", ["mi300x-spx", "rx7900xtx", "strix-halo"])
def test_an_example_is_planned_with_its_own_packages(name: str, host: str) -> None:
    project = EXAMPLES / name
    wished = load_profile(None, project=project, overrides={})
    plan = built(
        make_plan(wished, described(host), DOCKER, Request(name, str(project), home="/home/u")), wished, str(project)
    )
    assert plan.image.source == "build"
    text = plan.dockerfile or ""
    assert lint.own(text) == []
    for package in wished.build.packages.get("pip", ()):
        assert f"'{package}'" in text
    for file in wished.build.source.files:
        assert f"./{file} " in text
        assert (project / file).is_file()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*.py")), ids=lambda path: path.name)
def test_a_program_is_python_and_imports_what_its_image_has(path: Path) -> None:
    tree = ast.parse(path.read_text())
    found = {name.name.partition(".")[0] for one in ast.walk(tree) if isinstance(one, ast.Import) for name in one.names}
    found |= {(one.module or "").partition(".")[0] for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
    own = set(re.findall(r'"(\w+)>', (path.parent / "rocenv.yaml").read_text()))
    assert found <= {"torch", "triton", "argparse", "math"} | own


def test_the_training_learns_on_the_cpu(bed: TestBed) -> None:
    """In the stand-in for rocm/pytorch, whose torch computes on the CPU alone; without the package that it adds."""
    for file in ("train.py", "rocenv.yaml"):
        text = (EXAMPLES / "pytorch-training" / file).read_text()
        (bed.project / file).write_text(re.sub(r"build:\n( .*\n)+", "", text) if file == "rocenv.yaml" else text)
    assert bed.docker("pull", "--quiet", images.STAND_IN).returncode == 0
    done = bed.rocenv(
        "run", "--env", "OMP_NUM_THREADS=1", "--", "python", "train.py", "--device", "cpu", "--steps", "200"
    )
    assert done.returncode == 0, done.stderr
    assert "HIP None, on the CPU" in done.stdout
    losses = [float(one) for one in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert losses[-1] < 0.75 * losses[0]
    assert (bed.project / "spirals.pt").stat().st_uid == bed.project.stat().st_uid, "what it writes is the caller's"
