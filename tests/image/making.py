"""Layers, code objects and saved images made by hand, from the formats' descriptions alone."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rocenv.image.layer import Layer, Room, read_layer

OBJECTS = Path(__file__).parent / "objects"
DEVICE = "hipv4-amdgcn-amd-amdhsa--"
HOST = "host-x86_64-unknown-linux--"


def plain_bundle(*targets: str, size: int = 100) -> bytes:
    """A bundle as the clang documentation draws it: magic, count, (offset, size, length, id)…, code objects."""
    ids = [HOST.encode(), *(f"{DEVICE}{target}".encode() for target in targets)]
    header = 32 + sum(24 + len(one) for one in ids)
    text = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids))
    for number, one in enumerate(ids):
        text += struct.pack("<QQQ", header + size * max(0, number - 1), size if number else 0, len(one)) + one
    return text + b"\x01" * size * len(targets)


def host_elf(*parts: bytes) -> bytes:
    """A shared object of x86-64 with these parts on pages of their own."""
    text = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 3, 62, 1) + bytes(40)
    for part in parts:
        text += bytes(-len(text) % 4096) + part
    return text + bytes(1000)


def device_elf(mach: int) -> bytes:
    """A code object, version 4: EM_AMDGPU, and e_flags."""
    head = b"\x7fELF\x02\x01\x01\x40\x02" + bytes(7) + struct.pack("<HHI", 3, 224, 1) + bytes(24)
    return head + struct.pack("<I", mach) + bytes(500)


Content = bytes | str | None  # a file, where a link leads, or a folder


def tarred(files: Mapping[str, Content], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar of files, symbolic links (text) and folders (None), in this order."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if content is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
            else:
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()


def cut(data: bytes, size: int = 1000) -> Iterator[bytes]:
    """The bytes in pieces, as a pipe gives them."""
    return (data[at : at + size] for at in range(0, len(data), size))


def layer_of(files: Mapping[str, Content]) -> Layer:
    """A layer of these files, read."""
    return read_layer(cut(tarred(files)), "layer", Room())


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def configuration(layers: Sequence[bytes], **settings: object) -> bytes:
    """An image's configuration for layers given as plain tars."""
    described = {"type": "layers", "diff_ids": [digest_of(layer) for layer in layers]}
    return json.dumps({"architecture": "amd64", "os": "linux", "config": settings, "rootfs": described}).encode()


def docker_archive(layers: Sequence[bytes], name: str = "own/image:1", **settings: object) -> bytes:
    """What docker before 25 saves: the manifest last."""
    config = configuration(layers, **settings)
    files: dict[str, Content] = {}
    for number, layer in enumerate(layers):
        files[f"{number}/layer.tar"] = layer
    files["config.json"] = config
    entry = {"Config": "config.json", "RepoTags": [name], "Layers": [f"{n}/layer.tar" for n in range(len(layers))]}
    files["manifest.json"] = json.dumps([entry]).encode()
    return tarred(files)


def newer_docker_archive(layers: Sequence[bytes], name: str = "own/image:1", **settings: object) -> bytes:
    """What docker saves since 25: an OCI layout of plain layers, with its own manifest beside."""
    config = configuration(layers, **settings)
    names = [f"blobs/sha256/{digest_of(data)[7:]}" for data in (*layers, config)]
    files: dict[str, Content] = dict(zip(names, (*layers, config), strict=True))
    entry = {"Config": names[-1], "RepoTags": [name], "Layers": names[:-1], "LayerSources": {}}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
    files["manifest.json"] = json.dumps([entry]).encode()
    return tarred(files)


def oci_files(layers: Sequence[bytes], name: str = "1", **settings: object) -> dict[str, bytes]:
    """An OCI layout, its layers in gzip."""
    config = configuration(layers, **settings)
    packed = [gzip.compress(layer, mtime=0) for layer in layers]
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest_of(config), "size": 1},
            "layers": [{"mediaType": "x", "digest": digest_of(layer), "size": len(layer)} for layer in packed],
        }
    ).encode()
    entry = {"digest": digest_of(manifest), "annotations": {"org.opencontainers.image.ref.name": name}}
    index = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    blobs = {f"blobs/sha256/{digest_of(data)[7:]}": data for data in (*packed, config, manifest)}
    return {**blobs, "index.json": index, "oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
