"""Mounts through links: what counts is where they lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocenv.errors import UsageError
from rocenv.lifecycle.mounts import mounts_must_be_safe
from rocenv.model.plan import EngineFacts, ImageChoice, Mount, Plan


def plan(project: Path, source: Path, endpoint: str | None = None) -> Plan:
    return Plan(
        profile="hip", project="p", name="hip", engine=EngineFacts("docker", endpoint=endpoint),
        image=ImageChoice("i", "flag"), gpus=(), devices=(), groups=(), keep_groups=False, env={},
        mounts=(Mount("bind", str(project), "/workspace"), Mount("bind", str(source), "/x")), security=(), cap_add=(),
        ipc=None, shm_size=None, ports=(), user=None, workdir="/", labels={}, smoke_level="access",
    )  # fmt: skip


@pytest.mark.parametrize("leads", ["/", "/proc", "/etc", "/run", "/var/run/docker.sock"])
def test_a_link_to_what_is_never_mounted_is_refused(tmp_path: Path, leads: str) -> None:
    link = tmp_path / "innocent"
    link.symlink_to(leads)
    (tmp_path / "project").mkdir()
    with pytest.raises(UsageError, match="cannot be mounted"):
        mounts_must_be_safe(plan(tmp_path / "project", link))


def test_a_path_below_a_link_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "up").symlink_to("/")
    with pytest.raises(UsageError, match="which leads to `/etc`"):
        mounts_must_be_safe(plan(tmp_path / "project", tmp_path / "up" / "etc"))


def test_a_link_out_of_the_project_has_to_be_said_openly(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    project.mkdir()
    other.mkdir()
    (project / "data").symlink_to(other)
    with pytest.raises(UsageError, match="link out of the project") as caught:
        mounts_must_be_safe(plan(project, project / "data"))
    assert caught.value.hint == f"`--mount {other}:/x` says it openly"
    mounts_must_be_safe(plan(project, other))


def test_a_link_within_the_project_serves(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "real").mkdir(parents=True)
    (project / "data").symlink_to("real")
    mounts_must_be_safe(plan(project, project / "data"))


def test_a_project_that_is_itself_behind_a_link_serves(tmp_path: Path) -> None:
    (tmp_path / "real" / "data").mkdir(parents=True)
    (tmp_path / "project").symlink_to("real")
    mounts_must_be_safe(plan(tmp_path / "project", tmp_path / "project" / "data"))


def test_the_socket_of_the_engine_in_use_is_refused_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "it").touch()
    (tmp_path / "link").symlink_to("engine")
    for source in ("link", "engine", "engine/it", "link/it"):
        with pytest.raises(UsageError, match="socket"):
            mounts_must_be_safe(plan(tmp_path / "project", tmp_path / source, f"unix://{tmp_path}/link/it"))
