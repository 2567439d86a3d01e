"""AMD's wheels by target, as AMD's own pages and scripts name them (sources: rocenv/catalog/distributions.yaml)."""

from __future__ import annotations

import pytest

from rocenv.catalog.versions import Version
from rocenv.catalog.wheels import available, wheels
from rocenv.errors import UsageError


@pytest.mark.parametrize(
    ("rocm", "wanted", "gfx", "address", "names"),
    [
        # rocm-docs 7.14, install PyTorch
        (
            "7.14.0", ["torch"], ["gfx1201"], "https://repo.amd.com/rocm/whl-multi-arch/",
            (
                "torch[device-gfx1201]==2.12.0+rocm7.14.0", "torchvision[device-gfx1201]==0.27.0+rocm7.14.0",
                "torchaudio==2.11.0+rocm7.14.0",
            ),
        ),
        # rocm-docs 7.14, install ROCm by pip
        (
            "7.14.0", ["rocm"], ["gfx942"], "https://repo.amd.com/rocm/whl-multi-arch/",
            ("rocm[libraries,device-gfx942]==7.14.0",),
        ),
        # TheRock: where a release is from 10.0 on; public files that install from there
        (
            "10.0.0", ["rocm", "torch"], ["gfx1100", "gfx1201"], "https://stable.repo.amd.com/rocm/whl-next/",
            (
                "rocm[libraries,device-gfx1100,device-gfx1201]==10.0.0",
                "torch[device-gfx1100,device-gfx1201]==2.13.0+rocm10.0.0",
                "torchvision[device-gfx1100,device-gfx1201]==0.28.0+rocm10.0.0", "torchaudio==2.11.0.2+rocm10.0.0",
            ),
        ),
    ],
)  # fmt: skip
def test_a_release_by_targets(
    rocm: str, wanted: list[str], gfx: list[str], address: str, names: tuple[str, ...]
) -> None:
    found = wheels(Version.parse(rocm), wanted, gfx)
    assert (found.address, found.names, found.verified) == (address, names, True)


def test_what_there_is_not() -> None:
    with pytest.raises(UsageError) as caught:
        wheels(Version.parse("7.2.4"), ["torch"], ["gfx942"])
    assert "7.14.0, 7.14.1, 10.0.0, 10.1.0" in str(caught.value.hint)
    with pytest.raises(UsageError, match="no wheels for gfx803"):
        wheels(Version.parse("7.14.0"), ["torch"], ["gfx942", "gfx803"])


def test_every_release_with_wheels_has_an_index_and_is_a_release() -> None:
    from rocenv.catalog.releases import release

    for rocm in available():
        assert wheels(rocm, ["torch"], ["gfx942"]).names[0].endswith(f"+rocm{rocm}")
        assert release(rocm) is not None
