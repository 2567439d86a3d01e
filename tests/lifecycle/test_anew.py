"""A container that is made anew: the old one goes only when what the new one is made of is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rocenv.engine import Engine
from rocenv.engine.images import ImageFacts
from rocenv.engine.pull import PullEvent
from rocenv.errors import ImageError, UsageError
from rocenv.lifecycle.fetch import sources_must_be
from rocenv.lifecycle.up import up
from rocenv.model.plan import EngineFacts, ImageChoice, Mount, Plan
from rocenv.model.proof import Environment

OLD = Environment(
    container="rocenv-demo-hip", id="old", name="hip", project="demo", profile="hip", state="running",
    reference="i", digest=None, plan="p1", gpus="[]", owner="1000", created=None, labels={},
)  # fmt: skip


@dataclass
class Holding(Engine):
    """An engine that holds one container and no image, and whose registry has none either."""

    kind: str = "docker"
    program: str = "docker"
    removed: list[str] = field(default_factory=list)

    def find(self, *, project: str | None = None, name: str | None = None) -> list[Environment]:
        return [OLD]

    def image(self, reference: str) -> ImageFacts | None:
        return None

    def size(self, reference: str, facts: EngineFacts) -> int | None:
        return None

    def pull(self, reference: str, progress: Callable[[PullEvent], None]) -> None:
        raise ImageError(f"no `{reference}` anywhere")

    def remove(self, container: str) -> None:
        self.removed.append(container)


def plan(*mounts: Mount) -> Plan:
    return Plan(
        profile="hip", project="demo", name="hip", engine=EngineFacts("docker"), image=ImageChoice("i", "flag"),
        gpus=(), devices=(), groups=(), keep_groups=False, env={}, mounts=mounts, security=(), cap_add=(),
        ipc="private", shm_size=None, ports=(), user="1000:1000", workdir="/",
        labels={"rocenv.plan": "p2", "rocenv.owner": "1000"}, smoke_level="access",
    )  # fmt: skip


@pytest.mark.parametrize("recreate", [True, False])
def test_an_image_that_cannot_be_had_leaves_the_old_container(*, recreate: bool) -> None:
    engine = Holding()
    with pytest.raises(ImageError, match="no `i` anywhere"):
        up(engine, plan(), tell=print, ask=lambda _: True, progress=print, recreate=recreate)
    assert engine.removed == []


def test_a_mount_of_nothing_leaves_the_old_container(tmp_path: Path) -> None:
    engine = Holding()
    with pytest.raises(UsageError, match=r"gone`, to be mounted at `/data`, does not exist"):
        up(
            engine,
            plan(Mount("bind", str(tmp_path / "gone"), "/data")),
            tell=print,
            ask=None,
            progress=print,
            recreate=True,
        )
    assert engine.removed == []


def test_only_bind_mounts_of_this_machine_are_looked_for(tmp_path: Path) -> None:
    gone = Mount("bind", str(tmp_path / "gone"), "/data")
    sources_must_be(plan(Mount("bind", os.devnull, "/null"), Mount("volume", "gone", "/data")))
    sources_must_be(plan(gone)._replace(engine=EngineFacts("docker", remote=True)))
    with pytest.raises(UsageError):
        sources_must_be(plan(gone))
