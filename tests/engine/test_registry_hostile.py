"""A registry, or who stands in its place, that answers what it must not."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from queue import Queue
from typing import Any

import pytest
from engine.hostile import INDEX, MANIFEST, Hostile, Reply, Request, described, digest_of, hostile, image

from rocenv.catalog.references import Reference
from rocenv.engine import registry
from rocenv.engine.registry import Found, Place, RegistryError
from rocenv.engine.registry.find import MANIFEST_LIMIT
from rocenv.engine.registry.find import fetch as fetched
from rocenv.engine.registry.session import Session

TAG = "/v2/a/manifests/1"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocenv.engine.registry.blobs._PAUSE", 0.0)


@pytest.fixture
def bad() -> Iterator[Hostile]:
    with hostile() as server:
        yield server


def find(server: Hostile, rest: str = "a:1", platform: str = "linux/amd64") -> Found:
    return registry.find(Reference.parse(f"{server.address}/{rest}"), {}, platform=platform)


def refused(server: Hostile, rest: str = "a:1") -> RegistryError:
    """The error that an image comes to."""
    with pytest.raises(RegistryError) as caught:
        find(server, rest)
    assert caught.value.code == 5
    assert caught.value.kind == "image"
    assert caught.value.hint
    assert server.address in caught.value.said
    return caught.value


def test_a_sound_one_is_found(bad: Hostile) -> None:
    bad.put("a:1", [b"one", b"three"])
    found = find(bad)
    assert [layer.size for layer in found.manifest.layers] == [3, 5]
    assert registry.read_config(found) == {"os": "linux"}
    assert [b"".join(registry.blob(found, layer)) for layer in found.manifest.layers] == [b"one", b"three"]
    found.close()


def test_one_connection_serves_many_questions(bad: Hostile) -> None:
    bad.put("a:1", [b"one", b"three"])
    ports = []
    sound = dict(bad.answers)

    def noted(key: str) -> Any:
        def told(_: Request, handler: BaseHTTPRequestHandler) -> Reply:
            ports.append(handler.client_address[1])
            reply: Reply = sound[key]
            return reply

        return told

    bad.answers = {key: noted(key) for key in sound}
    found = find(bad)
    assert [b"".join(registry.blob(found, layer)) for layer in found.manifest.layers] == [b"one", b"three"]
    assert len(ports) == 3
    assert len(set(ports)) == 1


def test_a_manifest_that_is_not_that_of_the_digest(bad: Hostile) -> None:
    asked = digest_of(b"another")
    bad.answers[f"/v2/a/manifests/{asked}"] = Reply(image([b"x"]))
    assert "not the one of its digest" in refused(bad, f"a@{asked}").message


def test_a_manifest_that_is_not_what_its_own_header_says(bad: Hostile) -> None:
    bad.answers[TAG] = Reply(image([b"x"]), headers={"Docker-Content-Digest": digest_of(b"another")})
    assert "not the one of its digest" in refused(bad).message


@pytest.mark.parametrize("algorithm", ["sha384", "sha512"])
def test_other_digests_are_verified_too(bad: Hostile, algorithm: str) -> None:
    raw = json.dumps(image([b"x"])).encode()
    digest = f"{algorithm}:{hashlib.new(algorithm, raw).hexdigest()}"
    path = f"/v2/a/manifests/{digest}"
    bad.answers[path] = Reply(raw)
    assert find(bad, f"a@{digest}").manifest.digest == digest
    bad.answers[path] = Reply(raw + b" ")
    assert "not the one of its digest" in refused(bad, f"a@{digest}").message


def test_an_index_whose_image_is_another(bad: Hostile) -> None:
    raw = json.dumps(image([b"x"])).encode()
    entry = described(raw, MANIFEST, platform={"os": "linux", "architecture": "amd64"})
    bad.answers[TAG] = Reply({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]})
    bad.answers[f"/v2/a/manifests/{digest_of(raw)}"] = Reply(image([b"y"]))
    assert "not the one of its digest" in refused(bad).message
    bad.answers[f"/v2/a/manifests/{digest_of(raw)}"] = Reply(raw)
    assert find(bad).manifest.digest == digest_of(raw)


def test_an_index_within_itself_has_an_end(bad: Hostile) -> None:
    def nested(depth: int) -> bytes:
        inner = nested(depth - 1) if depth else json.dumps(image([b"x"])).encode()
        bad.answers[f"/v2/a/manifests/{digest_of(inner)}"] = Reply(inner)
        entry = described(inner, INDEX if depth else MANIFEST, platform={"os": "linux", "architecture": "amd64"})
        return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}).encode()

    bad.answers[TAG] = Reply(nested(1))
    assert find(bad).manifest.size == 1
    bad.answers[TAG] = Reply(nested(9))
    assert "without an end" in refused(bad).message


def test_an_index_of_one_that_names_no_platform(bad: Hostile) -> None:
    raw = json.dumps(image([b"x"])).encode()
    bad.answers[f"/v2/a/manifests/{digest_of(raw)}"] = Reply(raw)
    bad.answers[TAG] = Reply({"schemaVersion": 2, "mediaType": INDEX, "manifests": [described(raw, MANIFEST)]})
    assert find(bad, platform="linux/arm64").manifest.digest == digest_of(raw)


def test_what_vouches_for_an_image_is_no_platform_of_it(bad: Hostile) -> None:
    """As buildx writes it: an attestation beside each image."""
    raw = json.dumps(image([b"x"])).encode()
    bad.answers[f"/v2/a/manifests/{digest_of(raw)}"] = Reply(raw)
    real = described(raw, MANIFEST, platform={"os": "linux", "architecture": "amd64"})
    proof = described(b"?", MANIFEST, platform={"os": "unknown", "architecture": "unknown"})
    bad.answers[TAG] = Reply({"schemaVersion": 2, "mediaType": INDEX, "manifests": [proof, real]})
    assert find(bad).platforms == ("linux/amd64",)


def test_redirects_without_an_end(bad: Hostile) -> None:
    bad.answers[TAG] = Reply(status=307, headers={"Location": f"{bad.url}{TAG}"})
    assert "redirects more than 5 times" in refused(bad).message
    assert bad.paths().count(TAG) == 6


def test_a_redirect_is_followed(bad: Hostile) -> None:
    bad.put("b:1", [b"x"])
    bad.answers[TAG] = Reply(status=301, headers={"Location": "/v2/b/manifests/1"})
    assert find(bad).manifest.size == 1


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://h/x", "http://u:p@h/x", "http://h:x/", "//[/"])
def test_a_redirect_to_what_is_no_address_of_the_web(bad: Hostile, place: str) -> None:
    bad.answers[TAG] = Reply(status=302, headers={"Location": place})
    assert "no address of the web" in refused(bad).message


def test_a_manifest_that_is_huge(bad: Hostile) -> None:
    made = image([b"x"])
    bad.answers[TAG] = Reply({**made, "annotations": {"x": "y" * MANIFEST_LIMIT}})
    assert f"more than {MANIFEST_LIMIT} bytes" in refused(bad).message
    bad.answers[TAG] = Reply({**made, "annotations": {"x": "y" * (MANIFEST_LIMIT // 2)}})
    assert find(bad).manifest.size == 1


def test_a_manifest_that_says_it_is_huge_and_never_ends(bad: Hostile) -> None:
    def endless(_: Request, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            for _turn in range(MANIFEST_LIMIT // 65536 + 100):
                handler.wfile.write(b" " * 65536)
        handler.close_connection = True

    bad.answers[TAG] = endless
    assert f"more than {MANIFEST_LIMIT} bytes" in refused(bad).message


def dripping(head: bytes, body: bytes, outcome: Queue[str] | None = None) -> Any:
    """Answers byte by byte, and comes to a sound end in the end, unless the other side has hung up."""

    def drip(_: Request, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        sent = 0
        with contextlib.suppress(OSError):
            for byte in head + body:
                handler.wfile.write(bytes([byte]))
                sent += 1
                time.sleep(0.002)
        if outcome is not None:
            ends = {len(head) + len(body): "heard out"}
            outcome.put(ends.get(sent, "hung up in the head" if sent < len(head) else "hung up in the body"))

    return drip


@pytest.mark.parametrize("slow", ["head", "body"])
def test_a_slow_drip_is_not_waited_for(bad: Hostile, slow: str) -> None:
    raw = json.dumps(image([b"x"])).encode()
    head = b"HTTP/1.1 200 OK%s\r\nContent-Length: %d\r\n\r\n"
    outcome: Queue[str] = Queue()
    long = (head % (b"K" * 5000, len(raw)), raw) if slow == "head" else (head % (b"", 5000), raw.ljust(5000))
    bad.answers[TAG] = dripping(*long, outcome)
    with contextlib.closing(Session(Place(bad.url, "a", verified=False), until=time.monotonic() + 0.3)) as session:
        with pytest.raises(RegistryError, match="takes too long"):
            fetched(session, "1")
        assert outcome.get(timeout=60) == f"hung up in the {slow}"
    bad.answers[TAG] = dripping(head % (b"", len(raw)), raw)
    with contextlib.closing(Session(Place(bad.url, "a", verified=False))) as patient:
        assert fetched(patient, "1")[0] == raw


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<!DOCTYPE html><title>Sign in to the guest network</title>", "web page"),
        (b"\n <html>", "web page"),
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[]", "no object"),
        (b"null", "no object"),
        (b'{"layers": "\xff\xfe"}', "no JSON"),
        (b'{"a":' * 100_000, "no JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "no JSON"),
        (b'{"config":{}}', "without a sound digest"),
        (json.dumps({**image([b"x"]), "layers": 3}).encode(), "sound list of `layers`"),
        (json.dumps({**image([b"x"]), "layers": [{}] * 100_000}).encode(), "sound list of `layers`"),
        (json.dumps({**image([b"x"]), "layers": [3]}).encode(), "no descriptor"),
        (json.dumps({**image([b"x"]), "layers": [{"digest": digest_of(b""), "size": -1}]}).encode(), "sound size"),
        (json.dumps({**image([b"x"]), "layers": [{"digest": digest_of(b""), "size": True}]}).encode(), "sound size"),
        (json.dumps({**image([b"x"]), "layers": [{"digest": "sha256:../../x", "size": 1}]}).encode(), "sound digest"),
        (json.dumps({**image([b"x"]), "layers": [{"digest": "md5:" + "0" * 32, "size": 1}]}).encode(), "sound digest"),
        (json.dumps({**image([b"x"]), "manifests": []}).encode(), "an index and an image at once"),
        (b'{"manifests": 3}', "sound list of `manifests`"),
        (b'{"schemaVersion": 1, "fsLayers": []}', "schema 1"),
        (json.dumps({**image([b"x"]), "config": described(b"", "application/vnd.cncf.helm.config.v1+json")}).encode(),
         "no container image but `application/vnd.cncf.helm.config"),
    ],
)  # fmt: skip
def test_what_is_no_manifest(bad: Hostile, body: bytes, said: str) -> None:
    bad.answers[TAG] = Reply(body)
    assert said in refused(bad).message


def test_an_answer_in_gzip_is_not_unpacked(bad: Hostile) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    bad.answers[TAG] = Reply(bomb, headers={"Content-Encoding": "gzip"})
    assert "compressed" in refused(bad).message


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_registry_that_is_out_of_order(bad: Hostile, status: int) -> None:
    bad.answers[TAG] = Reply(b"oops", status)
    error = refused(bad)
    assert (error.state, str(status) in error.message) == ("unreachable", True)


def test_a_status_that_means_nothing_here(bad: Hostile) -> None:
    bad.answers[TAG] = Reply(b"", 418)
    assert (refused(bad).state, "418" in refused(bad).message) == ("bad", True)


def test_too_many_requests_and_then_an_answer(bad: Hostile) -> None:
    bad.put("a:1", [b"x"])
    bad.answers[TAG] = [Reply(status=429, headers={"Retry-After": "0"}), bad.answers[TAG]]
    assert find(bad).manifest.size == 1


def test_it_is_waited_as_long_as_the_registry_asks_and_not_longer(bad: Hostile) -> None:
    waits: list[float] = []
    bad.put("a:1", [b"x"])
    sound = bad.answers[TAG]
    session = Session(Place(bad.url, "a", verified=False), sleep=waits.append)
    bad.answers[TAG] = [Reply(status=429, headers={"Retry-After": "7"}), sound]
    fetched(session, "1")
    assert waits == [7]
    for asked in ("11", "3600", "Wed, 21 Oct 2099 07:28:00 GMT", "soon", "-1", "9" * 40):
        bad.answers[TAG] = Reply(status=429, headers={"Retry-After": asked})
        with pytest.raises(RegistryError, match="429") as caught:
            fetched(session, "1")
        assert caught.value.state == "busy"
    assert waits == [7]
    bad.answers[TAG] = Reply(status=429, headers={"Retry-After": "1"})
    with pytest.raises(RegistryError, match="asks to wait 1 s"):
        fetched(session, "1")
    assert waits == [7, 1, 1, 1]
    session.close()


def test_a_connection_that_is_closed_without_a_word(bad: Hostile) -> None:
    def silent(_: Request, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    bad.answers[TAG] = silent
    assert (refused(bad).state, "closes the connection" in refused(bad).said) == ("unreachable", True)
    bad.answers[TAG] = Reply(b"{}", length=100)
    assert (refused(bad).state, "is cut short" in refused(bad).said) == ("unreachable", True)


def test_what_is_no_http(bad: Hostile) -> None:
    def garbage(_: Request, handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        handler.close_connection = True

    bad.answers[TAG] = garbage
    assert (refused(bad).state, "no sound HTTP" in refused(bad).said) == ("unreachable", True)


# blobs


def layer(server: Hostile, data: bytes, answer: Any) -> bytes:
    """A layer that holds `data` by its manifest, and what its registry answers."""
    server.put("a:1", [data])
    server.answers[f"/v2/a/blobs/{digest_of(data)}"] = answer
    found = find(server)
    try:
        return b"".join(registry.blob(found, found.manifest.layers[0]))
    finally:
        found.close()


DATA = bytes(range(256)) * 4096


def ranges(server: Hostile) -> list[str | None]:
    return [one.headers.get("range") for one in server.asked if "/blobs/" in one.path]


def test_a_layer_that_is_another(bad: Hostile) -> None:
    for other in (DATA[:-1] + b"x", DATA[1:] + DATA[:1]):
        with pytest.raises(RegistryError, match="not what its digest says"):
            layer(bad, DATA, Reply(other))


def test_the_last_piece_of_another_layer_is_not_given(bad: Hostile) -> None:
    bad.put("a:1", [DATA])
    bad.answers[f"/v2/a/blobs/{digest_of(DATA)}"] = Reply(DATA[:-1] + b"x")
    found = find(bad)
    given: list[bytes] = []
    with pytest.raises(RegistryError):
        given.extend(registry.blob(found, found.manifest.layers[0]))
    assert len(b"".join(given)) < len(DATA)
    found.close()


def test_a_layer_that_is_longer_than_it_says(bad: Hostile) -> None:
    with pytest.raises(RegistryError, match="more of"):
        layer(bad, DATA, Reply(DATA + b"x"))


def test_a_layer_that_breaks_off_is_continued_by_a_range(bad: Hostile) -> None:
    half = len(DATA) // 2
    rest = Reply(DATA[half:], 206, {"Content-Range": f"bytes {half}-{len(DATA) - 1}/{len(DATA)}"})
    assert layer(bad, DATA, [Reply(DATA[:half], length=len(DATA)), rest]) == DATA
    assert ranges(bad) == [None, f"bytes={half}-"]


def test_a_range_that_is_ignored_costs_time_and_nothing_else(bad: Hostile) -> None:
    half = len(DATA) // 2
    assert layer(bad, DATA, [Reply(DATA[:half], length=len(DATA)), Reply(DATA)]) == DATA


def test_another_range_than_was_asked_for(bad: Hostile) -> None:
    other = Reply(DATA[5:], 206, {"Content-Range": f"bytes 5-{len(DATA) - 1}/{len(DATA)}"})
    with pytest.raises(RegistryError, match="another range"):
        layer(bad, DATA, [Reply(DATA[:1000], length=len(DATA)), other])


def test_a_layer_that_always_breaks_off_is_given_up(bad: Hostile) -> None:
    with pytest.raises(RegistryError):
        layer(bad, DATA, Reply(DATA[:1000], length=len(DATA)))
    assert len(ranges(bad)) < 20


def test_a_layer_that_is_shorter_than_its_manifest_says(bad: Hostile) -> None:
    with pytest.raises(RegistryError, match="breaks off after 1000 of"):
        layer(
            bad,
            DATA,
            lambda request, _: (
                Reply(DATA[:1000])
                if "range" not in request.headers
                else Reply(status=206, headers={"Content-Range": "bytes 1000-1000/1000"})
            ),
        )


def test_a_layer_from_another_host(bad: Hostile) -> None:
    with hostile() as other:
        other.answers["/layer"] = Reply(DATA)
        assert layer(bad, DATA, Reply(status=307, headers={"Location": f"{other.url}/layer"})) == DATA


def test_a_layer_that_drips_is_given_up(bad: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    data = DATA[:300]
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data)
    monkeypatch.setattr("rocenv.engine.registry.blobs._PATIENCE", 0.1)
    with pytest.raises(RegistryError, match="takes too long"):
        layer(bad, data, dripping(head, data))
    monkeypatch.setattr("rocenv.engine.registry.blobs._PATIENCE", 60.0)
    assert layer(bad, data, dripping(head, data)) == data


@pytest.mark.parametrize(
    ("status", "said"), [(404, "blob unknown"), (403, "missing or private"), (500, "out of order"), (429, "too many")]
)
def test_a_layer_that_is_not_given(bad: Hostile, status: int, said: str) -> None:
    with pytest.raises(RegistryError, match=said):
        layer(bad, DATA, Reply(b"", status))


def test_a_layer_after_a_wait_and_a_fault(bad: Hostile) -> None:
    answers = [Reply(status=429, headers={"Retry-After": "0"}), Reply(status=502), Reply(DATA)]
    assert layer(bad, DATA, answers) == DATA


# tags


def tags(server: Hostile) -> tuple[str, ...]:
    return registry.tags(Reference.parse(f"{server.address}/a"), {})


TAGS = "/v2/a/tags/list"


def test_tags_page_by_page(bad: Hostile) -> None:
    bad.answers[TAGS] = Reply({"tags": ["1", "2"]}, headers={"Link": '</v2/a/tags/list?last=2&n=2>; rel="next"'})
    bad.answers[f"{TAGS}?last=2&n=2"] = Reply(
        {"tags": ["2", "3"]}, headers={"Link": f'<{bad.url}{TAGS}?last=3>; rel="next"'}
    )
    bad.answers[f"{TAGS}?last=3"] = Reply({"tags": ["4"]})
    assert tags(bad) == ("1", "2", "3", "4")


def test_pages_in_a_circle(bad: Hostile) -> None:
    bad.answers[TAGS] = Reply({"tags": ["1"]}, headers={"Link": '</v2/a/tags/list?last=1>; rel="next"'})
    with pytest.raises(RegistryError, match="without an end"):
        tags(bad)
    assert len(bad.asked) < 10


def test_ever_new_pages_have_an_end(bad: Hostile) -> None:
    def page(request: Request, _: BaseHTTPRequestHandler) -> Reply:
        number = int(request.query.get("last", "0")) + 1
        return Reply({"tags": [str(number)]}, headers={"Link": f'<{TAGS}?last={number}>; rel="next"'})

    bad.answers[TAGS] = page
    with pytest.raises(RegistryError, match="without an end"):
        tags(bad)
    assert len(bad.asked) < 600


def test_a_next_page_at_another_host_is_not_asked_for(bad: Hostile) -> None:
    with hostile() as other:
        bad.answers[TAGS] = Reply({"tags": ["1"]}, headers={"Link": f'<{other.url}{TAGS}>; rel="next"'})
        with pytest.raises(RegistryError, match="another host"):
            tags(bad)
        assert other.asked == []


def test_what_can_be_no_tag_is_left_out(bad: Hostile) -> None:
    bad.answers[TAGS] = Reply({"tags": ["ok", "$(reboot)", "../x", "", "\x1b[2J", 3, None, "x" * 129, "-x"]})
    assert tags(bad) == ("ok",)


@pytest.mark.parametrize("page", [{"tags": None}, {"tags": 3}, {}])
def test_a_repository_without_tags(bad: Hostile, page: Any) -> None:
    bad.answers[TAGS] = Reply(page)
    assert tags(bad) == ()
