"""The tag that was probably meant."""

from __future__ import annotations

import pytest

from rocenv.rules.tags import nearest


@pytest.mark.parametrize(
    ("wanted", "there", "best"),
    [
        ("v0.28.0", ["v0.26.0", "v0.27.0rc1", "v0.9.0"], "v0.26.0"),
        ("rocm7.2.9", ["rocm7.2.4", "rocm7.2.10", "rocm6.4.1"], "rocm7.2.4"),
        ("full-rocm", ["full", "light", "server-cuda"], "full"),
        ("latst", ["latest", "dev"], "latest"),
        ("rocm10.1.0_ubuntu24.04_py3.12", ["rocm9.9.0_ubuntu24.04_py3.12", "rocm10.0.0_ubuntu24.04_py3.12"],
         "rocm10.0.0_ubuntu24.04_py3.12"),
    ],
)  # fmt: skip
def test_the_nearest_tag(wanted: str, there: list[str], best: str) -> None:
    assert nearest(wanted, there)[0] == best


def test_among_very_many_the_likest_is_found_all_the_same() -> None:
    many = [f"v{major}.{minor}.0-cuda" for major in range(1, 100) for minor in range(100)]
    assert nearest("v0.28.0-rcm", [*many, "v0.28.0-rocm"])[0] == "v0.28.0-rocm"


def test_nothing_is_near_where_nothing_is_alike() -> None:
    assert nearest("v1", []) == []
    assert nearest("rocm7", ["zzz"]) == []
    assert nearest("a", ["a"]) == []
