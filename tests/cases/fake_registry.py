"""A registry that holds the tags that a case names, spoken to by HTTP on this machine."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

Told = Mapping[str, Sequence[str] | Mapping[str, str]]
_MANIFEST = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "config": {"digest": "sha256:" + "0" * 64, "size": 2},
    "layers": [{"digest": "sha256:" + "1" * 64, "size": 1000}],
}


def _handler(held: Mapping[str, Mapping[str, str]]) -> type[BaseHTTPRequestHandler]:
    """What answers for these repositories: tags by the status that they answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            repository, _, rest = self.path.removeprefix("/v2/").rpartition("/")
            if self.path in ("/v2/", "/v2"):
                self.answer(200, {})
            elif self.path.partition("?")[0].endswith("/tags/list"):
                name = self.path.removeprefix("/v2/").partition("/tags/list")[0]
                tags = [tag for tag, status in held.get(name, {}).items() if status == "200"]
                self.answer(200 if name in held else 404, {"name": name, "tags": tags})
            else:
                tags_held = held.get(repository.removesuffix("/manifests"))
                code = "NAME_UNKNOWN" if tags_held is None else "MANIFEST_UNKNOWN"
                there = tags_held is not None and tags_held.get(rest) == "200"
                self.answer(200 if there else 404, _MANIFEST if there else {"errors": [{"code": code}]})

        do_HEAD = do_GET  # noqa: N815 (the name that http.server wants)

        def answer(self, status: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", str(_MANIFEST["mediaType"]))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


@contextmanager
def registry(told: Told) -> Iterator[str]:
    """The address (`127.0.0.1:PORT`) of a registry with these repositories: tags, or tags with their status."""
    held = {
        name.removeprefix("ghcr.io/"): dict(tags) if isinstance(tags, Mapping) else dict.fromkeys(tags, "200")
        for name, tags in told.items()
    }

    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(held))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with patch.dict(os.environ, HTTPS_PROXY="http://127.0.0.1:1"):  # beyond it nobody is asked
            yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
