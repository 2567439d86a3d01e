"""The client against registries that are real: Debian's docker-registry, with and without a login, and the bed's."""

from __future__ import annotations

import base64
import json
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from engine.conftest import Registry, digest_of, serving

from rocenv.catalog.references import Reference
from rocenv.engine import registry as client
from rocenv.engine.engine import Engine
from rocenv.engine.registry import RegistryError

if TYPE_CHECKING:
    from conftest import TestBed

# crypt(3) of `s3cret-Pa55`, with bcrypt at its cheapest
HTPASSWD = "ada:$2b$04$abcdefghijklmnopqrstuuPMv5Di5l7qz0hEZrM5VMoIg/4MavDA6\n"
AUTH = base64.b64encode(b"ada:s3cret-Pa55").decode()

pytestmark = pytest.mark.engine


def find(address: str, rest: str, platform: str = "linux/amd64") -> client.Found:
    return client.find(Reference.parse(f"{address}/{rest}"), {}, platform=platform)


def test_an_image_and_all_that_it_is_made_of(registry: Registry) -> None:
    layers = [b"x" * 1000, bytes(range(256)) * 20_000, b""]
    digest = registry.put("real/one", "1", layers)
    with closing(find(registry.address, "real/one:1")) as found:
        assert (found.manifest.digest, found.index_digest, found.platforms) == (digest, None, ())
        assert [layer.digest for layer in found.manifest.layers] == [digest_of(layer) for layer in layers]
        assert [b"".join(client.blob(found, layer)) for layer in found.manifest.layers] == layers
        assert client.read_config(found)["architecture"] == "amd64"
        assert digest_of(found.manifest.raw) == digest


@pytest.mark.parametrize(
    ("platform", "size"), [("linux/amd64", 4), ("linux/arm64", 8), ("linux/arm64/v8", 8), ("linux/riscv64", None)]
)
def test_an_index(registry: Registry, platform: str, size: int | None) -> None:
    digest = registry.put("real/many", "1", [b"1234"], machines=("amd64", "arm64"))
    if size is None:
        with pytest.raises(RegistryError, match="made for linux/amd64, linux/arm64, and not for linux/riscv64"):
            find(registry.address, "real/many:1", platform)
        return
    for reference in ("real/many:1", f"real/many@{digest}", f"real/many:other@{digest}"):
        with closing(find(registry.address, reference, platform)) as found:
            assert (found.index_digest, found.manifest.size) == (digest, size)
            assert found.platforms == ("linux/amd64", "linux/arm64")


def test_all_tags(registry: Registry) -> None:
    names = [f"v{number}" for number in range(7)]
    for name in names:
        registry.put("real/tags", name, [b"x"])
    assert sorted(client.tags(Reference.parse(f"{registry.address}/real/tags"), {})) == names
    with pytest.raises(RegistryError) as caught:
        client.tags(Reference.parse(f"{registry.address}/real/none"), {})
    assert caught.value.state == "no-repository"


def test_what_is_not_there(registry: Registry) -> None:
    registry.put("real/near", "1.0", [b"x"])
    for rest, state, hint in (
        ("real/near:1.1", "no-tag", f"did you mean `{registry.address}/real/near:1.0`?"),
        ("real/nothing:1", "no-repository", "check the name; `rocenv images` shows what is known"),
        (f"real/near:1.0@sha256:{'0' * 64}", "no-tag", f"did you mean `{registry.address}/real/near:1.0`?"),
    ):
        with pytest.raises(RegistryError) as caught:
            find(registry.address, rest)
        assert (caught.value.state, caught.value.hint) == (state, hint)


# a login


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "htpasswd").write_text(HTPASSWD)
    auth = {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}}
    with serving(folder, auth=auth) as one:
        yield Registry(one.address, f"Basic {AUTH}")


def config(folder: Path, monkeypatch: pytest.MonkeyPatch, host: str, auth: str) -> None:
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))


def test_a_registry_with_a_login(guarded: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded.put("private/one", "1", [b"secret layer"])
    with pytest.raises(RegistryError, match="asks for a login"):
        find(guarded.address, "private/one:1")
    config(tmp_path, monkeypatch, guarded.address, AUTH)
    with closing(find(guarded.address, "private/one:1")) as found:
        assert b"".join(client.blob(found, found.manifest.layers[0])) == b"secret layer"
    assert client.tags(Reference.parse(f"{guarded.address}/private/one"), {}) == ("1",)
    config(tmp_path, monkeypatch, guarded.address, base64.b64encode(b"ada:wrong").decode())
    with pytest.raises(RegistryError, match="does not take the login") as caught:
        find(guarded.address, "private/one:1")
    assert caught.value.hint == f"`docker login {guarded.address}`"


# a connection that breaks


@contextmanager
def breaking(address: str, most: int) -> Iterator[str]:
    """A way to a registry on which no connection brings more than so many bytes."""
    host, _, port = address.rpartition(":")

    def relay(near: socket.socket) -> None:
        with near, socket.create_connection((host, int(port))) as far, suppress(OSError):
            back = threading.Thread(target=pour, args=(near, far, None))
            back.start()
            pour(far, near, most)
            for one in (near, far):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            back.join()

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=relay, args=(near,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def pour(source: socket.socket, target: socket.socket, most: int | None) -> None:
    left = most
    with suppress(OSError):
        while piece := source.recv(65536 if left is None else min(65536, left)):
            target.sendall(piece)
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    return


def test_a_layer_comes_whole_by_connections_that_break(registry: Registry) -> None:
    data = bytes(range(256)) * 4000
    registry.put("real/big", "1", [data])
    with breaking(registry.address, 200_000) as way, closing(find(way, "real/big:1")) as found:
        assert b"".join(client.blob(found, found.manifest.layers[0])) == data


def test_connections_that_bring_next_to_nothing_are_given_up(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocenv.engine.registry.blobs._PAUSE", 0.0)
    registry.put("real/big", "2", [bytes(range(256)) * 4000])
    with breaking(registry.address, 2000) as way, closing(find(way, "real/big:2")) as found:
        pieces = client.blob(found, found.manifest.layers[0])
        with pytest.raises(RegistryError):
            list(pieces)


# the engines' own settings

SCRIPT = """
import json, sys
from rocenv.catalog.references import Reference
from rocenv.engine import open_engine, registry
found = registry.find(Reference.parse(sys.argv[1]), registry.settings(open_engine("docker")))
sizes = [sum(map(len, registry.blob(found, layer))) for layer in found.manifest.layers]
print(json.dumps([found.place.base, found.manifest.digest, found.manifest.config.digest, sizes,
                  [layer.size for layer in found.manifest.layers], registry.read_config(found)["os"]]))
"""


def test_the_bed_s_registry_and_docker_tell_the_same(bed: TestBed, small_image: str) -> None:
    done = bed.run(sys.executable, "-c", SCRIPT, small_image)
    assert done.returncode == 0, done.stderr
    base, digest, identity, sizes, told, system = json.loads(done.stdout)
    assert (base, sizes, system) == ("http://127.0.0.1:5000", told, "linux")
    judge = bed.docker("image", "inspect", "--format", "{{.Id}} {{json .RepoDigests}}", small_image).stdout
    assert identity in judge
    assert digest in judge


REGISTRIES = """
unqualified-search-registries = ["docker.io"]
[[registry]]
prefix = "docker.io/rocm"
location = "10.0.0.1:5000/amd"
insecure = true
[[registry.mirror]]
location = "10.0.0.2:5001"
[[registry]]
location = "blocked.example"
blocked = true
"""


def test_podman_tells_its_own_registries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "registries.conf").write_text(REGISTRIES)
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(tmp_path / "registries.conf"))
    program = tmp_path / "podman"
    with tempfile.TemporaryDirectory() as folder:  # podman takes 50 signs at most
        folders = f"--root {folder}/root --runroot {folder}/run --tmpdir {folder}/tmp"
        program.write_text(f'#!/bin/sh\nexec podman {folders} --storage-driver vfs "$@"\n')
        program.chmod(0o755)
        told = client.settings(Engine(kind="podman", program=str(program)))
    found = client.places(Reference.parse("rocm/pytorch:1"), told)
    assert [place.base for place in found] == ["https://10.0.0.2:5001", "https://10.0.0.1:5000", "http://10.0.0.1:5000"]
    assert [place.repository for place in found] == ["pytorch", "amd/pytorch", "amd/pytorch"]
    with pytest.raises(RegistryError, match="blocks"):
        client.places(Reference.parse("blocked.example/x"), told)
