"""rocenv works from a wheel and from a checkout, from any folder, with its data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
# What rocenv reads at run time: where it lies in the checkout, and where in the wheel.
DATA = {
    "profiles": "rocenv/data/profiles",
    "dockerfiles": "rocenv/data/dockerfiles",
    "rocenv/catalog/compiled": "rocenv/catalog/compiled",
    "rocenv/smoke/probes": "rocenv/smoke/probes",
}


def run(argv: list[str], folder: Path, variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--quiet"]
    run([*argv, "--wheel-dir", str(folder), str(CHECKOUT)], folder)
    (path,) = folder.glob("rocenv-*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    argv = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", str(folder)]
    run([*argv, str(wheel)], folder)
    return folder


@pytest.mark.parametrize("source", DATA)
def test_wheel_carries_data(wheel: Path, source: str) -> None:
    here = {
        str(path.relative_to(CHECKOUT / source))
        for path in (CHECKOUT / source).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    prefix = f"{DATA[source]}/"
    with zipfile.ZipFile(wheel) as archive:
        packed = {name.removeprefix(prefix) for name in archive.namelist() if name.startswith(prefix)}
    assert here
    assert packed == here


def test_wheel_works_anywhere(installed: Path, tmp_path: Path) -> None:
    """The wheel's own files answer, as the checkout's do, also where there is neither checkout nor project."""
    variables = {"PYTHONPATH": str(installed), "HOME": str(tmp_path)}
    origin = run([sys.executable, "-c", "import rocenv; print(rocenv.__file__)"], tmp_path, variables)
    assert Path(origin.stdout.strip()) == installed / "rocenv" / "__init__.py"
    names = [
        [profile["name"] for profile in json.loads(run(argv, tmp_path, extra).stdout)["profiles"]]
        for argv, extra in (
            ([sys.executable, "-m", "rocenv", "profiles", "list", "--json"], variables),
            ([str(Path(sys.executable).with_name("rocenv")), "profiles", "list", "--json"], {"HOME": str(tmp_path)}),
        )
    ]
    assert "pytorch" in names[0]
    assert names[0] == names[1]


def test_dev_is_posix_and_finds_itself(tmp_path: Path) -> None:
    """`dev` is understood by the plainest shell, and runs from any folder."""
    run(["/bin/sh", "-n", str(CHECKOUT / "dev")], tmp_path)
    assert run([str(CHECKOUT / "dev"), "--help"], tmp_path).stdout.startswith("usage: ./dev COMMAND")
