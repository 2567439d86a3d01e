"""Whether code runs on a target, by LLVM's generic targets and the catalog's overrides."""

from __future__ import annotations

import pytest

from rocenv.image.verdict import carried, judged
from rocenv.model.audit import Audit, Library


def library(*targets: str, name: str = "rocblas", kind: str = "code") -> Library:
    return Library(name, kind, "/opt/rocm/lib", targets)


@pytest.mark.parametrize(
    ("targets", "gfx", "verdict", "by"),
    [
        (("gfx942",), "gfx942", "native", None),
        (("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+"), "gfx90a", "native", None),
        (("gfx90a",), "gfx942", "none", None),
        (("gfx11-generic",), "gfx1100", "generic", "gfx11-generic"),
        (("gfx9-4-generic",), "gfx942", "generic", "gfx9-4-generic"),
        (("gfx9-generic",), "gfx90a", "none", None),  # its members are gfx900 to gfx90c without gfx908 and gfx90a
        (("amdgcnspirv",), "gfx942", "generic", "amdgcnspirv"),
        (("gfx1030",), "gfx1031", "override", "HSA_OVERRIDE_GFX_VERSION=10.3.0"),  # the well-known one of RX 6700
        (("gfx11xx",), "gfx1101", "native", "gfx11xx"),
        (("gfx120x",), "gfx1201", "native", "gfx120x"),
        (("gfx120x",), "gfx1100", "none", None),
        ((), "gfx942", "none", None),
    ],
)
def test_what_a_library_has_for_a_target(targets: tuple[str, ...], gfx: str, verdict: str, by: str | None) -> None:
    found = judged(library(*targets), gfx)
    assert (found.verdict, found.by) == (verdict, by)


def test_code_for_one_setting_of_xnack_alone_is_told() -> None:
    assert "gfx90a:xnack+" in (judged(library("gfx90a:xnack+"), "gfx90a").note or "")
    assert judged(library("gfx90a", "gfx90a:xnack+"), "gfx90a").note is None
    assert judged(library("gfx90a:xnack-", "gfx90a:xnack+"), "gfx90a").note is None


def test_an_image_is_for_what_its_torch_is_for() -> None:
    torch = library("gfx942", name="torch/libtorch_hip")
    rocblas = library("gfx90a", "gfx942", kind="tensile")
    database = library("gfx1030", name="miopen", kind="database")
    other = library("gfx1100:xnack-", name="own")
    assert carried(Audit("x", libraries=(rocblas, torch, database))) == ("gfx942",)
    assert carried(Audit("x", libraries=(other, rocblas, database))) == ("gfx90a", "gfx942")
    assert carried(Audit("x", libraries=(database, other))) == ("gfx1100",)
    assert carried(Audit("x")) == ()
