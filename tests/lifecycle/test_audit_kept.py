"""What was found in an image is kept by its digests, and only what was written here is believed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rocenv.engine.layers import Read, Source
from rocenv.errors import ImageError
from rocenv.image.layer import Layer
from rocenv.lifecycle.audit import informed, keep, known, look_inside
from rocenv.model.audit import Audit, Library, Package, Python, Release, Shared, Torch
from rocenv.model.health import ImageView

CONFIG, MANIFEST = "sha256:" + "a" * 64, "sha256:" + "b" * 64


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "rocenv" / "audit"


def source(counted: list[str], identity: str | None = CONFIG) -> Source:
    def read(tell: object) -> Read:
        counted.append("read")
        layer = Layer()
        layer.outside = 7
        return Read(CONFIG, MANIFEST, {"config": {"User": "me"}}, [layer])

    return Source("own/image:1", "engine", identity, None, read)


def test_an_image_is_read_once(cache: Path) -> None:
    counted: list[str] = []
    first = look_inside(source(counted), print)
    assert (first.user, first.outside, first.digest) == ("me", 7, MANIFEST)
    assert look_inside(source(counted), print) == first
    assert counted == ["read"]
    look_inside(source(counted), print, fresh=True)
    assert counted == ["read", "read"]


def test_it_is_known_by_each_digest_and_by_no_other(cache: Path) -> None:
    found = look_inside(source([]), print)
    assert known(CONFIG) == known(MANIFEST) == known(CONFIG.removeprefix("sha256:")) == found
    for other in ("sha256:" + "c" * 64, "sha256:../../etc/passwd", "sha512:" + "a" * 64, "", "a" * 63):
        assert known(other) is None
    assert sorted(one.name for one in cache.iterdir()) == [f"{'a' * 64}.json", f"{'b' * 64}.json"]


def test_an_image_whose_digest_is_not_known_before_is_read_and_kept() -> None:
    counted: list[str] = []
    look_inside(source(counted, None), print)
    look_inside(source(counted, None), print)
    assert counted == ["read", "read"]
    assert known(CONFIG) is not None


def test_everything_comes_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Audit(
        CONFIG, MANIFEST, "amd64", "Ubuntu 24.04", (Release("7.2.4", "/opt"),), (Release("7.2", "/opt"),),
        (Library("rocblas", "code", "/opt/rocm/lib", ("gfx942", "gfx90a:xnack+"), 3),),
        (Shared("rccl", (("/a/librccl.so.1", "1"), ("/b/librccl.so", ""))),), ("/x",),
        (Torch("2.10", "/v", "7.2", None, None, ("gfx942",)),), ("/c",), (Package("triton", "3.6", "/v"),),
        {"hipcc": "5.7"}, (Python("/opt/venv", None, "venv"),), {"/opt/rocm": "/opt/rocm-7"}, "1000", {"render": 109},
        "/w", ("sh", "-c"), ("x\x1b[31m",), {"PATH": "/bin"}, ("/u",), 1, 2, 3, 4, 5,
    )  # fmt: skip
    monkeypatch.setattr("rocenv.image.facts.audit", lambda *_: full)
    look_inside(source([]), print)
    assert known(CONFIG) == full


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[:-50],
        lambda text: text.replace(b'"me"', b'"you"'),
        lambda text: text.replace(b'"format": ', b'"format": 9'),
        lambda text: b"[]",
        lambda text: b'{"format": 1, "sum": "x", "audit": 3}',
        lambda text: b"[" * 100_000,
        lambda text: b"\xff\xfe",
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_read_anew(damage: object, cache: Path) -> None:
    counted: list[str] = []
    look_inside(source(counted), print)
    file = cache / f"{'a' * 64}.json"
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    assert known(CONFIG) is None
    assert look_inside(source(counted), print).user == "me"
    assert len(counted) == 2
    assert known(CONFIG) is not None


def test_what_is_no_file_is_not_waited_for(cache: Path) -> None:
    look_inside(source([]), print)
    for digest in (CONFIG, MANIFEST):
        file = cache / f"{digest.removeprefix('sha256:')}.json"
        file.unlink()
        os.mkfifo(file)
        assert known(digest) is None
    assert look_inside(source([]), print).user == "me"
    assert known(CONFIG) is not None


def test_a_cache_that_cannot_be_written_is_no_failure(cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    assert look_inside(source([]), print).user == "me"


def test_what_could_not_be_read_is_not_kept(cache: Path) -> None:
    def fails(_: object) -> Read:
        raise ImageError("damaged")

    with pytest.raises(ImageError):
        look_inside(Source("x", "file", CONFIG, None, fails), print)
    assert not cache.exists()


def test_what_is_kept_is_json_of_this_version(cache: Path) -> None:
    look_inside(source([]), print)
    assert json.loads((cache / f"{'a' * 64}.json").read_text())["version"] == 1


def test_what_an_audit_found_goes_before_hearsay() -> None:
    told = ImageView("own/image:1", gfx=("gfx906",), gfx_source="the catalog", gfx_verified=False, identity=MANIFEST)
    assert informed(told) == told
    found = Audit(
        CONFIG,
        MANIFEST,
        rocm=(Release("7.2.4", "/x"),),
        libraries=(Library("torch/libtorch_hip", "code", "/v/torch", ("gfx942", "gfx90a:xnack-")),),
        torch=(Torch("2.10.0+rocm7.2.4", "/v/torch", "7.2.5"),),
        groups={"render": 109},
    )
    keep(found, {CONFIG, MANIFEST})
    seen = informed(told)
    assert (seen.gfx, seen.gfx_source, seen.gfx_verified) == (("gfx942", "gfx90a"), "`rocenv audit`", True)
    assert (seen.rocm, seen.torch, seen.hip, seen.groups) == ("7.2.4", "2.10.0+rocm7.2.4", "7.2.5", {"render": 109})
    assert informed(told._replace(identity=None)).gfx == ("gfx906",)


def test_an_image_without_code_leaves_what_was_known() -> None:
    keep(Audit(CONFIG), {CONFIG})
    told = ImageView("own/image:1", rocm="7.2", gfx=("gfx906",), gfx_source="the catalog", identity=CONFIG)
    assert informed(told)._replace(groups=None) == told
