"""Where an engine looks for an image, and by which way it gets there."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from engine.hostile import Hostile, Reply, Request, hostile

from rocenv.catalog.references import Reference
from rocenv.engine import registry
from rocenv.engine.registry import Place, RegistryError, places
from rocenv.engine.registry.surroundings import proxy_for

HUB = "https://registry-1.docker.io"
DIGEST = "sha256:" + "0123456789abcdef" * 4


def bases(reference: str, config: Mapping[str, Any]) -> list[str]:
    return [f"{place.base}/{place.repository}" for place in places(Reference.parse(reference), config)]


def test_mirrors_are_asked_before_docker_hub() -> None:
    config = {"Mirrors": ["http://127.0.0.1:5000/", "https://mirror.example.com"]}
    assert places(Reference.parse("rocm/pytorch:x"), config) == (
        Place("http://127.0.0.1:5000", "rocm/pytorch", verified=False),
        Place("https://mirror.example.com", "rocm/pytorch"),
        Place(HUB, "rocm/pytorch"),
    )


@pytest.mark.parametrize(
    ("reference", "config", "expected"),
    [
        ("reg.example.com/a", {}, ["https://reg.example.com/a"]),
        ("reg.example.com/a", {"IndexConfigs": {"reg.example.com": {"Secure": False}}},
         ["https://reg.example.com/a", "http://reg.example.com/a"]),
        ("127.0.0.1:5000/a", {}, ["https://127.0.0.1:5000/a", "http://127.0.0.1:5000/a"]),
        ("[::1]:5000/a", {}, ["https://[::1]:5000/a", "http://[::1]:5000/a"]),
        ("localhost:5000/a", {}, ["https://localhost:5000/a", "http://localhost:5000/a"]),
        ("localhost.example.com/a", {}, ["https://localhost.example.com/a"]),
        ("10.1.2.3:5000/a", {"InsecureRegistryCIDRs": ["10.1.0.0/16"]},
         ["https://10.1.2.3:5000/a", "http://10.1.2.3:5000/a"]),
        ("10.2.2.3:5000/a", {"InsecureRegistryCIDRs": ["10.1.0.0/16"]}, ["https://10.2.2.3:5000/a"]),
        ("reg.example.com/a", {"Mirrors": ["http://m"]}, ["https://reg.example.com/a"]),
        ("ubuntu", {}, [f"{HUB}/library/ubuntu"]),
        ("ubuntu", {"Mirrors": None, "IndexConfigs": None, "InsecureRegistryCIDRs": None}, [f"{HUB}/library/ubuntu"]),
    ],
)  # fmt: skip
def test_plain_http_is_for_this_machine_and_for_whom_the_daemon_says(
    reference: str, config: dict[str, Any], expected: list[str]
) -> None:
    assert bases(reference, config) == expected


# As `podman info --format json` (4.3.1) tells a registries.conf with these registries.
PODMAN = {"Engine": "podman", "Registries": {
    "*.corp.example": {"Prefix": "*.corp.example", "Location": "", "Insecure": True, "PullFromMirror": "",
                       "Mirrors": None, "Blocked": False, "MirrorByDigestOnly": False},
    "blocked.example": {"Prefix": "blocked.example", "Location": "blocked.example", "Insecure": False,
                        "PullFromMirror": "", "Mirrors": None, "Blocked": True, "MirrorByDigestOnly": False},
    "docker.io/rocm": {"Prefix": "docker.io/rocm", "Location": "10.0.0.1:5000/amd", "Insecure": True,
                       "PullFromMirror": "", "Blocked": False, "MirrorByDigestOnly": False,
                       "Mirrors": [{"Location": "10.0.0.2:5001", "Insecure": True, "PullFromMirror": ""},
                                   {"Location": "mirror.example.com/x", "Insecure": False,
                                    "PullFromMirror": "digest-only"}]},
    "docker.io": {"Prefix": "docker.io", "Location": "docker.io", "Insecure": False, "PullFromMirror": "",
                  "Mirrors": [{"Location": "hub.example.com", "Insecure": False, "PullFromMirror": ""}],
                  "Blocked": False, "MirrorByDigestOnly": True},
    "search": ["docker.io"],
}}  # fmt: skip


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("rocm/pytorch:1", ["https://10.0.0.2:5001/pytorch", "http://10.0.0.2:5001/pytorch",
                            "https://10.0.0.1:5000/amd/pytorch", "http://10.0.0.1:5000/amd/pytorch"]),
        (f"rocm/vllm@{DIGEST}", ["https://10.0.0.2:5001/vllm", "http://10.0.0.2:5001/vllm",
                                 "https://mirror.example.com/x/vllm",
                                 "https://10.0.0.1:5000/amd/vllm", "http://10.0.0.1:5000/amd/vllm"]),
        ("rocmish/x:1", [f"{HUB}/rocmish/x"]),
        (f"ubuntu@{DIGEST}", ["https://hub.example.com/library/ubuntu", f"{HUB}/library/ubuntu"]),
        ("a.corp.example/x", ["https://a.corp.example/x", "http://a.corp.example/x"]),
        ("corp.example/x", ["https://corp.example/x"]),
        ("127.0.0.1:5000/x", ["https://127.0.0.1:5000/x"]),
    ],
)  # fmt: skip
def test_podman_s_mirrors_and_locations(reference: str, expected: list[str]) -> None:
    assert bases(reference, PODMAN) == expected
    assert {place.engine for place in places(Reference.parse(reference), PODMAN)} == {"podman"}


@pytest.mark.parametrize("junk", [3, "x", [3], {"x": 3}, [None], {"reg.example.com": 3}, ["no network"], None, True])
@pytest.mark.parametrize("key", ["Mirrors", "IndexConfigs", "InsecureRegistryCIDRs", "Registries"])
def test_settings_in_no_engine_s_form_are_passed_over(key: str, junk: object) -> None:
    engine = {"Engine": "podman"} if key == "Registries" else {}
    assert bases("reg.example.com/a", {**engine, key: junk}) == ["https://reg.example.com/a"]
    assert bases("10.0.0.1/a", {**engine, key: junk}) == ["https://10.0.0.1/a"]
    assert bases("library/ubuntu", {**engine, key: junk})[-1] == f"{HUB}/library/ubuntu"


def test_a_mirror_that_is_no_address_is_passed_over(one: Hostile) -> None:
    one.put("rocm/x:1", [b"x"])
    found = registry.find(Reference.parse("rocm/x:1"), {"Mirrors": ["", "x", "http://", "http://u:p@h", one.url]})
    assert found.place.base == one.url
    found.close()


def test_what_podman_s_settings_block_is_not_asked_for() -> None:
    with pytest.raises(RegistryError, match=r"blocks blocked\.example"):
        registry.find(Reference.parse("blocked.example/x"), PODMAN)


# the first that has it


@pytest.fixture
def one() -> Iterator[Hostile]:
    with hostile() as server:
        yield server


@pytest.fixture
def two() -> Iterator[Hostile]:
    with hostile() as server:
        yield server


@pytest.mark.parametrize("status", [404, 401, 403, 429, 500])
def test_a_mirror_that_does_not_have_it_is_passed_over(one: Hostile, two: Hostile, status: int) -> None:
    one.answers["/v2/rocm/x/manifests/1"] = Reply(status=status)
    two.put("rocm/x:1", [b"x"])
    found = registry.find(Reference.parse("rocm/x:1"), {"Mirrors": ["http://127.0.0.1:1", one.url, two.url]})
    assert found.place.base == two.url
    found.close()


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [(404, 500, "no-tag"), (500, 404, "no-tag"), (429, 500, "busy"), (401, 404, "no-tag"), (404, 401, "no-tag")],
)
def test_the_answer_that_says_most_counts(one: Hostile, two: Hostile, first: int, second: int, state: str) -> None:
    for server, status in ((one, first), (two, second)):
        server.answers["/v2/rocm/x/manifests/1"] = Reply(status=status)
        server.answers["/v2/rocm/x/tags/list"] = Reply({"tags": ["2"]})
    with pytest.raises(RegistryError) as caught:
        registry.find(Reference.parse("rocm/x:1"), {"Mirrors": [one.url, two.url]})
    assert caught.value.state == state


# by a proxy


@pytest.mark.parametrize(
    ("origin", "variables", "proxy"),
    [
        ("https://a.example:443", {}, None),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080"}, "http://p:8080"),
        ("https://a.example:443", {"https_proxy": "p:8080"}, "http://p:8080"),
        ("https://a.example:443", {"HTTP_PROXY": "http://p:8080"}, None),
        ("http://a.example:80", {"HTTP_PROXY": "http://p:8080"}, "http://p:8080"),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "b.example, example"}, None),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": ".example"}, None),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "*.example"}, None),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": ".a.example"}, "http://p:8080"),
        ("https://xa.example:443", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "a.example"}, "http://p:8080"),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "a.example:444"}, "http://p:8080"),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080", "no_proxy": "a.example:443"}, None),
        ("https://a.example:443", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "*"}, None),
        ("https://10.1.2.3:5000", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://10.1.2.3:5000", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "10.1.2.3"}, None),
        ("https://11.1.2.3:5000", {"HTTPS_PROXY": "http://p:8080", "NO_PROXY": "10.0.0.0/8"}, "http://p:8080"),
        ("http://127.0.0.1:5000", {"HTTP_PROXY": "http://p:8080"}, None),
        ("http://localhost:5000", {"HTTP_PROXY": "http://p:8080"}, None),
        ("http://[::1]:5000", {"HTTP_PROXY": "http://p:8080"}, None),
    ],
)
def test_the_proxy_for_a_registry(
    monkeypatch: pytest.MonkeyPatch, origin: str, variables: dict[str, str], proxy: str | None
) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(origin) == proxy


def test_plain_http_by_a_proxy(monkeypatch: pytest.MonkeyPatch, one: Hostile) -> None:
    """The proxy is asked for the whole address, and told its own login."""
    monkeypatch.setenv("HTTP_PROXY", f"http://me:pa%40ss@{one.address}")
    one.put("a:1", [b"x"])
    one.answers["http://reg.example.com/v2/a/manifests/1"] = one.answers["/v2/a/manifests/1"]
    config = {"IndexConfigs": {"reg.example.com": {"Secure": False}}}
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    found = registry.find(Reference.parse("reg.example.com/a:1"), config)
    assert found.place.base == "http://reg.example.com"
    found.close()
    assert one.asked[-1].headers["proxy-authorization"] == "Basic " + base64.b64encode(b"me:pa@ss").decode()


def test_https_by_a_proxy_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is asked to connect, and its refusal is told without its password."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            line, _ = listener.accept()
            with line:
                seen.append(line.recv(65536))
                line.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:s3cret@127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(RegistryError, match=r"reg\.example\.com cannot be reached") as caught:
            registry.find(Reference.parse("reg.example.com/a:1"), {})
        thread.join()
    assert seen[0].startswith(b"CONNECT reg.example.com:443 HTTP/1.")
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"
    assert "proxy" in caught.value.message


@pytest.mark.parametrize("proxy", ["socks5://u:s3cret@p:1080", "ftp://p", "http://"])
def test_a_proxy_that_is_none(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(RegistryError, match="the proxy in the environment") as caught:
        registry.find(Reference.parse("reg.example.com/a:1"), {})
    assert "s3cret" not in caught.value.message


# what it is not


def test_a_repository_that_is_only_a_slip(one: Hostile) -> None:
    one.answers["/v2/rocm/pytorch/tags/list"] = Reply({"tags": ["rocm7.2.4_a", "rocm7.1.0_a"]})
    one.answers["/v2/rocm/pytorh/manifests/rocm7.2.9_a"] = Reply({"errors": [{"code": "NAME_UNKNOWN"}]}, 404)
    with pytest.raises(RegistryError, match="has no repository `rocm/pytorh`") as caught:
        registry.find(Reference.parse("rocm/pytorh:rocm7.2.9_a"), {"Mirrors": [one.url]})
    assert caught.value.state == "no-repository"
    assert caught.value.hint == "did you mean `rocm/pytorch:rocm7.2.4_a`?"


def test_a_tag_that_is_listed_and_has_no_manifest(one: Hostile) -> None:
    one.answers["/v2/a/tags/list"] = Reply({"tags": ["1.0", "1.1"]})
    with pytest.raises(RegistryError, match="lists that tag and has no manifest for it") as caught:
        registry.find(Reference.parse(f"{one.address}/a:1.1"), {})
    assert (caught.value.state, caught.value.nearest) == ("no-tag", (f"{one.address}/a:1.0",))


def test_a_digest_that_is_gone(one: Hostile) -> None:
    one.answers["/v2/a/tags/list"] = Reply({"tags": ["1.0"]})
    with pytest.raises(RegistryError, match=r"its tag `1\.0` leads to another image") as caught:
        registry.find(Reference.parse(f"{one.address}/a:1.0@{DIGEST}"), {})
    assert caught.value.nearest[0] == f"{one.address}/a:1.0"


def test_a_list_of_tags_that_cannot_be_had_is_no_fault(one: Hostile) -> None:
    def unauthorized(_: Request, __: object) -> Reply:
        return Reply(status=403)

    one.answers["/v2/a/tags/list"] = unauthorized
    with pytest.raises(RegistryError, match="no such image") as caught:
        registry.find(Reference.parse(f"{one.address}/a:1"), {})
    assert caught.value.state == "no-tag"
