"""Put an image into a registry by its HTTP API (Docker Registry HTTP API V2)."""

from __future__ import annotations

import http.client
import io
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from bed.layers import MANIFEST, Blob
from bed.place import BedError

BYTES = "application/octet-stream"


def push(address: str, reference: str, blobs: Sequence[Blob], manifest: Blob) -> None:
    """Upload the blobs, then the manifest under its tag: the image is there whole or not at all."""
    repository, _, tag = reference.rpartition(":")
    connection = http.client.HTTPConnection(address, timeout=300, blocksize=1 << 20)
    try:
        for blob in blobs:
            start = _send(connection, f"POST /v2/{repository}/blobs/uploads/", None, BYTES, http.client.ACCEPTED)
            place = urlsplit(start)
            target = f"{place.path}?{place.query}&digest={quote(blob.digest)}"
            _send(connection, f"PUT {target}", blob, BYTES, http.client.CREATED)
        _send(connection, f"PUT /v2/{repository}/manifests/{tag}", manifest, MANIFEST, http.client.CREATED)
    finally:
        connection.close()


def _send(connection: http.client.HTTPConnection, request: str, blob: Blob | None, kind: str, expected: int) -> str:
    """Send one request (a method and a path) with a file as its body, and return the Location of the answer."""
    method, path = request.split(" ")
    with blob.path.open("rb") if blob else io.BytesIO() as body:
        headers = {"Content-Type": kind, "Content-Length": str(blob.size if blob else 0)}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
    if answer.status != expected:
        raise BedError(f"the bed's registry answered {answer.status} to {request}: {said[:500]!r}")
    return answer.getheader("Location") or ""
