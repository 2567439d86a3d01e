"""How big an image is, asked of a real registry before the pull."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from rocenv.engine.registry import compressed_size

if TYPE_CHECKING:
    from engine.conftest import Registry


@pytest.mark.engine
def test_the_layers_are_summed(registry: Registry) -> None:
    registry.put("sizes/one", "1", [b"x" * 1000, b"y" * 234])
    assert compressed_size(f"{registry.address}/sizes/one:1", {}, "x86_64") == 1234


@pytest.mark.engine
def test_by_digest(registry: Registry) -> None:
    digest = registry.put("sizes/digest", "1", [b"z" * 77])
    assert compressed_size(f"{registry.address}/sizes/digest@{digest}", {}, "x86_64") == 77


@pytest.mark.engine
@pytest.mark.parametrize(("machine", "size"), [("aarch64", 10), ("x86_64", 20), ("riscv64", None)])
def test_of_an_index_that_of_the_engines_machine(registry: Registry, machine: str, size: int | None) -> None:
    registry.put("sizes/index", "1", [b"i" * 10], machines=("arm64", "amd64"))
    assert compressed_size(f"{registry.address}/sizes/index:1", {}, machine) == size


@pytest.mark.engine
def test_from_a_mirror(registry: Registry) -> None:
    registry.put("sizes/mirrored", "1", [b"m" * 55])
    mirrors = {"Mirrors": ["http://127.0.0.1:1/", f"http://{registry.address}/"]}
    assert compressed_size("sizes/mirrored:1", mirrors, "x86_64") == 55


@pytest.mark.engine
def test_what_a_registry_does_not_have_has_no_size(registry: Registry) -> None:
    assert compressed_size(f"{registry.address}/sizes/none:1", {}, "x86_64") is None


def test_a_registry_that_does_not_answer_is_no_error() -> None:
    assert compressed_size("127.0.0.1:1/a:b", {}, "x86_64") is None


class Guarded(BaseHTTPRequestHandler):
    """A registry that asks for a token, as Docker Hub does, and hands one out to anybody."""

    answers: dict[str, Any]

    def do_GET(self) -> None:
        if self.path.startswith("/token?") and "scope=repository%3Aa%3Apull" in self.path:
            self.answer(200, {"token": "t0ken"})
        elif self.headers.get("Authorization") != "Bearer t0ken":
            realm = f"http://{self.headers['Host']}/token"
            challenge = f'Bearer realm="{realm}",service="reg",scope="repository:a:pull"'
            self.answer(401, {}, {"WWW-Authenticate": challenge})
        else:
            self.answer(200, self.answers[self.path])

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def guarded() -> Iterator[tuple[str, dict[str, Any]]]:
    answers: dict[str, Any] = {}
    handler = type("Handler", (Guarded,), {"answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}", answers
        server.shutdown()
        thread.join()


def test_an_anonymous_token_is_fetched(guarded: tuple[str, dict[str, Any]]) -> None:
    address, answers = guarded
    blob = {"digest": "sha256:" + "0" * 64, "size": 3}
    answers["/v2/a/manifests/1"] = {"config": blob, "layers": [blob, {**blob, "size": 4}]}
    assert compressed_size(f"{address}/a:1", {}, "x86_64") == 7


@pytest.mark.parametrize("answer", [b"", b"{", b"[]", b"null", {}, {"layers": 3}, {"layers": [{}]}, {"manifests": []}])
def test_an_answer_that_is_no_manifest_is_no_crash(guarded: tuple[str, dict[str, Any]], answer: Any) -> None:
    address, answers = guarded
    answers["/v2/a/manifests/1"] = answer
    assert compressed_size(f"{address}/a:1", {}, "x86_64") is None
