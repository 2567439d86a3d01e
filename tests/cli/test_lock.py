"""`rocenv lock` on a real engine and a real registry: tags that move and go, mirrors, and what is left offline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from cli.locking import REGISTRY, STORE, Site, a_site

if TYPE_CHECKING:
    from conftest import TestBed

pytestmark = pytest.mark.engine


@pytest.fixture
def site(bed: TestBed, small_image: str) -> Iterator[Site]:
    with a_site(bed) as here:
        yield here


def test_a_lock_holds_what_runs_and_stays_the_same(site: Site) -> None:
    identity = site.push("first")
    site.well("up", "--no-test")
    answer = json.loads(site.well("lock", "--json"))
    [one] = answer["profiles"]
    assert (answer["version"], answer["status"], answer["written"]) == (1, "ok", True)
    assert (one["profile"], one["reference"]) == ("hip", site.image)
    assert one["platforms"]["linux/amd64"]["image"] == identity
    digests = site.bed.docker("image", "inspect", "--format", "{{json .RepoDigests}}", site.image).stdout
    assert f"{REGISTRY}/{site.repository}@{one['digest']}" in json.loads(digests)
    assert one["places"] == [f"{REGISTRY}/mirror/{site.repository}"]

    before = site.lock.read_bytes()
    assert json.loads(site.well("lock", "--json"))["changes"] == []
    assert site.lock.read_bytes() == before
    # The container that ran before the lock was written is of the locked image: it is used, not made anew.
    assert json.loads(site.well("up", "--no-test", "--frozen", "--json"))["action"] == "used"


def test_a_lock_survives_a_tag_that_moves_and_goes(site: Site) -> None:
    first = site.push("first", mirrored=True)
    site.well("lock")
    before = site.lock.read_text()
    second = site.push("second")
    site.forget()

    checks = site.checks()
    assert (checks["tag"]["verdict"], checks["digest"]["verdict"]) == ("warn", "ok")
    assert "has moved" in checks["tag"]["why"]
    site.well("up", "--no-test")
    assert site.runs() == first
    assert "rocenv.lock is as it was" in site.well("lock")
    assert site.lock.read_text() == before

    site.drop("tags/1")
    assert "is gone" in site.checks()["tag"]["why"]
    site.forget()
    site.drop("revisions")  # now its own repository has nothing at all
    said = site.well("up", "--no-test", "--frozen")
    assert f"came from {REGISTRY}/mirror/{site.repository}" in said
    assert site.runs() == first
    assert json.loads(site.well("up", "--no-test", "--json"))["action"] == "used"
    checks = site.checks()
    assert f"at {REGISTRY}/mirror/{site.repository}; the engine has it" in checks["digest"]["why"]
    assert checks["places"]["verdict"] == "info"
    assert second != first


def test_what_is_gone_everywhere_is_told(site: Site) -> None:
    site.push("first", mirrored=True)
    site.well("lock")
    for repository in (site.repository, f"mirror/{site.repository}"):
        shutil.rmtree(STORE / repository)
    assert site.checks()["digest"]["verdict"] == "warn"  # the engine still has it
    site.forget()
    said = site.well("up", "--no-test", code=5)
    assert "no place gives the locked image" in said
    assert f"{REGISTRY}/mirror/{site.repository}" in said
    assert site.checks(code=7)["digest"]["verdict"] == "fail"
    assert "hint:" in site.well("lock", "--update", code=5)


def test_update_tells_the_difference_fact_by_fact(site: Site) -> None:
    site.push("first")
    site.well("lock")
    before = json.loads(site.well("lock", "--json"))["profiles"][0]
    second = site.push("second")
    answer = json.loads(site.well("lock", "--update", "--json"))
    after = answer["profiles"][0]
    changes = {one["fact"]: (one["old"], one["new"]) for one in answer["changes"]}
    assert changes["image.digest"] == (before["digest"], after["digest"])
    assert after["platforms"]["linux/amd64"]["image"] == second
    assert site.checks()["tag"]["verdict"] == "ok"
    (site.bed.project / "rocenv.yaml").write_text("extends: hip\nimage: {reference: 'rocenv/small:1'}\n")
    assert "image.reference" in site.checks(code=7)["profile"]["why"]
    assert f"{site.image} → rocenv/small:1" in site.well("lock")


def test_offline_what_is_here_is_locked_and_the_rest_is_said(site: Site) -> None:
    identity = site.push("first")
    site.well("lock", "--offline")
    assert identity in site.lock.read_text()
    checks = site.checks("--offline")
    assert (checks["digest"]["verdict"], checks["tag"]["verdict"]) == ("skip", "skip")
    assert "could not be checked: no registry was asked (--offline); the engine has it" in checks["digest"]["why"]
    site.forget()
    site.lock.unlink()
    assert "--offline" in site.well("lock", "--offline", code=5)
    assert not site.lock.exists()

    # A name given by hand: the digest that the engine tells of it is another repository's, and would not be found.
    site.push("first")
    assert site.bed.docker("tag", site.image, f"{site.repository}/by-hand:1").returncode == 0
    (site.bed.project / "rocenv.yaml").write_text(
        f"extends: hip\nimage: {{reference: '{site.repository}/by-hand:1'}}\n"
    )
    assert "not here with a digest of a registry" in site.well("lock", "--offline", code=5)


def test_a_registry_that_does_not_answer_leaves_it_unchecked(site: Site) -> None:
    site.push("first")
    site.well("lock")
    dead = site.image.replace("5000", "5999")
    site.lock.write_text(site.lock.read_text().replace(f"{REGISTRY}/", "127.0.0.1:5999/"))
    (site.bed.project / "rocenv.yaml").write_text(f"extends: hip\nimage: {{reference: '{dead}'}}\n")
    checks = site.checks()
    assert (checks["profile"]["verdict"], checks["digest"]["verdict"], checks["tag"]["verdict"]) == (
        "ok",
        "skip",
        "skip",
    )
    assert "the engine has it" in checks["digest"]["why"]
    # The image is here under another name, and counts by its id.
    planned = json.loads(site.well("plan", "--frozen", "--json"))
    said = site.well("up", "--no-test", "--frozen")
    assert "started" in said
    assert site.runs() in planned["argv"]  # what plan shows is what runs
    there = json.loads(site.well("up", "--no-test", "--frozen", "--json"))
    assert there["action"] == "used"
    assert there["environment"]["reference"].startswith(f"{dead}@sha256:")
    said = site.well("lock", "--update", code=5)
    assert f"the digest of `{dead}` cannot be told" in said


def test_a_build_on_a_locked_image_that_came_from_a_mirror(site: Site) -> None:
    site.push("first", mirrored=True)
    with (site.bed.project / "rocenv.yaml").open("a") as file:
        file.write("build: {template: on-image}\n")
    site.well("lock")
    assert "dockerfile: sha256:" in site.lock.read_text()
    site.forget()
    site.drop("revisions")
    said = site.well("up", "--no-test", "--frozen")
    assert "building rocenv/hip:" in said
    built = json.loads(site.well("up", "--no-test", "--frozen", "--json"))
    assert built["action"] == "used"
    assert site.checks()["build"]["verdict"] == "ok"


def test_the_proof_of_the_locked_image_is_locked_with_it(site: Site) -> None:
    site.push("first")
    site.well("lock")
    assert "proof:" not in site.lock.read_text()
    site.well("up", "--no-test", "--gpus", "0,2")
    site.well("test", "--level", "access")
    [one] = json.loads(site.well("lock", "--json"))["profiles"]
    version = site.bed.run("cat", "/sys/module/amdgpu/version").stdout.strip()
    assert one["proof"] == {"result": "passed", "level": "access", "gpus": {"gfx942": 2}, "driver": version}
    for private in ("GPU-", "0000:", "renderD", site.bed.project.parent.name):
        assert private not in site.lock.read_text()


def test_where_it_cannot_be_written_the_old_lock_stays(site: Site) -> None:
    site.push("first")
    site.well("lock")
    before = site.lock.read_bytes()
    site.bed.project.chmod(0o555)
    site.push("second")
    assert "cannot be written" in site.well("lock", "--update", code=2)
    site.bed.project.chmod(0o755)
    assert site.lock.read_bytes() == before
    assert [one.name for one in site.bed.project.iterdir() if one.name.startswith(".")] == []


INDEX = "application/vnd.oci.image.index.v1+json"
PUT = """
import json, sys, urllib.request as ask
index, *entries = json.loads(sys.argv[1])
manifests = []
for architecture, at in entries:
    request = ask.Request(at, headers={"Accept": "application/vnd.docker.distribution.manifest.v2+json"})
    with ask.urlopen(request) as answer:
        told = answer.headers
    kind, digest, size = (told[one] for one in ("Content-Type", "Docker-Content-Digest", "Content-Length"))
    platform = {"os": "linux", "architecture": architecture}
    manifests.append({"mediaType": kind, "digest": digest, "size": int(size), "platform": platform})
whole = {"schemaVersion": 2, "mediaType": sys.argv[2], "manifests": manifests}
put = ask.Request(index, json.dumps(whole).encode(), {"Content-Type": sys.argv[2]}, method="PUT")
with ask.urlopen(put) as answer:
    print(answer.headers["Docker-Content-Digest"])
"""


def test_of_an_index_every_platform_is_locked_and_the_right_one_runs(site: Site) -> None:
    at = f"http://{REGISTRY}/v2/{site.repository}/manifests"
    arm = site.push("arm")
    assert site.bed.docker("tag", site.image, f"{REGISTRY}/{site.repository}:arm").returncode == 0
    assert site.bed.docker("push", f"{REGISTRY}/{site.repository}:arm").returncode == 0
    amd = site.push("amd")
    words = json.dumps([f"{at}/1", ["arm64", f"{at}/arm"], ["amd64", f"{at}/1"]])
    put = site.bed.run("python3", "-c", PUT, words, INDEX)
    assert put.returncode == 0, put.stderr
    site.forget()
    [one] = json.loads(site.well("lock", "--json"))["profiles"]
    assert one["digest"] == put.stdout.strip()
    assert {name: platform["image"] for name, platform in one["platforms"].items()} == {
        "linux/amd64": amd, "linux/arm64": arm,
    }  # fmt: skip
    site.well("up", "--no-test", "--frozen")
    assert site.runs() == amd
    assert site.checks()["tag"]["verdict"] == "ok"
    before = site.lock.read_bytes()
    site.lock.unlink()
    site.well("lock")  # now by the copy that is here
    assert site.lock.read_bytes() == before
    assert json.loads(site.well("bundle", "save", "b.tar", "--json"))["images"][0]["image"] == amd


OWN = """\
FROM {{ recipe.base | reference }}
RUN printf '%s\\n' '#!/bin/sh' 'echo "apt git 1:2.43-1"' > /bin/dpkg-query && chmod 755 /bin/dpkg-query
"""


def test_the_packages_that_a_build_came_to_are_locked_and_frozen_holds_them(site: Site) -> None:
    """The image has no package manager; the build adds a program that answers as Debian's would."""
    site.push("first")
    (site.bed.project / "dockerfiles").mkdir()
    (site.bed.project / "dockerfiles/own.Dockerfile.j2").write_text(OWN)
    with (site.bed.project / "rocenv.yaml").open("a") as file:
        file.write("build: {template: own}\n")
    assert "is not built here" in site.well("lock")
    reference = json.loads(site.well("up", "--no-test", "--frozen", "--json"))["plan"]["image"]["reference"]
    assert "+ build.packages.apt.git: 1:2.43-1" in site.well("lock")
    site.well("up", "--no-test", "--frozen")

    other = OWN.replace("1:2.43-1", "1:2.44-1").replace("{{ recipe.base | reference }}", site.image)
    (site.bed.project / "Dockerfile").write_text(other)
    assert site.bed.docker("build", "--tag", reference, str(site.bed.project)).returncode == 0
    said = site.well("up", "--no-test", "--frozen", code=7)
    assert "apt git: 1:2.43-1 → 1:2.44-1" in said
    site.well("up", "--no-test", "--locked")

    # Another template is another image: that is drift, and `rocenv lock` locks it without moving the digest.
    (site.bed.project / "dockerfiles/own.Dockerfile.j2").write_text(OWN + "ENV A=b\n")
    assert f"drifted from `rocenv.lock`: {reference} → " in site.well("up", "--no-test", "--frozen", code=7)
    assert site.checks(code=7)["build"]["verdict"] == "fail"
    changes = {one["fact"] for one in json.loads(site.well("lock", "--json"))["changes"]}
    assert {"build.reference", "build.dockerfile"} <= changes
    assert "image.digest" not in changes
