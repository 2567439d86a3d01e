"""Where a locked image may be pulled from: its own place, the settings' mirrors, the lock's; what the policy allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from lock.locks import TRAIN
from plan.made import DOCKER, gpu, host, profile

from rocenv.errors import HostError
from rocenv.lifecycle import lockfile
from rocenv.lifecycle.held import LOCKED, planned
from rocenv.lifecycle.lock import Site, locked_anew
from rocenv.lifecycle.sources import Sources
from rocenv.lock.compare import wish_of
from rocenv.model.host import Host
from rocenv.model.lock import Lock
from rocenv.model.plan import ImageChoice
from rocenv.model.wish import PolicyWish, Profile
from rocenv.plan import Request

OWN = "mirror.example:5000/rocm/pytorch"  # what the lock names


def image(folder: Path, wished: Profile) -> ImageChoice:
    locked = TRAIN._replace(profile=wished.name, wish=wish_of(wished), build=None)
    lockfile.save(folder, Lock({wished.name: locked}))
    return planned(wished, host([gpu(0)]), DOCKER, Request("p", str(folder)), LOCKED).image


def test_the_settings_mirrors_come_before_the_places_of_the_lock(tmp_path: Path) -> None:
    wished = profile(mirrors={"docker.io": ("one.example", "two.example/hub"), "quay.io": ("three.example",)})
    found = image(tmp_path, wished)
    assert found.places == ("one.example/rocm/pytorch", "two.example/hub/rocm/pytorch", OWN)
    assert found.ids == (*TRAIN.image.ids, f"docker.io/rocenv/locked:{'2' * 16}")


def test_the_policy_holds_for_every_place(tmp_path: Path) -> None:
    wished = profile(
        mirrors={"docker.io": ("one.example",)},
        policy=PolicyWish(registries=("docker.io", "one.example"), digests=True),
    )
    assert image(tmp_path, wished).places == ("one.example/rocm/pytorch",)


def test_what_is_locked_needs_no_host_and_nobody_to_ask(tmp_path: Path) -> None:
    """As on a machine without a GPU, an engine and a network: what is still wished stays, to the byte."""

    def no_host() -> Host:
        raise HostError("there is no GPU here")

    (tmp_path / "rocenv.yaml").write_text("extends: hip\nenvironments: {train: {image: {rocm: '>=7.0'}}}\n")
    site = Site(Request("p", str(tmp_path)), no_host, Sources(None, {}, offline=True), lambda _: None)
    from rocenv.profile import load_profile

    wish = wish_of(load_profile("train", project=tmp_path, overrides={}))
    old = Lock({"train": TRAIN._replace(wish=wish, build=None)})
    assert locked_anew(site, ["train"], old, update=False) == old
    with pytest.raises(HostError):
        locked_anew(site, ["train"], old, update=True)
