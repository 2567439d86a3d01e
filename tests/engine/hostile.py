"""A registry that answers what a test tells it to, true or not, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    import ssl

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


class Reply(NamedTuple):
    """One answer. A `length` that is not the body's is a lie; `body` may be anything that JSON can hold."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    length: int | None = None

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Request(NamedTuple):
    """What was asked."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def login(self) -> str | None:
        return self.headers.get("authorization")


class Hostile:
    """The registry: `answers` by path, with its question mark and what follows or without; all else is a 404."""

    def __init__(self, scheme: str, port: int) -> None:
        self.scheme = scheme
        self.port = port
        self.answers: dict[str, Any] = {}
        self.asked: list[Request] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.address}"

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def put(self, reference: str, layers: list[bytes], config: bytes = b'{"os":"linux"}') -> dict[str, Any]:
        """Put a sound image in, under `NAME:TAG` and by digest; its manifest."""
        name, _, tag = reference.partition(":")
        made = image(layers, config)
        raw = json.dumps(made).encode()
        for key in (tag, digest_of(raw)):
            self.answers[f"/v2/{name}/manifests/{key}"] = Reply(raw, headers={"Content-Type": MANIFEST})
        for blob in (config, *layers):
            self.answers[f"/v2/{name}/blobs/{digest_of(blob)}"] = Reply(blob)
        return made


def image(layers: list[bytes], config: bytes = b'{"os":"linux"}') -> dict[str, Any]:
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": described(config, CONFIG),
        "layers": [described(layer, LAYER) for layer in layers],
    }


def described(data: bytes, kind: str, **more: Any) -> dict[str, Any]:
    return {"mediaType": kind, "digest": digest_of(data), "size": len(data), **more}


def digest_of(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


@contextmanager
def hostile(context: ssl.SSLContext | None = None) -> Iterator[Hostile]:
    """A hostile registry on a free port, by HTTPS with a context."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            headers = {key.lower(): value for key, value in self.headers.items()}
            request = Request(self.command, parts.path, query, headers, body)
            registry.asked.append(request)
            told = registry.answers.get(self.path, registry.answers.get(parts.path))
            if isinstance(told, list):
                told = told.pop(0) if len(told) > 1 else told[0]
            if told is None:
                told = Reply({"errors": [{"code": "MANIFEST_UNKNOWN"}]}, 404)
            if isinstance(told, Reply):
                self.say(told)
            elif (answer := told(request, self)) is not None:
                self.say(answer)

        do_POST = do_GET  # noqa: N815 (the name that http.server wants)

        def say(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for key, value in reply.headers.items():
                self.send_header(key, value)
            length = len(reply.data) if reply.length is None else reply.length
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(reply.data)
            self.close_connection = length != len(reply.data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            """A client that has had enough is no error."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        registry = Hostile("http" if context is None else "https", server.server_port)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
