"""A bundle put together by hand, with Python's own tar and JSON: sound, or broken in one place."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

CONFIG = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
LAYER = b"a layer\n" * 100
Files = dict[str, bytes]


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def path_of(data: bytes) -> str:
    return f"blobs/sha256/{digest(data)[7:]}"


def described(data: bytes, kind: str) -> dict[str, Any]:
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest(data), "size": len(data)}


MANIFEST = json.dumps(
    {"schemaVersion": 2, "config": described(CONFIG, "config.v1+json"), "layers": [described(LAYER, "layer.v1.tar")]}
).encode()
NAME = f"docker.io/rocenv/locked:{digest(CONFIG)[7:23]}"
LOCK = f"""\
version: 1
profiles:
  hip:
    image:
      reference: example.org/hip:1
      digest: {digest(MANIFEST)}
      platforms:
        linux/amd64:
          image: {digest(CONFIG)}
""".encode()
SETTINGS = b"extends: hip\nimage: {reference: 'example.org/hip:1'}\n"


def sound(**more: bytes) -> Files:
    """The files of a sound bundle; `more` are files of the project (`rocenv.yaml` stands for `settings`)."""
    own = {"rocenv/project/rocenv.lock": LOCK, "rocenv/project/rocenv.yaml": SETTINGS, **more}
    entry = {**described(MANIFEST, "manifest.v1+json"), "annotations": {"io.containerd.image.name": NAME}}
    docker = [{"Config": path_of(CONFIG), "RepoTags": [NAME], "Layers": [path_of(LAYER)]}]
    carried = {
        "profile": "hip", "reference": "example.org/hip:1", "image": digest(CONFIG), "name": NAME,
        "digest": digest(MANIFEST),
    }  # fmt: skip
    texts = {
        **own,
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode(),
        "manifest.json": json.dumps(docker).encode(),
    }
    record = {"version": 1, "rocenv": "0.1.0", "images": [carried], "files": {}}
    blobs = {path_of(data): data for data in (CONFIG, LAYER, MANIFEST)}
    return told({**texts, **blobs, "rocenv/bundle.json": json.dumps(record).encode()})


def told(files: Files) -> Files:
    """The same with a record that knows every file that is no blob, as who means harm would write it."""
    texts = {name: data for name, data in files.items() if "blobs/" not in name and name != "rocenv/bundle.json"}
    digests = {name: digest(data) for name, data in texts.items()}
    return recorded(files, lambda record: record.update(files=digests))


def recorded(files: Files, change: Callable[[dict[str, Any]], None]) -> Files:
    """The same with its record changed."""
    record = json.loads(files["rocenv/bundle.json"])
    change(record)
    return {**files, "rocenv/bundle.json": json.dumps(record).encode()}


def tar(path: Path, files: Files, *, odd: Sequence[tarfile.TarInfo] = (), data: bytes = b"") -> Path:
    """Write it, with odd members (of `data`, where they have a size) between the others."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number, (name, content) in enumerate(files.items()):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            for one in odd if number == 2 else ():
                archive.addfile(one, io.BytesIO(data) if one.size else None)
    return shortened(path)


def shortened(path: Path) -> Path:
    """Without the blocks that tar programs fill up to ten KiB."""
    whole = path.read_bytes().rstrip(b"\0")
    path.write_bytes(whole + bytes(-len(whole) % 512) + bytes(1024))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, *, size: int = 0, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, target
    return info
