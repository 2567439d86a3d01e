"""`rocenv bundle` on a real engine: what runs here runs there, without a registry and by the same ids."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli.locking import Site, a_site

if TYPE_CHECKING:
    from conftest import TestBed

pytestmark = pytest.mark.engine


@pytest.fixture
def site(bed: TestBed, small_image: str) -> Iterator[Site]:
    with a_site(bed) as here:
        yield here


@pytest.fixture
def locked(site: Site) -> Site:
    """A project with an image that is in both registries, and a lock of it; `words` keeps the image's id."""
    site.push("first", mirrored=True)
    site.well("lock")
    return site


def carried(there: Site, bundle: Path) -> Path:
    """The bundle brought to the other folder."""
    return bundle.rename(there.bed.project / bundle.name)


def contents(bundle: Path) -> dict[str, bytes]:
    with tarfile.open(bundle) as archive:
        return {one.name: archive.extractfile(one).read() for one in archive if one.isreg()}  # type: ignore[union-attr]


def layout(files: dict[str, bytes]) -> dict[str, Any]:
    """The one image of an OCI layout, each step of it checked by hand."""
    for name, data in files.items():
        assert "blobs/" not in name or hashlib.sha256(data).hexdigest() == name[-64:]
    [entry] = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(files[f"blobs/sha256/{entry['digest'][7:]}"])
    for one in (manifest["config"], *manifest["layers"]):
        assert len(files[f"blobs/sha256/{one['digest'][7:]}"]) == one["size"]
    return {"digest": entry["digest"], "config": manifest["config"]["digest"], "layers": manifest["layers"]}


@pytest.mark.parametrize("words", [(), ("--offline",)], ids=["from the registry", "from the engine"])
def test_what_runs_here_runs_there_without_a_registry(locked: Site, words: tuple[str, ...]) -> None:
    answer = json.loads(locked.well("bundle", "save", "b.tar", *words, "--json"))
    [image] = answer["images"]
    bundle = locked.bed.project / "b.tar"
    found = layout(contents(bundle))
    assert found["config"] == image["image"]
    lock = locked.lock.read_text()
    assert (f"manifest: {found['digest']}" in lock) is (not words)  # the engine packs anew, a registry does not
    assert f"image: {found['config']}" in lock

    there = locked.elsewhere("x")
    carried(there, bundle)
    told = json.loads(there.well("bundle", "load", "b.tar", "--json"))
    assert (told["had"], {one["action"] for one in told["files"]}) == ([], {"written"})
    assert there.lock.read_text() == lock
    there.well("up", "--no-test", "--frozen")
    assert there.runs() == image["image"]
    assert there.checks()["digest"]["verdict"] == "warn"  # nowhere any more but here
    again = json.loads(there.well("bundle", "load", "b.tar", "--json"))
    assert (again["had"], {one["action"] for one in again["files"]}) == ([image["image"]], {"same"})
    there.bed.rocenv("down", "--volumes")


def test_docker_takes_a_bundle_as_it_is_and_two_are_the_same_bytes(locked: Site) -> None:
    locked.well("bundle", "save", "b.tar")
    locked.well("bundle", "save", "c.tar")
    one, other = (locked.bed.project / name for name in ("b.tar", "c.tar"))
    assert one.read_bytes() == other.read_bytes()
    locked.forget()
    done = locked.bed.docker("load", "-i", str(one))
    assert done.returncode == 0, done.stderr
    assert "rocenv/locked:" in done.stdout


def test_a_built_image_is_carried_whole(site: Site) -> None:
    site.push("first")
    with (site.bed.project / "rocenv.yaml").open("a") as file:
        file.write("build: {template: on-image}\n")
    site.well("lock")
    assert "`rocenv up hip` builds it" in site.well("bundle", "save", "b.tar", code=5)
    assert not (site.bed.project / "b.tar").exists()
    reference = json.loads(site.well("up", "--no-test", "--json"))["plan"]["image"]["reference"]
    site.well("bundle", "save", "b.tar")
    there = site.elsewhere("x")
    assert there.bed.docker("image", "inspect", reference).returncode != 0
    carried(there, site.bed.project / "b.tar")
    there.well("bundle", "load", "b.tar")
    assert "building" not in there.well("up", "--no-test", "--frozen")
    there.bed.rocenv("down", "--volumes")


def test_a_broken_bundle_leaves_nothing_behind(locked: Site) -> None:
    image = json.loads(locked.well("bundle", "save", "b.tar", "--json"))["images"][0]["image"]
    there = locked.elsewhere("x")
    bundle = carried(there, locked.bed.project / "b.tar")
    whole = bundle.read_bytes()
    middle = len(whole) // 2  # the layer is by far the largest part
    for broken in (whole[:middle], whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]):
        bundle.write_bytes(broken)
        for verb in ("load", "verify"):
            assert "nothing of it was used" in there.well("bundle", verb, "b.tar", code=2)
        assert there.bed.docker("image", "inspect", image).returncode != 0
        assert [one.name for one in there.bed.project.iterdir()] == ["b.tar"]
    bundle.write_bytes(whole)
    there.well("bundle", "verify", "b.tar")


def test_files_of_the_project_are_not_overwritten(locked: Site) -> None:
    image = json.loads(locked.well("bundle", "save", "b.tar", "--json"))["images"][0]["image"]
    there = locked.elsewhere("x")
    carried(there, locked.bed.project / "b.tar")
    own = there.bed.project / "rocenv.yaml"
    own.write_text("extends: pytorch\n")
    said = there.well("bundle", "load", "b.tar", code=2)
    assert f"`{own}` would be overwritten" in said
    assert own.read_text() == "extends: pytorch\n"
    assert not there.lock.exists()
    assert there.bed.docker("image", "inspect", image).returncode != 0

    own.unlink()
    there.bed.project.chmod(0o555)
    assert f"`{there.lock}` cannot be written: nothing was loaded" in there.well("bundle", "load", "b.tar", code=2)
    there.bed.project.chmod(0o755)
    assert there.bed.docker("image", "inspect", image).returncode != 0

    outside = there.bed.project.parent / "outside"
    own.symlink_to(outside)
    there.well("bundle", "load", "b.tar", code=2)
    there.well("bundle", "load", "b.tar", "--force")
    assert not outside.exists()  # the link was replaced, not followed
    assert not own.is_symlink()
    there.forget()


def test_no_secret_is_carried(locked: Site) -> None:
    with (locked.bed.project / "rocenv.yaml").open("a") as file:
        file.write("env: {HF_TOKEN: hf_verysecret, NCCL_DEBUG: INFO}\n")
    locked.well("lock")
    locked.well("bundle", "save", "b.tar")
    assert b"hf_verysecret" not in (locked.bed.project / "b.tar").read_bytes()
    assert "hf_verysecret" not in locked.lock.read_text()
    assert b"HF_TOKEN: $HF_TOKEN" in contents(locked.bed.project / "b.tar")["rocenv/project/rocenv.yaml"]


def test_what_is_not_locked_as_it_is_wished_is_not_carried(site: Site) -> None:
    assert "there is no `rocenv.lock`" in site.well("bundle", "save", "b.tar", code=7)
    site.push("first")
    site.well("lock")
    (site.bed.project / "rocenv.yaml").write_text("extends: hip\nimage: {reference: 'rocenv/small:1'}\n")
    assert "another wish" in site.well("bundle", "save", "b.tar", code=7)
    (site.bed.project / "folder").mkdir()
    assert "no regular file" in site.well("bundle", "save", "folder", code=2)
    assert not (site.bed.project / "b.tar").exists()
