"""Built hosts and captures for the tests of rocenv.host."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import builder

ROOT = Path(__file__).parent.parent.parent
CAPTURES = Path(os.environ.get("ROCENV_CAPTURES") or ROOT / "../shared/hosts")
Build = Callable[..., Path]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine that runs the tests counts."""
    for name in list(os.environ):
        if name.startswith(("ROCENV_HOST", "ROCR_", "HIP_", "CUDA_", "GPU_DEVICE", "SLURM_", "KUBERNETES_")):
            monkeypatch.delenv(name)
    for name in ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "JENKINS_URL", "BUILDKITE", "PBS_JOBID", "LSB_JOBID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def built(tmp_path: Path) -> Build:
    """Builds a described host, with keys of its description changed: `built("rx7900xtx", kernel="6.1")`."""

    def build(name: str, **changed: object) -> Path:
        description = {**builder.describe(name), **changed}
        return builder.build(description, tmp_path / name)

    return build


@pytest.fixture
def packed(tmp_path: Path) -> Callable[[Path], Path]:
    """Packs a capture's folder into a .tar.gz as a person would."""

    def pack(folder: Path) -> Path:
        archive = tmp_path / "packed" / f"{folder.name}.tar.gz"
        archive.parent.mkdir(exist_ok=True)
        with tarfile.open(archive, "w:gz") as members:
            members.add(folder, folder.name)
        return archive

    return pack
