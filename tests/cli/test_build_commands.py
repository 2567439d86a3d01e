"""`rocenv dockerfile` and `rocenv build` without an engine: what is printed, written, checked and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import builder

from rocenv.cli import app

Run = Callable[..., tuple[int, str, str]]
WISH = "extends: pytorch\nbuild: {packages: {apt: [git], pip: [einops]}, secrets: [HF_TOKEN]}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder on a machine without docker and without a GPU."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "rocenv.yaml").write_text(WISH)
    monkeypatch.chdir(folder)
    for name, value in {"XDG_CONFIG_HOME": "config", "PATH": "bin"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setenv("ROCENV_HOST", str(builder.build(builder.describe("no-gpu"), tmp_path / "host")))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "no_proxy", "NO_PROXY", "CI", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def run(project: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        status = app.run(words)
        return (status, *capfd.readouterr())

    return run


def test_the_file_alone_is_on_stdout(run: Run) -> None:
    status, out, err = run("dockerfile")
    assert status == 0
    assert out.startswith("FROM rocm/pytorch:")
    assert "no GPU" in err
    assert run("dockerfile")[1] == out


def test_a_profile_that_builds_nothing_has_a_dockerfile_too(run: Run, project: Path) -> None:
    (project / "rocenv.yaml").unlink()
    _, out, _ = run("dockerfile", "hip")
    assert "FROM rocm/dev-ubuntu-" in out
    assert "apt-get" not in out


def test_for_a_captured_host_its_image_is_taken(run: Run, tmp_path: Path) -> None:
    """gfx1151 and the kernel's own driver: its images begin where AMD lists it."""
    there = str(builder.build(builder.describe("mi300x-bed"), tmp_path / "other"))
    status, out, err = run("dockerfile", "--host", there, "--json")
    found = json.loads(out)
    assert (status, found["version"], found["status"], found["file"]) == (0, 1, "ok", None)
    assert found["dockerfile"].startswith(f"FROM {found['base']}\n")
    assert found["reference"].startswith("rocenv/pytorch:")
    assert "no GPU" not in err


def test_it_is_written_whole_and_over_its_own_alone(run: Run, project: Path) -> None:
    text = run("dockerfile")[1]
    assert run("dockerfile", "-o", "Dockerfile")[1] == ""
    assert (project / "Dockerfile").read_text() == text
    assert run("dockerfile", "--pip", "numpy", "-o", "Dockerfile")[0] == 0  # rocenv's own: it may be renewed
    assert "numpy" in (project / "Dockerfile").read_text()

    (project / "Dockerfile").write_text("FROM scratch\n")
    status, _, err = run("dockerfile", "-o", "Dockerfile")
    assert (status, (project / "Dockerfile").read_text()) == (2, "FROM scratch\n")
    assert "rocenv did not write it" in err
    assert run("dockerfile", "-o", "Dockerfile", "--force")[0] == 0
    assert (project / "Dockerfile").read_text() == text
    assert sorted(path.name for path in project.iterdir()) == ["Dockerfile", "rocenv.yaml"]


def test_a_link_or_a_folder_is_no_place_for_it(run: Run, project: Path) -> None:
    (project / "link").symlink_to("rocenv.yaml")
    (project / "folder").mkdir()
    for name, said in {"link": "is a link", "folder": "did not write it", "none/x": "cannot be written"}.items():
        status, _, err = run("dockerfile", "-o", name)
        assert (status, said in err) == (2, True), err
    assert (project / "rocenv.yaml").read_text() == WISH


def test_a_dry_run_shows_names_and_no_values(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "planted-token")
    monkeypatch.setenv("https_proxy", "http://me:planted@proxy.example:8080")
    status, out, err = run("build", "--dry-run", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert "--secret=id=HF_TOKEN,env=HF_TOKEN" in found["argv"]
    assert {"--build-arg=https_proxy", "--build-arg=HTTPS_PROXY"} <= set(found["argv"])
    assert "planted" not in out + err
    status, out, _ = run("build", "--dry-run")
    assert "docker buildx build" in out
    assert "\n\nFROM " in out


def test_a_check_finds_no_fault_in_what_rocenv_writes(run: Run) -> None:
    status, out, _ = run("build", "--check", "--json")
    found = json.loads(out)
    assert (status, found["status"], found["faults"]) == (0, "ok", []), found
    assert found["asked"][0] == "rocenv"
    assert "docker build --check" in found["left_out"]
    assert run("build", "--check")[1] == ""


def test_a_check_finds_what_a_template_of_the_users_does_wrong(run: Run, project: Path) -> None:
    (project / "dockerfiles").mkdir()
    (project / "dockerfiles" / "on-image.Dockerfile.j2").write_text(
        '{% extends "rocenv/on-image.Dockerfile.j2" %}\n{% block last %}RUN groupadd -g 109 render\n{% endblock %}\n'
    )
    status, out, _ = run("build", "--check")
    assert status == 2
    assert "dockerfile.hardcoded-gid" in out


def test_without_an_engine_there_is_no_build(run: Run) -> None:
    status, out, err = run("build", "--json")
    assert (status, json.loads(out)["error"]["kind"]) == (4, "engine")
    assert "hint:" in err


def test_a_system_by_its_name_is_enough(run: Run, project: Path) -> None:
    (project / "rocenv.yaml").write_text(
        "extends: hip\nimage: {rocm: '7.2'}\nbuild: {template: distribution, os: ubuntu-24.04, components: [math]}\n"
    )
    status, out, _ = run("dockerfile")
    assert status == 0
    assert out.startswith("FROM ubuntu:24.04\n")
    assert "rocm-hip-libraries" in out
    (project / "rocenv.yaml").write_text(
        "extends: hip\nimage: {rocm: '5.7'}\nbuild: {template: distribution, os: ubuntu-26.04}\n"
    )
    status, _, err = run("dockerfile")
    assert status == 2
    assert "there are no packages of ROCm `5.7` for Ubuntu 26.04" in err
    assert "7.14.0" in err


@pytest.mark.parametrize(
    ("build", "said"),
    [
        ("{template: nope}", "no Dockerfile template"),
        ("{template: distribution, os: beos-5}", "no system"),
        ("{components: [everything]}", "everything"),
        ("{packages: {pip: ['--user x']}}", "is an option"),
        ("{packages: {pip: [./x.whl]}}", "no folder to take it from"),
        ("{template: on-image, context: ..}", "outside of the project"),
        ("{template: on-image, args: {https_proxy: x}}", "left in the image"),
        ("{template: on-image, args: {HF_TOKEN: x}}", "looks like a secret"),
        ("{template: on-image, health: 'x'}", "health"),
        ("{template: on-image, components: [math]}", "has its ROCm already"),
    ],
)
def test_what_cannot_be_built_is_told(run: Run, project: Path, build: str, said: str) -> None:
    (project / "rocenv.yaml").write_text(f"extends: pytorch\nbuild: {build}\n")
    status, _, err = run("dockerfile")
    assert status == 2, err
    assert said in err
    assert "hint:" in err


def test_what_the_builder_there_cannot_do_is_told(run: Run, tmp_path: Path) -> None:
    """A docker client without the plugin, which says that it is 28.2: it cannot even mount for a step."""
    client = tmp_path / "bin" / "docker"
    client.parent.mkdir()
    client.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Docker version 28.2.2, build x" && exit\nexit 1\n')
    client.chmod(0o755)
    for word, said in {"--sbom": "`--sbom` needs docker's buildx plugin", "--no-cache": "needs BuildKit"}.items():
        status, out, err = run("build", word, "--dry-run")
        assert (status, said in err) == (0, True), err
        assert out.startswith("docker build \\\n  ")
