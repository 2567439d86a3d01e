"""A bundle is verified whole before anything of it is used; whatever is not sound is refused by its name."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lifecycle.bundles import CONFIG, LAYER, LOCK, MANIFEST, Files, digest, member, path_of, recorded, sound, tar, told

from rocenv.errors import UsageError
from rocenv.lifecycle.carry.verify import opened, unchanged

ESCAPE = f"blobs/sha256/../../../{'a' * 20}"


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as caught, opened(path):
        pass
    assert caught.value.hint
    assert str(path) in caught.value.message
    return caught.value.message


def test_a_sound_bundle_is_opened(tmp_path: Path) -> None:
    with opened(tar(tmp_path / "b.tar", sound())) as bundle:
        assert [one.config.digest for one in bundle.images] == [digest(CONFIG)]
        assert bundle.lock.profiles["hip"].image.digest == digest(MANIFEST)
        assert bundle.texts["rocenv/project/rocenv.lock"] == LOCK


def test_an_engine_is_given_the_images_and_nothing_else(tmp_path: Path) -> None:
    with opened(tar(tmp_path / "b.tar", sound())) as bundle:
        (tmp_path / "given.tar").write_bytes(b"".join(unchanged(bundle)))
    with tarfile.open(tmp_path / "given.tar") as given_to:
        assert sorted(given_to.getnames()) == sorted(
            ["oci-layout", "index.json", "manifest.json", path_of(CONFIG), path_of(LAYER), path_of(MANIFEST)]
        )


def test_a_file_that_changes_under_way_is_noticed_before_its_end(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tar", sound())
    with opened(path) as bundle:
        place = path.read_bytes().index(LAYER)
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"X")
        got: list[bytes] = []
        with pytest.raises(UsageError, match="changed while"):
            got.extend(unchanged(bundle))
    assert not b"".join(got).endswith(bytes(1024))


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (member("../evil", size=3), "`../evil` has no place"),
        (member("/etc/passwd", size=3), "`/etc/passwd` has no place"),
        (member(ESCAPE, size=3), "has no place"),
        (member("rocenv/project/../../x", size=3), "has no place"),
        (member("rocenv/project/.bashrc", size=3), "has no place"),
        (member("rocenv/profiles/../x.yaml", size=3), "has no place"),
        (member("blobs/sha256/abc", size=3), "has no place"),
        (member("a\x1b[31mred", size=3), "has no place"),
        (member("rocenv/project/rocenv.yaml", size=3), "is in it twice"),
        (member("oci-layout", tarfile.SYMTYPE, target="/etc/passwd"), "`oci-layout` is a symbolic link"),
        (member("index.json", tarfile.LNKTYPE, target="oci-layout"), "`index.json` is a hard link"),
        (member("index.json", tarfile.CHRTYPE), "`index.json` is a device"),
        (member("index.json", tarfile.BLKTYPE), "`index.json` is a device"),
        (member("index.json", tarfile.FIFOTYPE), "`index.json` is a FIFO"),
        (member("blobs", tarfile.DIRTYPE), "`blobs/` is a folder"),
        (member("index.json", tarfile.GNUTYPE_SPARSE), "`index.json` is a sparse file"),
        (member("@LongLink", tarfile.GNUTYPE_LONGNAME, size=3), "a name that is too long"),
        (member("pax", tarfile.XHDTYPE, size=3), "an extended header"),
        (member("pax", tarfile.XGLTYPE, size=3), "an extended header"),
        (member("index.json", b"9"), "of no known kind"),
    ],
)
def test_what_no_bundle_holds_is_refused_by_name(tmp_path: Path, odd: tarfile.TarInfo, says: str) -> None:
    message = refused(tar(tmp_path / "b.tar", sound(), odd=[odd], data=b"abc"))
    assert says in message
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.tar"]


def changed_record(**changes: Any) -> Callable[[Files], Files]:
    return lambda files: recorded(files, lambda record: record.update(changes))


def changed_image(**changes: Any) -> Callable[[Files], Files]:
    return lambda files: recorded(files, lambda record: record["images"][0].update(changes))


def without(name: str) -> Callable[[Files], Files]:
    return lambda files: {key: data for key, data in files.items() if key != name}


def put(name: str, data: bytes) -> Callable[[Files], Files]:
    return lambda files: {**files, name: data}


def agreed(name: str, data: bytes) -> Callable[[Files], Files]:
    """Another file, which the record knows."""
    return lambda files: told({**files, name: data})


def relocked(old: str, new: str) -> Callable[[Files], Files]:
    return agreed("rocenv/project/rocenv.lock", LOCK.decode().replace(old, new).encode())


DOCKER_LIE = json.dumps(
    [{"Config": path_of(CONFIG), "RepoTags": ["docker.io/library/alpine:3"], "Layers": []}]
).encode()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put(path_of(LAYER), LAYER[:-1] + b"X"), "is not what its digest says"),
        (put(f"blobs/sha256/{digest(b'more')[7:]}", b"more"), "belongs to no image"),
        (without(path_of(LAYER)), "is missing"),
        (without(path_of(MANIFEST)), "is missing"),
        (lambda files: told(without("index.json")(files)), "`index.json` is missing"),
        (lambda files: told(without("oci-layout")(files)), "`oci-layout` is missing"),
        (put("index.json", b"{}"), "`index.json` is not what the record tells"),
        (without("rocenv/bundle.json"), "lacks its record or its lock"),
        (without("rocenv/project/rocenv.lock"), "lacks its record or its lock"),
        (without("rocenv/project/rocenv.yaml"), "`rocenv/project/rocenv.yaml` is not what the record tells"),
        (put("rocenv/project/rocenv.yaml", b"user: root\n"), "`rocenv/project/rocenv.yaml` is not what the record"),
        (put("rocenv/profiles/evil.yaml", b"user: root\n"), "`rocenv/profiles/evil.yaml` is not what the record"),
        (agreed("manifest.json", DOCKER_LIE), "tells of other images"),
        (agreed("manifest.json", b"["), "cannot be read"),
        (agreed("index.json", b'{"manifests": 5}'), "cannot be read"),
        (agreed("index.json", b"[" * 100_000), "cannot be read"),
        (agreed("oci-layout", b'{"imageLayoutVersion": "2.0.0"}'), "another version"),
        (put("manifest.json", b" " * (5 << 20)), "far more than it ever has"),
        (put("rocenv/bundle.json", b"no"), "`bundle.json` cannot be read"),
        (changed_record(version=2), "of version 2, and this rocenv knows up to 1"),
        (changed_record(images=[]), "other images than its record"),
        (changed_image(profile="other"), "its lock does not hold `other`"),
        (changed_image(name="docker.io/library/alpine:3"), "is not the name"),
        (changed_image(reference="example.org/other:1"), "not the one that its lock tells"),
        (changed_image(digest=None), "not the one that its lock tells"),
        (relocked("version: 1", "version: 2"), "in its lock, `rocenv.lock:1`"),
    ],
)  # fmt: skip
def test_what_does_not_agree_is_refused(tmp_path: Path, change: Callable[[Files], Files], says: str) -> None:
    assert says in refused(tar(tmp_path / "b.tar", change(sound())))


def test_an_image_that_the_lock_does_not_know_is_refused(tmp_path: Path) -> None:
    lock = LOCK.decode().replace(digest(CONFIG), digest(b"x")).replace(digest(MANIFEST), digest(b"y"))
    files = agreed("rocenv/project/rocenv.lock", lock.encode())(sound())
    files = changed_image(digest=digest(b"y"))(files)
    assert "not the one that its lock tells" in refused(tar(tmp_path / "b.tar", files))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(part=st.floats(0, 1, exclude_max=True))
def test_a_cut_file_is_refused_wherever_it_was_cut(tmp_path: Path, part: float) -> None:
    whole = tar(tmp_path / "b.tar", sound()).read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole[: int(part * len(whole))])
    refused(cut)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(part=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_one_flipped_bit_is_refused_or_of_no_account(tmp_path: Path, part: float, bit: int) -> None:
    """Of no account: what fills a block, and the words of the record, which is held against all else."""
    path = tar(tmp_path / "b.tar", sound())
    whole = bytearray(path.read_bytes())
    place = int(part * len(whole))
    record = whole.index(b'{"version": 1')
    free = whole[place] == 0 or record <= place < len(whole) - 1024
    whole[place] ^= 1 << bit
    path.write_bytes(whole)
    if free:
        with suppress(UsageError), opened(path):
            pass
    else:
        refused(path)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 512, b"\0" * 1024, b"PK\x03\x04" + b"x" * 600, b"\x1f\x8b" + b"x" * 2000]
)
def test_other_files_are_no_bundle(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "b.tar").write_bytes(data)
    refused(tmp_path / "b.tar")


def test_what_stands_behind_the_end_is_refused(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tar", sound())
    path.write_bytes(path.read_bytes() + path.read_bytes())
    assert "behind its end" in refused(path)


def test_a_header_that_promises_more_than_there_is(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tar", sound())
    whole = bytearray(path.read_bytes())
    whole[124:136] = b"77777777777\0"  # 8 GiB
    whole[148:156] = b" " * 8
    whole[148:156] = f"{sum(whole[:512]):06o}\0 ".encode()
    path.write_bytes(whole)
    assert "cut off within" in refused(path)


def test_a_fifo_a_folder_and_nothing_are_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    assert "no regular file" in refused(tmp_path / "fifo")
    assert "cannot be read" in refused(tmp_path / "folder") or "no regular file" in refused(tmp_path / "folder")
    assert "No such file" in refused(tmp_path / "none")
