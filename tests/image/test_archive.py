"""Saved images in every form, and those that are not what they say."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from image.making import (
    Content,
    configuration,
    docker_archive,
    host_elf,
    newer_docker_archive,
    oci_files,
    plain_bundle,
    tarred,
)

from rocenv.engine.layers import Source, from_file
from rocenv.errors import ImageError, UsageError
from rocenv.image.facts import audit
from rocenv.image.stream import zstandard

zstd = zstandard()

LOWER = tarred(
    {"opt/rocm/lib/librocblas.so.4": host_elf(plain_bundle("gfx906")), "old.so": host_elf(plain_bundle("gfx803"))}
)
UPPER = tarred({"opt/rocm/lib/librocblas.so.4": host_elf(plain_bundle("gfx942")), ".wh.old.so": b""})
LAYERS = [LOWER, UPPER]
EXPECTED = {"rocblas": ("gfx942",)}


def gfx(source: Source) -> dict[str, tuple[str, ...]]:
    read = source.read(lambda _: None)
    found = audit(read.config, read.layers, read.identity, read.digest)
    assert read.identity == source.identity or source.identity is None
    return {one.name: one.targets for one in found.libraries}


def written(place: Path, data: bytes) -> str:
    place.write_bytes(data)
    return str(place)


def folder(place: Path, files: Mapping[str, bytes]) -> str:
    for name, data in files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return str(place)


OCI: dict[str, Content] = dict(oci_files(LAYERS))
FORMS = {
    "docker": docker_archive(LAYERS),
    "docker since 25": newer_docker_archive(LAYERS),
    "docker in gzip": gzip.compress(docker_archive(LAYERS)),
    "docker in zstd": zstd.compress(docker_archive(LAYERS)),
    "oci": tarred(OCI),
    "oci, index first": tarred(dict(reversed(OCI.items()))),
    "oci in gzip": gzip.compress(tarred(OCI)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_saved_image(form: str, tmp_path: Path) -> None:
    source = from_file(written(tmp_path / "image.tar", FORMS[form]), None)
    assert gfx(source) == EXPECTED
    # What is known before all is read: the digest of the configuration, which is that of its bytes.
    config = configuration(LAYERS)
    identity = f"sha256:{hashlib.sha256(config).hexdigest()}"
    assert source.identity == (None if " in " in form else identity)
    assert source.read(lambda _: None).identity == identity


def test_a_folder_is_an_oci_layout(tmp_path: Path) -> None:
    assert gfx(from_file(folder(tmp_path / "layout", oci_files(LAYERS)), None)) == EXPECTED


def test_layers_that_are_links_to_others(tmp_path: Path) -> None:
    # docker before 25 saves a layer that is there twice as a link.
    config = configuration([LOWER, UPPER, UPPER])
    entry = {"Config": "c.json", "RepoTags": None, "Layers": ["a/layer.tar", "b/layer.tar", "c/layer.tar"]}
    files: dict[str, Content] = {"a/layer.tar": LOWER, "b/layer.tar": UPPER, "c/layer.tar": "../b/layer.tar",
                                 "c.json": config, "manifest.json": json.dumps([entry]).encode()}  # fmt: skip
    assert gfx(from_file(written(tmp_path / "image.tar", tarred(files)), None)) == EXPECTED


def test_an_index_of_platforms(tmp_path: Path) -> None:
    files = oci_files(LAYERS)
    other = oci_files([LOWER])
    manifests = [json.loads(one["index.json"])["manifests"][0]["digest"] for one in (other, files)]
    machines = ("arm64", "amd64")
    listed = [{"digest": digest, "platform": {"os": "linux", "architecture": machine}}
              for digest, machine in zip(manifests, machines, strict=True)]  # fmt: skip
    inner = json.dumps({"schemaVersion": 2, "manifests": listed}).encode()
    name = hashlib.sha256(inner).hexdigest()
    index = json.dumps({"manifests": [{"digest": f"sha256:{name}"}]}).encode()
    everything = {**other, **files, f"blobs/sha256/{name}": inner, "index.json": index}
    assert gfx(from_file(folder(tmp_path / "layout", everything), None)) == EXPECTED


def test_one_of_several_images_is_named(tmp_path: Path) -> None:
    entries = []
    files: dict[str, Content] = {}
    for number, layers in enumerate(([LOWER], LAYERS)):
        files |= {f"{number}-{n}.tar": layer for n, layer in enumerate(layers)}
        files[f"{number}.json"] = configuration(layers)
        names = [f"{number}-{n}.tar" for n in range(len(layers))]
        entries.append({"Config": f"{number}.json", "RepoTags": [f"own/image:{number}"], "Layers": names})
    path = written(tmp_path / "image.tar", tarred({**files, "manifest.json": json.dumps(entries).encode()}))
    assert gfx(from_file(path, "own/image:1")) == EXPECTED
    with pytest.raises(ImageError, match="holds 2 images: own/image:0, own/image:1"):
        from_file(path, None)
    with pytest.raises(ImageError, match="holds no image `own/image:7`"):
        from_file(path, "own/image:7")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_layer_that_is_not_what_its_digest_says_is_refused(pack: type[bytes], tmp_path: Path) -> None:
    forged = docker_archive(LAYERS).replace(b"gfx906", b"gfx908")
    with pytest.raises(ImageError, match=r"`0/layer\.tar` is not what its digest says"):
        gfx(from_file(written(tmp_path / "image.tar", pack(forged)), None))
    files = oci_files(LAYERS)
    layers = [name for name, data in files.items() if data.startswith(b"\x1f\x8b")]
    files[layers[0]], files[layers[1]] = files[layers[1]], files[layers[0]]
    with pytest.raises(ImageError, match=f"`{layers[0]}` is not what its digest says"):
        gfx(from_file(written(tmp_path / "oci.tar", pack(tarred(dict(files)))), None))


def test_a_configuration_that_is_not_what_its_digest_says_is_refused(tmp_path: Path) -> None:
    forged = {name: data.replace(b'"amd64"', b'"arm64"') for name, data in oci_files(LAYERS).items()}
    with pytest.raises(ImageError, match="is not what its digest says"):
        from_file(folder(tmp_path / "layout", forged), None)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "neither `manifest.json` nor `index.json`"),
        ({"etc/passwd": b"root"}, "neither `manifest.json` nor `index.json`"),
        ({"manifest.json": b"[]"}, "it lists no image"),
        ({"manifest.json": b"{}"}, "it lists no image"),
        ({"manifest.json": b"[" * 100000}, "no JSON"),
        ({"manifest.json": b'[{"Config": "c", "Layers": []}]'}, "lacks the image's configuration `c`"),
        ({"manifest.json": b'[{"Config": "c", "Layers": ["x"]}]', "c": b"{}"}, "does not describe the 1 layers"),
        ({"manifest.json": b'[{"Config": "c", "Layers": ["../../etc/shadow"]}]',
          "c": b'{"rootfs": {"diff_ids": ["x"]}}'},
         "lacks the layer `../../etc/shadow`"),
        ({"manifest.json": b'[{"Config": "c", "Layers": [], "RepoTags": 7}]'}, "lacks the image's configuration `c`"),
        ({"index.json": b"[]"}, "no JSON object"),
        ({"index.json": b'{"manifests": [{"digest": "sha256:00", "annotations": 7}]}'}, "lacks `blobs/sha256/00`"),
        ({"index.json": b'{"manifests": [{"digest": "sha256:00"}]}'}, "lacks `blobs/sha256/00`"),
    ],
)  # fmt: skip
def test_what_is_no_saved_image(files: dict[str, bytes], said: str, tmp_path: Path) -> None:
    for pack in (bytes, gzip.compress):
        path = written(tmp_path / "image.tar", pack(tarred(dict(files))))
        with pytest.raises(ImageError, match="cannot be read as an image") as caught:
            gfx(from_file(path, None))
        assert said in caught.value.message


@pytest.mark.parametrize("kept", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("form", FORMS)
def test_a_cut_file_is_refused(form: str, kept: float, tmp_path: Path) -> None:
    data = FORMS[form]
    with pytest.raises(ImageError):
        gfx(from_file(written(tmp_path / "image.tar", data[: int(len(data.rstrip(b"\0")) * kept)]), None))


def test_no_file_and_no_tar(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no file that an image could be saved in"):
        from_file(str(tmp_path / "missing.tar"), None)
    os.mkfifo(tmp_path / "pipe.tar")
    with pytest.raises(UsageError, match="is no file that an image could be saved in"):
        from_file(str(tmp_path / "pipe.tar"), None)
    with pytest.raises(ImageError, match="the tar header at byte 0 is none"):
        from_file(written(tmp_path / "text.tar", b"hello" * 1000), None)
    with pytest.raises(ImageError, match="neither"):
        from_file(written(tmp_path / "empty.tar", b""), None)


def test_nothing_is_written_whatever_the_names_are(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind in (
            ("../escaped", tarfile.REGTYPE),
            ("/tmp/absolute", tarfile.REGTYPE),
            ("link", tarfile.SYMTYPE),
            ("link/through", tarfile.REGTYPE),
            ("node", tarfile.CHRTYPE),
            ("hard", tarfile.LNKTYPE),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "../.."
            tar.addfile(member)
    path = written(inside / "image.tar", docker_archive([buffer.getvalue()]))
    read = from_file(path, None).read(lambda _: None)
    assert read.layers[0].outside == 1
    assert [str(one.relative_to(tmp_path)) for one in sorted(tmp_path.rglob("*"))] == ["inside", "inside/image.tar"]


@pytest.mark.parametrize("name", ["own/image:1", "docker.io/own/image:1", "localhost/own/image:1"])
def test_the_same_name_in_other_words(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "image.tar", docker_archive(LAYERS, name))
    assert gfx(from_file(path, "own/image:1")) == EXPECTED
    with pytest.raises(ImageError, match="holds no image `own/image:2`"):
        from_file(path, "own/image:2")


def test_a_name_is_no_line_of_its_own(tmp_path: Path) -> None:
    files: dict[str, Content] = {"manifest.json": b'[{"Config": "c\\nerror: all is lost", "Layers": []}]'}
    with pytest.raises(ImageError) as caught:
        from_file(written(tmp_path / "image.tar", tarred(files)), None)
    assert "\n" not in caught.value.message
