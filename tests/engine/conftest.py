"""A registry of the tests' own, on a port that is free."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True)
class Registry:
    """A real registry (Debian's docker-registry): `address` is host and port."""

    address: str
    login: str | None = None  # the header that it asks for

    def put(self, repository: str, tag: str, layers: list[bytes], machines: tuple[str, ...] = ()) -> str:
        """Put an image of these layers in; with `machines` an index with one image for each. Its digest."""
        if not machines:
            return self._put_manifest(repository, tag, self._image(repository, layers), MANIFEST)
        entries = []
        for number, machine in enumerate(machines, 1):
            manifest = self._image(repository, layers * number)
            digest = self._put_manifest(repository, f"{tag}-{machine}", manifest, MANIFEST)
            platform = {"os": "linux", "architecture": machine}
            entries.append({"mediaType": MANIFEST, "size": 1, "digest": digest, "platform": platform})
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        return self._put_manifest(repository, tag, index, INDEX)

    def _image(self, repository: str, layers: list[bytes]) -> dict[str, Any]:
        config = b'{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}'
        self._put_blob(repository, config)
        kinds = "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar"
        return {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": kinds[0], "size": len(config), "digest": digest_of(config)},
            "layers": [
                {"mediaType": kinds[1], "size": len(layer), "digest": self._put_blob(repository, layer)}
                for layer in layers
            ],
        }

    def _put_blob(self, repository: str, data: bytes) -> str:
        place = urlsplit(self._send("POST", f"/v2/{repository}/blobs/uploads/", b"", "application/octet-stream"))
        target = f"{place.path}?{place.query}&digest={quote(digest_of(data))}"
        self._send("PUT", target, data, "application/octet-stream")
        return digest_of(data)

    def _put_manifest(self, repository: str, tag: str, manifest: Mapping[str, Any], kind: str) -> str:
        data = json.dumps(manifest).encode()
        self._send("PUT", f"/v2/{repository}/manifests/{tag}", data, kind)
        return digest_of(data)

    def _send(self, method: str, path: str, data: bytes, kind: str) -> str:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        connection.request(method, path, data, {"Content-Type": kind, "Authorization": self.login or "none"})
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        assert answer.status in (201, 202), said
        return answer.getheader("Location") or ""


def digest_of(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry that listens before the first test asks it."""
    with serving(tmp_path_factory.mktemp("registry")) as one:
        yield one


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Registry]:
    """A registry that keeps its data in `folder`, with more settings of its own."""
    program = shutil.which("docker-registry", path="/usr/bin:/usr/local/bin")
    assert program is not None, "`docker-registry` is not installed: ./dev test installs it"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    config = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder)}},
        "http": {"addr": f"127.0.0.1:{port}"},
        **settings,
    }
    (folder / "config.yml").write_text(json.dumps(config))  # JSON is YAML
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, "serve", str(folder / "config.yml")], stderr=log)
    try:
        wait_for(("127.0.0.1", port), process, folder / "log")
        yield Registry(f"127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


def wait_for(address: tuple[str, int], process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once somebody listens; fail with the log when the process has ended."""
    while True:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(address, timeout=1).close()
        except OSError:
            continue
        return


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beyond this machine nobody answers, and nobody's logins are used."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "no-logins"))
