"""A project of each test's own on a real Docker: plans for it, the engine, and a look at what is really there."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from rocenv.engine import Engine, open_engine
from rocenv.engine.pull import PullEvent
from rocenv.lifecycle.up import Outcome, up
from rocenv.model.plan import EngineFacts, ImageChoice, Mount, Plan

OWNER = str(os.getuid())


@dataclass
class Life:
    """One project: `told` holds what was said, `pulled` what a pull showed."""

    project: str
    image: str
    told: list[str] = field(default_factory=list)
    pulled: list[PullEvent] = field(default_factory=list)

    @property
    def engine(self) -> Engine:
        return open_engine("docker")

    def plan(self, *, hashed: str = "p1", **changed: Any) -> Plan:
        labels = {
            "rocenv.version": "0", "rocenv.project": self.project, "rocenv.name": "hip", "rocenv.profile": "hip",
            "rocenv.plan": hashed, "rocenv.gpus": "[]", "rocenv.owner": OWNER,
        }  # fmt: skip
        base = Plan(
            profile="hip", project=self.project, name="hip", engine=EngineFacts("docker"),
            image=ImageChoice(self.image, "flag"), gpus=(), devices=(), groups=(), keep_groups=False, env={}, mounts=(),
            security=("no-new-privileges",), cap_add=(), ipc="private", shm_size=None, ports=(), user="1234:1234",
            workdir="/", labels=labels, smoke_level="access",
        )  # fmt: skip
        return base._replace(**changed)

    def cached(self, kinds: str = "ab", **changed: Any) -> Plan:
        """A plan with cache volumes of this project's own, one a letter."""
        mounts = tuple(Mount("volume", f"rocenv-cache-{kind}-{self.project}", f"/cache/{kind}") for kind in kinds)
        return self.plan(mounts=mounts, **changed)

    def up(self, plan: Plan | None = None, **options: Any) -> Outcome:
        plan = plan or self.plan()
        given = {"ask": None, "recreate": False, **options}
        with closing(self.engine) as engine:
            return up(engine, plan, tell=self.told.append, progress=self.pulled.append, **given)

    def containers(self) -> list[dict[str, Any]]:
        """What the engine itself says of all containers of the project, in any state."""
        return inspect(*docker("ps", "-aq", "--no-trunc", f"--filter=label=rocenv.project={self.project}").split())

    def volumes(self) -> list[str]:
        """All volumes of the project by name, ours by label or not."""
        return sorted(name for name in docker("volume", "ls", "-q").split() if self.project in name)

    def clear(self) -> None:
        """Remove all that bears the project's name or label, whoever made it."""
        named = docker("ps", "-aq", f"--filter=name={self.project}").split()
        labelled = docker("ps", "-aq", f"--filter=label=rocenv.project={self.project}").split()
        if named or labelled:
            docker("rm", "-f", "-v", *{*named, *labelled})
        if self.volumes():
            docker("volume", "rm", *self.volumes())

    def inside(self, script: str) -> str:
        """What a shell in the environment answers."""
        return docker("exec", f"rocenv-{self.project}-hip", "sh", "-c", script).strip()


def docker(*arguments: str) -> str:
    """Docker itself, to judge by."""
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout


def inspect(*identities: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(docker("inspect", *identities)) if identities else []
    return found


@pytest.fixture
def life(engine_host: str, small_image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    """A project on the tests' Docker; whatever a test leaves there is removed after it."""
    monkeypatch.setenv("DOCKER_HOST", engine_host)
    life = Life(f"t-{uuid.uuid4().hex[:10]}", small_image)
    yield life
    life.clear()
