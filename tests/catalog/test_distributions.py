"""Where ROCm's packages for a bare system come from. Expected: what AMD's installation pages and public files say."""

from __future__ import annotations

import pytest

from rocenv.catalog import distributions
from rocenv.catalog.distributions import packages, system, system_of
from rocenv.errors import UsageError


def found(key: str, rocm: str | None, *parts: str, gfx: tuple[str, ...] = ()) -> distributions.Packages:
    return packages(system(key), "distribution", rocm, parts, gfx)


@pytest.mark.parametrize(
    ("key", "rocm", "address", "suite"),
    [
        # install-on-linux: no trailing .0 in the addresses of the legacy repository
        ("ubuntu-24.04", "==7.2.0", "https://repo.radeon.com/rocm/apt/7.2", "noble"),
        ("ubuntu-24.04", "7.2", "https://repo.radeon.com/rocm/apt/7.2.4", "noble"),
        ("ubuntu-22.04", "==6.3.1", "https://repo.radeon.com/rocm/apt/6.3.1", "jammy"),
        # install-on-linux docs-7.0.1, Rocky Linux
        ("rocky-9", "==7.0.1", "https://repo.radeon.com/rocm/el9/7.0.1/main", None),
        # rocm-docs, installation of 7.14.0
        ("ubuntu-26.04", "==7.14.0", "https://repo.amd.com/rocm/packages-multi-arch/ubuntu2604", "stable"),
        ("debian-12", "7.14", "https://repo.amd.com/rocm/packages-multi-arch/debian12", "stable"),
        ("oracle-10", "7.14", "https://repo.amd.com/rocm/packages-multi-arch/rhel10/x86_64", None),
        ("sles-15", "7.14", "https://repo.amd.com/rocm/packages-multi-arch/sles15/x86_64", None),
        # public files that install ROCm 10.0
        ("ubuntu-24.04", "10.0", "https://stable.repo.amd.com/rocm/core/packages/ubuntu2404/", "stable"),
        ("rhel-10", "10.0", "https://stable.repo.amd.com/rocm/core/packages/rhel10/x86_64", None),
    ],
)
def test_the_repository_of_a_release(key: str, rocm: str, address: str, suite: str | None) -> None:
    there = found(key, rocm)
    assert (there.addresses, there.suite) == ((address,), suite)


def test_the_key_is_that_of_the_repository() -> None:
    assert found("ubuntu-24.04", "7.2").key == "https://repo.radeon.com/rocm/rocm.gpg.key"
    assert found("ubuntu-24.04", "7.14").key == "https://repo.amd.com/rocm/packages-multi-arch/gpg/rocm.gpg"
    assert found("ubuntu-24.04", "10.0").key == "https://stable.repo.amd.com/rocm/gpg/packages.gpg"


def test_names_by_layout_manager_and_target() -> None:
    # rocm-docs, installation of 7.14.0, the table of meta packages
    assert found("ubuntu-24.04", "7.14", "hip-sdk", gfx=("gfx942",)).names == ("amdrocm-core-dev7.14-gfx942",)
    assert found("rhel-9", "7.14", "hip-sdk", gfx=("gfx942",)).names == ("amdrocm-core-devel7.14-gfx942",)
    assert found("rhel-9", "7.14", "all").names == ("amdrocm-core-sdk7.14",)
    assert found("ubuntu-24.04", "10.0", "all", gfx=("gfx942", "gfx1100")).names == (
        "amdrocm-core-sdk10.0-gfx942", "amdrocm-core-sdk10.0-gfx1100",
    )  # fmt: skip
    # install-on-linux, ROCm meta packages
    assert found("ubuntu-24.04", "7.2", "math").names == ("rocm-hip-libraries",)
    assert found("sles-15", "6.4", "hip-sdk").names[0] == "rocm-hip-runtime-devel"


def test_math_libraries_by_target() -> None:
    """AMD's own install_rocm_debs: device code comes with blas, fft and rand; solver and sparse hang on blas."""
    assert found("ubuntu-24.04", "10.0", "math", gfx=("gfx942",)).names == (
        "amdrocm-blas10.0-gfx942", "amdrocm-fft10.0-gfx942", "amdrocm-rand10.0-gfx942",
    )  # fmt: skip
    with pytest.raises(UsageError, match="no packages for gfx906"):
        found("ubuntu-24.04", "10.1", "math", gfx=("gfx906",))


def test_where_it_lies_when_it_is_installed() -> None:
    """The transition guide: /opt/rocm/core-10.0; links below /opt/rocm are amdrocm-core's alone."""
    assert found("ubuntu-24.04", "10.0").folder == "/opt/rocm/core-10.0"
    assert found("ubuntu-24.04", "7.2").folder == "/opt/rocm"


def test_no_driver_is_among_them() -> None:
    parts = ("runtime", "hip-sdk", "math", "rccl", "profilers", "debuggers", "all")
    names = {
        name
        for one in distributions.systems()
        for version in distributions.available(one, "distribution")
        for name in packages(one, "distribution", f"=={version}", parts, ()).names
    }
    assert names
    assert not [name for name in names if "dkms" in name or name.startswith("amdgpu")]


def test_a_preview_is_never_taken() -> None:
    versions = {str(one) for key in distributions.systems() for one in distributions.available(key, "distribution")}
    assert not versions & {"7.9.0", "7.10.0", "7.11.0", "7.12.0", "7.13.0"}


def test_what_there_is_not_names_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        found("ubuntu-26.04", "5.7")
    assert caught.value.message == "there are no packages of ROCm `5.7` for Ubuntu 26.04"
    hint = str(caught.value.hint)
    assert "7.14.0" in hint  # AMD supports Ubuntu 26.04 from the 7.13 preview on: rocm-docs, versions
    assert "ubuntu-22.04" in hint.partition("is there for")[2]
    assert "ubuntu-24.04" not in hint.partition("is there for")[2]  # which came with 6.2
    with pytest.raises(UsageError, match="no packages for Ubuntu"):
        packages(system("ubuntu-22.04"), "debian", None, (), ())
    with pytest.raises(UsageError, match="no package of 'debuggers'"):
        packages(system("debian-13"), "debian", None, ("debuggers",), ())


def test_what_was_read_nowhere_is_marked() -> None:
    assert found("ubuntu-24.04", "7.2", "math").verified
    assert not found("oracle-9", "7.2", "math").verified  # EL9's repository, by inference


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        ("ubuntu:24.04", "ubuntu-24.04"),
        ("docker.io/library/ubuntu:noble", "ubuntu-24.04"),
        (f"debian:13@sha256:{'a' * 64}", "debian-13"),
        ("debian:trixie-slim", "debian-13"),
        ("rockylinux/rockylinux:9-minimal", "rocky-9"),
        ("registry.access.redhat.com/ubi9/ubi:9.4", "rhel-9"),
        ("ubuntu:20.04", None),
        ("rocm/pytorch:latest", None),
        ("not a reference", None),
    ],
)
def test_a_system_is_known_by_its_image(reference: str, key: str | None) -> None:
    there = system_of(reference)
    assert (there.key if there else None) == key


def test_every_system_is_known_by_the_image_that_it_starts_from() -> None:
    for one in distributions.systems():
        assert system_of(one.image) == one
