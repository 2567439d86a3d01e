"""The script that runs in an image, run here on Pythons that say they hold this and that."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = (Path(__file__).parents[2] / "dockerfiles" / "hold.py").read_text()


class Image:
    """A folder in the place of site-packages, and files in the place of the image's."""

    def __init__(self, folder: Path) -> None:
        self.packages, self.file, self.secrets = folder / "site", folder / "etc" / "constraints.txt", folder / "secrets"
        self.packages.mkdir()

    def has(self, name: str, version: str, hip: str | None = None) -> None:
        for old in self.packages.glob(f"{name}-*.dist-info"):
            old.rename(folder := old.with_name(f"{name}-{version}.dist-info"))
            break
        else:
            folder = self.packages / f"{name}-{version}.dist-info"
            folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        module = self.packages / name
        module.mkdir(exist_ok=True)
        (module / "__init__.py").write_text("raise SystemExit('nobody loads this')\n")
        (module / "version.py").write_text(f"from typing import Optional\nhip: Optional[str] = {hip!r}\n")

    def run(
        self, *arguments: str, pip: str | None = None, before: str = "", path: str = "/nowhere"
    ) -> subprocess.CompletedProcess[str]:
        """The script, with -S: of this machine's own packages it sees none. `pip`: a module of that name."""
        if pip is not None:
            (self.packages / "pip").mkdir()
            (self.packages / "pip" / "__init__.py").touch()
            (self.packages / "pip" / "__main__.py").write_text(pip)
        text = SCRIPT.replace('"/etc/rocenv/constraints.txt"', repr(str(self.file)))
        text = text.replace('"/run/secrets"', repr(str(self.secrets)))
        return subprocess.run(
            [sys.executable, "-S", "-c", before + text, *arguments],
            env={"PYTHONPATH": str(self.packages), "PATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def image(tmp_path: Path) -> Image:
    made = Image(tmp_path)
    made.has("torch", "2.10.0+rocm7.2.4.gitb1a2", hip="7.2.53211")
    made.has("jax_rocm7_plugin", "0.8.2")
    made.has("einops", "0.8")
    assert made.run("hold").returncode == 0
    return made


def test_whole_versions_of_what_is_held_are_written_down(image: Image) -> None:
    assert image.file.read_text() == "jax-rocm7-plugin==0.8.2\ntorch==2.10.0+rocm7.2.4.gitb1a2\n"


def test_another_version_ends_it(image: Image) -> None:
    image.has("einops", "0.9")
    assert image.run("check").returncode == 0
    image.has("torch", "2.10.0", hip=None)
    done = image.run("check")
    assert done.returncode == 1
    assert done.stderr.startswith("error: rocenv: `torch` was 2.10.0+rocm7.2.4.gitb1a2, and is now 2.10.0\n\nhint: ")


def test_the_same_version_built_for_another_thing_ends_it(image: Image) -> None:
    image.has("torch", "2.10.0+rocm7.2.4.gitb1a2", hip=None)
    done = image.run("check")
    assert "torch.version.hip was 7.2.53211, and is now None" in done.stderr
    assert done.returncode == 1


def test_pip_is_given_the_constraints_and_the_secrets(image: Image) -> None:
    image.secrets.mkdir()
    (image.secrets / "PIP_EXTRA_INDEX_URL").write_text("https://planted\n")
    (image.secrets / "rocenv-pip").write_text("[global]\n")
    seen = "import os, sys; print(sys.argv[1:], os.environ['PIP_EXTRA_INDEX_URL'], os.environ['PIP_CONFIG_FILE'])"
    done = image.run("pip", "einops>=0.8", pip=seen)
    assert done.returncode == 0, done.stderr
    words = ["install", "--disable-pip-version-check", "--constraint", str(image.file), "einops>=0.8"]
    assert done.stdout == f"{words} https://planted {image.secrets}/rocenv-pip\n"


def test_what_pip_refuses_names_what_is_held(image: Image) -> None:
    done = image.run("pip", "wants", pip="raise SystemExit(1)")
    assert done.returncode == 1
    assert "torch==2.10.0+rocm7.2.4.gitb1a2" in done.stderr
    assert "cannot be installed beside what the image holds" in done.stderr


def test_an_image_without_pip_and_uv_says_so(image: Image) -> None:
    done = image.run("pip", "einops")
    assert "has no pip, and there is no uv" in done.stderr


def test_uv_installs_where_there_is_no_pip(image: Image, tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\necho "$@"\n')
    uv.chmod(0o755)
    done = image.run("pip", "einops", path=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"pip install --python {sys.executable} --constraint {image.file} einops\n"


def test_it_is_python_3_6() -> None:
    """AlmaLinux 8's own."""
    ast.parse(SCRIPT, feature_version=(3, 6))


def test_before_python_3_8_packages_are_found_by_setuptools(image: Image) -> None:
    (image.packages / "pkg_resources.py").write_text(
        "class One:\n    project_name, version = 'torch', '2.1'\nworking_set = [One]\n"
    )
    image.file.unlink()
    done = image.run("hold", before="import sys; sys.modules['importlib.metadata'] = None\n")
    assert done.returncode == 0, done.stderr
    assert image.file.read_text() == "torch==2.1\n"
