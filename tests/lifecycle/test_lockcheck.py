"""What `lock --check` says of a locked profile where neither an engine nor a registry answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from lock.locks import HIP, OTHER
from plan.made import gpu, host

from rocenv.lifecycle.lock import Site
from rocenv.lifecycle.lockcheck import check
from rocenv.lifecycle.sources import Sources, open_sources
from rocenv.model.lock import Checked, Lock, LockedImage
from rocenv.plan import Request


def checks(folder: Path, lock: Lock) -> dict[str, Checked]:
    site = Site(Request("p", str(folder)), lambda: host([gpu(0)]), Sources(None, {}, offline=True), lambda _: None)
    return {one.what: one for one in check(site, lock, ())}


def test_a_profile_that_is_no_more_is_not_to_be_locked_again(tmp_path: Path) -> None:
    found = checks(tmp_path, Lock({"gone": HIP._replace(profile="gone")}))["profile"]
    assert found.verdict == "fail"
    assert found.hint == "`rocenv lock` leaves it out; `rm rocenv.lock` where no other profile is left"


@pytest.mark.parametrize(
    ("reference", "verdict", "said"),
    [
        ("own/image:1", "info", "nobody tells which it has code for"),
        ("rocm/dev-ubuntu-24.04:7.2-full", "ok", "it fits the GPU here"),  # hipcc is in it
    ],
)
def test_an_image_that_nobody_knows_is_not_said_to_fit(reference: str, verdict: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "rocenv.yaml").write_text(f"extends: hip\nname: own\nimage: {{reference: '{reference}'}}\n")
    wish = {"image.reference": reference}
    found = checks(tmp_path, Lock({"own": HIP._replace(profile="own", wish=wish, image=LockedImage(reference, OTHER))}))
    assert found["profile"].verdict == "ok", found
    assert found["host"].verdict == verdict, found
    assert said in found["host"].why


def test_what_the_policy_refuses_is_no_lock_that_holds(tmp_path: Path) -> None:
    (tmp_path / "rocenv.yaml").write_text(
        "extends: hip\nname: own\nimage: {reference: 'own/image:1'}\npolicy: {registries: [quay.io]}\n"
    )
    wish = {"image.reference": "own/image:1"}
    locked = HIP._replace(profile="own", wish=wish, image=LockedImage("own/image:1", OTHER))
    found = checks(tmp_path, Lock({"own": locked}))["policy"]
    assert found.verdict == "fail"
    assert "the policy allows images from quay.io, not `docker.io/own/image`" in found.why


def test_an_engine_that_does_not_answer_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = tmp_path / "docker"  # says what Docker's client says where no daemon runs
    client.write_text(
        "#!/bin/sh\necho null\n"
        "echo 'Cannot connect to the Docker daemon at unix:///nope.sock. Is the docker daemon running?' >&2\n"
        "exit 1\n"
    )
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nope.sock")
    told: list[str] = []
    assert open_sources("docker", offline=True, tell=told.append) == Sources(None, {}, offline=True)
    assert told[0].startswith("no Docker daemon runs")
    assert told[0].endswith(": the registries alone are asked")
