"""Whatever a registry, a file of logins or an engine holds, it ends in an answer or in an error of rocenv's own."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from engine.hostile import Hostile, Request, hostile, image
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocenv.catalog.references import Reference
from rocenv.engine.registry import Place, RegistryError, contents, places
from rocenv.engine.registry.credentials import kept
from rocenv.engine.registry.find import fetch
from rocenv.engine.registry.line import Answer, joined, origin
from rocenv.engine.registry.login import challenge_of
from rocenv.engine.registry.session import Session

# A busy machine is no fault, and the folder of logins is written anew each time.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

KEYS = st.sampled_from(
    ["schemaVersion", "mediaType", "manifests", "config", "layers", "digest", "size", "platform", "os", "architecture",
     "annotations", "artifactType", "fsLayers", "auths", "credHelpers", "credsStore", "auth", "reg.example.com",
     "identitytoken", "username", "password", "Mirrors", "IndexConfigs", "Registries", "Location", "Insecure",
     "Blocked", "PullFromMirror", "docker.io", "docker.io/rocm", "*.example.com"]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | KEYS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5))
OBJECTS = st.dictionaries(KEYS, JSON, max_size=6)


@patient
@given(st.binary(max_size=200) | JSON.map(lambda told: json.dumps(told).encode()))
def test_manifests(raw: bytes) -> None:
    with contextlib.suppress(RegistryError):
        found = contents.parsed(raw)
        if contents.is_index(found):
            contents.pick(contents.entries(found), "linux/amd64")
        else:
            made = contents.manifest(raw, found, contents.digest_of(raw))
            assert all(layer.size >= 0 for layer in made.layers)


@patient
@given(st.text(max_size=200) | st.text('bearerBASIC realm="=,\\ ', max_size=200))
def test_challenges(header: str) -> None:
    challenge_of({"www-authenticate": header})


@patient
@given(OBJECTS, st.sampled_from(["", "podman"]), st.sampled_from(["rocm/pytorch:1", "reg.example.com/a", "10.1.1.1/a"]))
def test_an_engine_s_settings(told: dict[str, Any], engine: str, reference: str) -> None:
    with contextlib.suppress(RegistryError):
        assert all(place.repository for place in places(Reference.parse(reference), {**told, "Engine": engine}))


@patient
@given(OBJECTS, st.sampled_from(["docker", "podman"]))
def test_files_of_logins(tmp_path: Path, told: dict[str, Any], engine: str) -> None:
    file = tmp_path / "no-logins/config.json"  # conftest's DOCKER_CONFIG
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(told))
    kept(Place("https://reg.example.com", "a", engine=engine))


@patient
@given(st.text(max_size=60) | st.text("http:/@[]%.?#\\ a1", max_size=30))
def test_addresses(text: str) -> None:
    for base in ("https://reg.example.com/v2/a/", "http://127.0.0.1:5000/"):
        with contextlib.suppress(RegistryError):
            assert origin(joined(base, text)).startswith(("http://", "https://"))


@patient
@given(st.text(max_size=40) | st.text("0123456789 GMT:,Jan", max_size=40))
def test_waits(text: str) -> None:
    wait = Answer(429, {"retry-after": text}, b"", "").wait
    assert wait is None or wait >= 0


@pytest.fixture(scope="module")
def bad() -> Iterator[Hostile]:
    with hostile() as server:
        yield server


SOUND = json.dumps(image([b"x"])).encode()
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"\0" * 5000,
        b"HTTP/9.9 999 x\r\n\r\n",
        b"HTTP/1.1 -1 x\r\n\r\n",
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 500,
        OK + b"X: y\r\n" * 5000 + b"\r\n",
        OK + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"Content-Length: abc\r\n\r\n" + SOUND[:-1],
        OK + b"Content-Length: -5\r\n\r\n" + SOUND[:-1],
        OK + b"Content-Length: 99999999999999999999\r\n\r\n" + SOUND,
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + SOUND,
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + SOUND,
        OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n" + SOUND,
        OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + SOUND,
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 70_000 + b"\r\n",
        OK + b"Transfer-Encoding: nonsense\r\n\r\n" + SOUND[:-1],
        b"HTTP/1.1 302 x\r\nLocation: \xff\xfe\x00\r\n\r\n",
        b"HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:99999/\r\n\r\n",
        b"HTTP/1.1 302 x\r\nLocation: https://[::ffff/\r\n\r\n",
        b"HTTP/1.1 302 x\r\nLocation:\r\n\r\n",
        b'HTTP/1.1 401 x\r\nWWW-Authenticate: Bearer realm="\xff"\r\nContent-Length: 0\r\n\r\n',
        b"HTTP/1.1 401 x\r\nWWW-Authenticate: " + b'Bearer x="' * 6000 + b"\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 429 x\r\nRetry-After: \xb2\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 204 x\r\n\r\n",
        b"HTTP/1.1 206 x\r\nContent-Range: bytes x-y/z\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=lambda raw: repr(raw[:60]),
)
def test_answers_that_are_hardly_http(bad: Hostile, raw: bytes) -> None:
    def told(_: Request, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        with contextlib.suppress(OSError):
            handler.wfile.write(raw)

    bad.answers["/v2/a/manifests/1"] = told
    session = Session(Place(bad.url, "a", verified=False), until=time.monotonic() + 20)
    with contextlib.closing(session), pytest.raises(RegistryError) as caught:
        contents.manifest(b"", contents.parsed(fetch(session, "1")[0]), "")
    assert caught.value.message
