"""How the Python probes find ROCm's libraries, and what the library probes say where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest
from smoke.local import Local
from smoke.mutants import LIBRARIES, PROBES

from rocenv.model.plan import GpuRef
from rocenv.report.proof import blame
from rocenv.smoke import run_probes

GPU = GpuRef(0, "gfx942", "0000:0c:00.0", 0, None, "/dev/dri/renderD128", "AMD Instinct MI300X")
LIBM = next(iter(Path("/lib").glob(f"*/{find_library('m')}")), None)


@pytest.mark.skipif(LIBM is None, reason="needs a library to stand for another")
@pytest.mark.parametrize("name", ["librocfft.so.0", "librocblas.so.4", "libamdhip64.so.7", "librccl.so.1"])
def test_library_is_found_by_any_major_number(tmp_path: Path, name: str) -> None:
    """Debian's and AMD's rocFFT is librocfft.so.0; the others count from 1."""
    shutil.copy(str(LIBM), tmp_path / name)
    stem = name.partition(".")[0]
    text = (PROBES / "prelude.py").read_text() + f"\nprint(load({stem!r})._name)\n"
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == name


@pytest.mark.parametrize("probe", sorted(LIBRARIES))
def test_image_without_hip_has_failed(probe: str) -> None:
    results = run_probes(Local(), "here", [GPU], level="libraries", probes=[probe], stand_in=False, tell=lambda _: None)
    assert [(r.result, r.cause) for r in results] == [("failed", "no HIP runtime: libamdhip64 is not in the image")]
    assert blame(results) == "image"
