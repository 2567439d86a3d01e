"""The torch probe's refusals, with a module in torch's place that says what a real one would say.

It computes nothing: what the checks themselves find is shown with the real torch in test_in_container.py, and on a
real GPU (docs/verification.md).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from smoke.local import Local
from smoke.test_runtime import names

from rocenv.model.plan import GpuRef
from rocenv.model.proof import ProbeResult
from rocenv.report.proof import blame
from rocenv.smoke import run_probes

GPU = GpuRef(0, "gfx1100", "0000:0c:00.0", 0, None, "/dev/dri/renderD128", "AMD Radeon RX 7900 XTX")
# A stand-in of torch: it has versions, an architecture list, one device, and fails as told.
IN_TORCHS_PLACE = """
import types
__version__ = "2.99.0+no-torch"
version = types.SimpleNamespace(hip={hip!r}, cuda={cuda!r})
_properties = types.SimpleNamespace(gcnArchName="gfx1100", name="AMD Radeon RX 7900 XTX", major=11, minor=0)
cuda = types.SimpleNamespace(
    device_count=lambda: {count}, is_available=lambda: {count} > 0, get_arch_list=lambda: {built!r},
    get_device_properties=lambda device: _properties, set_device=lambda device: None,
)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
backends.cudnn = types.SimpleNamespace()
manual_seed = lambda seed: None
device = lambda kind, index=None: (kind, index)
def Generator():
    raise RuntimeError({error!r})
"""
FOR_ROCM: dict[str, Any] = {"hip": "6.4.43483", "cuda": None, "count": 1, "built": ["gfx942", "gfx1100"], "error": "x"}


def proved(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[ProbeResult]:
    (folder / "torch.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return run_probes(
        Local(), "here", [GPU], level="framework", probes=["torch_matmul"], stand_in=False, tell=lambda _: None
    )


@pytest.mark.parametrize(
    ("changed", "cause", "layer"),
    [
        ({"hip": None, "cuda": "12.8"}, "CUDA build of torch: torch 2.99.0+no-torch is built for CUDA", "framework"),
        ({"hip": None}, "CPU build of torch: torch 2.99.0+no-torch is built without ROCm", "framework"),
        ({"count": 0}, "no GPU seen: torch 2.99.0+no-torch is built for ROCm (HIP 6.4.43483) and", "framework"),
        ({"built": ["gfx942"]}, "no code for this GPU: torch is built for gfx942 and not for gfx1100", "framework"),
        ({"error": "HIP error: invalid device function"}, "no code for this GPU: torch says `HIP error", "framework"),
        ({"error": "HIP out of memory. Tried to allocate"}, "out of memory: torch says", "host"),
        ({"error": "HIPBLAS_STATUS_ARCH_MISMATCH when calling"}, "no code for this GPU: torch says", "framework"),
        ({"error": "something new"}, "torch fails: `something new`", "framework"),
    ],
)  # fmt: skip
def test_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], cause: str, layer: str
) -> None:
    results = proved(tmp_path, monkeypatch, IN_TORCHS_PLACE.format(**{**FOR_ROCM, **changed}))
    assert results[0].result == "failed"
    assert cause in str(results[0].cause)
    assert blame(results) == layer


def test_torch_that_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = "libamdhip64.so.6: cannot open shared object file: No such file or directory"
    results = proved(tmp_path, monkeypatch, f"raise ImportError({missing!r})")
    assert [(r.gpu, r.result, r.cause) for r in results] == [(None, "failed", f"torch does not import: {missing}")]


def test_python_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    results = run_probes(
        Local(), "here", [GPU], level="framework", probes=["torch_matmul"], stand_in=False, tell=lambda _: None
    )
    assert [(r.result, r.cause) for r in results] == [("error", "no torch: this Python does not have it")]
    assert blame(results) == "image"


@pytest.mark.parametrize(
    ("built", "target", "holds"),
    [
        ("gfx942", "gfx942:sramecc+:xnack-", True),
        ("gfx942", "gfx941", False),
        ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", True),
        ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", False),
        ("gfx11-generic", "gfx1100", True),
        ("gfx11-generic", "gfx1151", True),
        ("gfx11-generic", "gfx1200", False),
        ("gfx10-3-generic", "gfx1036", True),
        ("gfx10-3-generic", "gfx1010", False),
        ("gfx12-generic", "gfx1201", True),
        ("gfx9-generic", "gfx90c", True),
        ("gfx9-generic", "gfx90a", False),
        ("gfx9-generic", "gfx908", False),
        ("gfx9-4-generic", "gfx950", True),
        ("gfx9-4-generic", "gfx942", True),
        ("gfx90", "gfx90a", False),
    ],
)
def test_which_code_runs_on_which_gpu(built: str, target: str, *, holds: bool) -> None:
    assert names("torch_matmul.py")["fits"](built, target) is holds
