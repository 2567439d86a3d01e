"""Which volumes `up` makes and hands over: rocenv's own caches, never one that somebody else made."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rocenv.engine import Engine
from rocenv.lifecycle.volumes import unready
from rocenv.model.plan import EngineFacts, ImageChoice, Mount, Plan

CACHE = Mount("volume", "rocenv-cache-pip-0123", "/cache/pip")


@dataclass
class Shelf(Engine):
    """An engine with these volumes on it: by name, and those of them that carry rocenv's label."""

    names: set[str] = field(default_factory=set)
    labelled: set[str] = field(default_factory=set)

    def volume_names(self) -> set[str]:
        return self.names

    def volumes(self, *labels: str) -> set[str]:
        return self.labelled


def plan(*mounts: Mount) -> Plan:
    return Plan(
        profile="hip", project="demo", name="hip", engine=EngineFacts("docker"), image=ImageChoice("i", "flag"),
        gpus=(), devices=(), groups=(), keep_groups=False, env={}, mounts=mounts, security=(), cap_add=(),
        ipc="private", shm_size=None, ports=(), user="1000:1000", workdir="/", labels={}, smoke_level="access",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "labelled", "prepared"),
    [
        (set(), set(), True),
        ({CACHE.source}, {CACHE.source}, False),
        ({CACHE.source}, set(), False),
        ({CACHE.source, f"{CACHE.source}.new"}, {CACHE.source, f"{CACHE.source}.new"}, True),
        ({CACHE.source, f"{CACHE.source}.new"}, {f"{CACHE.source}.new"}, False),
        ({CACHE.source, f"{CACHE.source}.new"}, {CACHE.source}, False),
        ({f"{CACHE.source}.new"}, {f"{CACHE.source}.new"}, True),
    ],
)
def test_only_what_is_missing_or_left_half_made(names: set[str], labelled: set[str], *, prepared: bool) -> None:
    assert unready(Shelf(names, labelled), plan(CACHE)) == ({CACHE.source: CACHE.target} if prepared else {})


def test_a_volume_of_the_users_own_is_left_alone() -> None:
    own, read = Mount("volume", "data", "/data"), Mount("volume", "rocenv-cache-hf-45", "/hf", read_only=True)
    assert unready(Shelf(), plan(own, read)) == {}
