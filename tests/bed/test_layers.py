"""One tar cut into layers, judged by what comes out when the layers are laid over one another."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

from bed.layers import cut, describe


def tar_of(*members: tuple[str, str, str | bytes]) -> io.BytesIO:
    """A tar of (kind, name, content or target) as mmdebstrap writes them: with `./` before each name."""
    kinds = {"dir": tarfile.DIRTYPE, "file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for kind, name, content in members:
            member = tarfile.TarInfo(f"./{name}")
            member.type, member.mode = kinds[kind], 0o750 if kind == "dir" else 0o640
            if isinstance(content, bytes):
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            else:
                member.linkname = content
                tar.addfile(member)
    buffer.seek(0)
    return buffer


WHOLE = (
    ("dir", "a", ""),
    ("dir", "a/b", ""),
    ("file", "a/b/one", b"1"),
    ("file", "a/b/two", b"22"),
    ("hard", "a/again", "./a/b/two"),
    ("link", "a/c", "b/one"),
    ("file", "zero", b""),
)


def names(path: Path) -> list[str]:
    with tarfile.open(path) as tar:
        return [member.name.removeprefix("./") for member in tar]


def test_every_file_is_in_one_layer_below_its_folders(tmp_path: Path) -> None:
    low, high = cut(tar_of(*WHOLE), lambda name: int(name.endswith("two")), ["low", "high"], tmp_path)
    assert names(low.path) == ["a", "a/b", "a/b/one", "a/c", "zero"]
    assert names(high.path) == ["a", "a/b", "a/b/two", "a/again"], "a hard link is where its target is"
    with tarfile.open(high.path) as tar:
        assert {member.mode for member in tar if member.isdir()} == {0o750}, "folders keep their mode"


def test_content_and_digest(tmp_path: Path) -> None:
    (layer,) = cut(tar_of(*WHOLE), lambda _: 0, ["only"], tmp_path)
    data = layer.path.read_bytes()
    assert (layer.digest, layer.size) == (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data))
    with tarfile.open(layer.path) as tar:
        again = tar.extractfile("./a/again")
        assert again is not None
        assert again.read() == b"22"


def test_manifest_names_config_and_layers(tmp_path: Path) -> None:
    layers = cut(tar_of(*WHOLE), lambda name: int(name.endswith("two")), ["low", "high"], tmp_path)
    config, manifest = describe(layers, {"Labels": {"rocenv.stand-in": "1"}}, "2026-01-01T00:00:00Z", tmp_path)
    told = json.loads(manifest.path.read_bytes())
    assert told["config"]["digest"] == config.digest
    assert [entry["digest"] for entry in told["layers"]] == [layer.digest for layer in layers]
    described = json.loads(config.path.read_bytes())
    assert described["rootfs"]["diff_ids"] == [layer.digest for layer in layers]
    assert described["config"]["Labels"] == {"rocenv.stand-in": "1"}
