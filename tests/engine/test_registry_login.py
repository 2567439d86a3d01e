"""Logins: where they are found, to whom they are given, and to whom not."""

from __future__ import annotations

import base64
import json
import logging
import os
import socket
import ssl
import stat
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from engine.hostile import Hostile, Reply, Request, hostile

from rocenv.catalog.references import Reference
from rocenv.engine.registry import Place, RegistryError, find
from rocenv.engine.registry.credentials import Credentials, kept
from rocenv.engine.registry.find import fetch
from rocenv.engine.registry.login import Challenge, challenge_of
from rocenv.engine.registry.session import Session

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

NAME, SECRET = "ada", "s3cret:Pa55"
BASIC = "Basic " + base64.b64encode(f"{NAME}:{SECRET}".encode()).decode()
TAG = "/v2/a/manifests/1"


@pytest.fixture
def server() -> Iterator[Hostile]:
    with hostile() as one:
        one.put("a:1", [b"x"])
        yield one


@pytest.fixture
def other() -> Iterator[Hostile]:
    with hostile() as one:
        yield one


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path


def write(file: Path, told: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(told))


def entry(name: str = NAME, secret: str = SECRET) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{name}:{secret}".encode()).decode()}


def login(home: Path, *hosts: str) -> None:
    write(home / ".docker/config.json", {"auths": {host: entry() for host in hosts}})


def helper(home: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """A credential helper on PATH."""
    file = home / "bin" / f"docker-credential-{name}"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{file.parent}:{os.environ['PATH']}")


def asked(server: Hostile, *, verified: bool = False, engine: str = "docker") -> tuple[bytes, str]:
    session = Session(Place(server.url, "a", verified, engine))
    try:
        return fetch(session, "1")
    finally:
        session.close()


def guard(server: Hostile, realm: str, header: str) -> None:
    """Let the registry give its image to this header alone, and name a token service."""
    sound = server.answers[TAG]
    challenge = {"WWW-Authenticate": f'Bearer realm="{realm}",service="reg",scope="repository:a:pull"'}

    def told(request: Request, _: BaseHTTPRequestHandler) -> Reply:
        return sound if request.login == header else Reply(status=401, headers=challenge)

    server.answers[TAG] = told


# to whom


def test_an_anonymous_token(server: Hostile, home: Path) -> None:
    guard(server, f"{server.url}/token", "Bearer t0ken")
    server.answers["/token"] = Reply({"token": "t0ken"})
    asked(server)
    token = next(one for one in server.asked if one.path == "/token")
    assert (token.query, token.login) == ({"service": "reg", "scope": "repository:a:pull"}, None)


def test_a_token_by_name_and_password(server: Hostile, home: Path) -> None:
    login(home, server.address)
    guard(server, f"{server.url}/token?x=y", "Bearer t0ken")
    server.answers["/token"] = Reply({"access_token": "t0ken"})
    asked(server)
    token = next(one for one in server.asked if one.path == "/token")
    assert (token.query["x"], token.login) == ("y", BASIC)
    assert [one.login for one in server.asked if one.path == TAG] == [None, "Bearer t0ken"]


def test_a_token_by_an_identity_token(server: Hostile, home: Path) -> None:
    write(home / ".docker/config.json", {"auths": {server.address: {"identitytoken": "id&en=tity"}}})
    guard(server, f"{server.url}/token", "Bearer t0ken")
    server.answers["/token"] = Reply({"access_token": "t0ken"})
    asked(server)
    token = next(one for one in server.asked if one.path == "/token")
    assert (token.method, token.query, token.login) == ("POST", {}, None)
    assert b"refresh_token=id%26en%3Dtity" in token.body
    assert b"grant_type=refresh_token" in token.body


def test_an_identity_token_that_has_run_out(server: Hostile, home: Path) -> None:
    write(home / ".docker/config.json", {"auths": {server.address: {"identitytoken": "old"}}})
    guard(server, f"{server.url}/token", "Bearer t0ken")
    server.answers["/token"] = Reply({"error": "invalid_grant"}, 400)
    with pytest.raises(RegistryError, match="does not take the login"):
        asked(server)


def test_a_registry_token_as_it_is(server: Hostile, home: Path) -> None:
    write(home / ".docker/config.json", {"auths": {server.address: {"registrytoken": "r3g"}}})
    guard(server, f"{server.url}/token", "Bearer r3g")
    asked(server)
    assert "/token" not in server.paths()


def basic(server: Hostile) -> None:
    sound = server.answers[TAG]

    def told(request: Request, _: BaseHTTPRequestHandler) -> Reply:
        challenge = {"WWW-Authenticate": 'Basic realm="here"'}
        return sound if request.login == BASIC else Reply(status=401, headers=challenge)

    server.answers[TAG] = told


def test_name_and_password_where_they_are_asked_for(server: Hostile, home: Path) -> None:
    basic(server)
    with pytest.raises(RegistryError, match="asks for a login") as caught:
        asked(server)
    assert (caught.value.state, caught.value.hint) == ("refused", f"`docker login {server.address}`")
    login(home, server.address)
    asked(server)


def test_nothing_is_sent_that_was_not_asked_for(server: Hostile, home: Path) -> None:
    login(home, server.address)
    asked(server)
    assert [one.login for one in server.asked] == [None]


def test_a_token_service_elsewhere_gets_no_login_of_a_registry_that_may_be_anybody(
    server: Hostile, other: Hostile, home: Path
) -> None:
    login(home, server.address, other.address)
    guard(server, f"{other.url.replace('127.0.0.1', 'localhost')}/token", "Bearer t0ken")
    other.answers["/token"] = Reply({"token": "t0ken"})
    asked(server)
    assert [one.login for one in other.asked] == [None]


def test_a_redirect_elsewhere_takes_no_login_along(server: Hostile, other: Hostile, home: Path) -> None:
    login(home, server.address, other.address)
    basic(server)
    image = other.put("a:1", [b"x"])
    inner = server.answers[TAG]

    def told(request: Request, handler: BaseHTTPRequestHandler) -> Reply:
        answer: Reply = inner(request, handler)
        return answer if answer.status == 401 else Reply(status=307, headers={"Location": f"{other.url}{TAG}"})

    server.answers[TAG] = told
    assert json.loads(asked(server)[0]) == image
    assert [one.login for one in server.asked] == [None, BASIC]
    assert [one.login for one in other.asked] == [None]


def test_a_token_service_that_redirects_elsewhere_takes_no_login_along(
    server: Hostile, other: Hostile, home: Path
) -> None:
    login(home, server.address)
    guard(server, f"{server.url}/token", "Bearer t0ken")
    server.answers["/token"] = Reply(status=302, headers={"Location": f"{other.url}/t"})
    other.answers["/t"] = Reply({"token": "t0ken"})
    asked(server)
    assert [one.login for one in other.asked] == [None]


def test_a_question_to_another_host_takes_no_login_along(server: Hostile, other: Hostile, home: Path) -> None:
    login(home, server.address)
    basic(server)
    other.answers["/page"] = Reply({})
    with closing(Session(Place(server.url, "a", verified=False))) as session:
        fetch(session, "1")
        session.ask(f"{other.url}/page", limit=100)
    assert [one.login for one in other.asked] == [None]


def test_an_identity_token_is_posted_nowhere_else(server: Hostile, other: Hostile, home: Path) -> None:
    write(home / ".docker/config.json", {"auths": {server.address: {"identitytoken": "identity"}}})
    guard(server, f"{server.url}/token", "Bearer t0ken")
    server.answers["/token"] = Reply(status=307, headers={"Location": f"{other.url}/t"})
    with pytest.raises(RegistryError, match="sends a login elsewhere"):
        asked(server)
    assert other.asked == []


@pytest.mark.parametrize(
    "realm", ["file:///etc/passwd", "javascript:alert(1)", "", "http://u:p@127.0.0.1/", "http://a b/"]
)
def test_a_token_service_that_is_none(server: Hostile, home: Path, realm: str) -> None:
    guard(server, realm, "Bearer t0ken")
    with pytest.raises(RegistryError, match="no address of the web"):
        asked(server)


@pytest.mark.parametrize("token", [{}, {"token": ""}, {"token": 3}, {"token": "a\r\nX-Evil: 1"}, [], "x"])
def test_a_token_that_is_none(server: Hostile, home: Path, token: Any) -> None:
    guard(server, f"{server.url}/token", "Bearer t0ken")
    server.answers["/token"] = Reply(token)
    with pytest.raises(RegistryError) as caught:
        asked(server)
    assert caught.value.state == "bad"


def test_a_registry_that_is_never_content_is_asked_twice(server: Hostile, home: Path) -> None:
    guard(server, f"{server.url}/token", "Bearer another")
    server.answers["/token"] = Reply({"token": "t0ken"})
    with pytest.raises(RegistryError, match="`a` is missing or private") as caught:
        asked(server)
    assert caught.value.state == "denied"
    assert server.paths().count(TAG) == 2


@pytest.mark.parametrize(
    ("known", "status", "said"),
    [
        (False, 401, ("denied", "missing or private")),
        (False, 403, ("denied", "missing or private")),
        (True, 403, ("denied", "missing or not for this login")),
        (True, 401, ("refused", "does not take the login")),
        (True, 500, ("unreachable", "gives no token")),
        (False, 400, ("unreachable", "gives no token")),
        (False, 429, ("busy", "too many requests")),
    ],
)
def test_a_token_service_that_refuses(
    server: Hostile, home: Path, known: bool, status: int, said: tuple[str, str]
) -> None:
    if known:
        login(home, server.address)
    guard(server, f"{server.url}/token", "Bearer t0ken")
    server.answers["/token"] = Reply({"errors": [{"code": "DENIED"}]}, status)
    with pytest.raises(RegistryError, match=said[1]) as caught:
        asked(server)
    assert caught.value.state == said[0]


def test_a_token_that_has_run_out_is_renewed(server: Hostile, home: Path) -> None:
    guard(server, f"{server.url}/token", "Bearer second")
    server.answers["/token"] = [Reply({"token": "second"}), Reply({"token": "third"})]
    sound = server.answers[TAG]
    session = Session(Place(server.url, "a", verified=False))
    fetch(session, "1")
    server.answers[TAG] = lambda request, _: (
        Reply(status=401, headers={"WWW-Authenticate": f'Bearer realm="{server.url}/token"'})
        if request.login == "Bearer second"
        else sound(request._replace(headers={"authorization": "Bearer second"}), None)
    )
    fetch(session, "1")
    session.close()
    assert server.paths().count("/token") == 2


@pytest.mark.parametrize("outcome", ["refused", "broken", "sound"])
def test_a_secret_is_in_no_message_and_no_log(
    server: Hostile, home: Path, outcome: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    login(home, server.address)
    guard(server, f"{server.url}/token", "Bearer t0ken")
    echo = Reply({"errors": [{"code": "DENIED", "message": f"{SECRET} {BASIC}"}]}, 401)
    server.answers["/token"] = {"refused": echo, "broken": Reply(b"", length=9), "sound": Reply({"token": "t0ken"})}[
        outcome
    ]
    said = ""
    try:
        asked(server)
    except RegistryError as error:
        said = f"{error.message} {error.hint} {error!r} {error.__cause__!r}"
    said += caplog.text + "".join(capfd.readouterr())
    for secret in (SECRET, BASIC, BASIC.removeprefix("Basic "), "t0ken"):
        assert secret not in said
    assert SECRET not in repr(Credentials(NAME, SECRET))


# whose certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that no system knows, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=registry of the tests", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    files = folder / "ca.crt", folder / "key.pem"
    subprocess.run([*words, *names, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


@pytest.fixture
def safe(certificate: tuple[Path, Path]) -> Iterator[Hostile]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with hostile(context) as one:
        one.put("a:1", [b"x"])
        yield one


def trust(server: Hostile, certificate: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the certificate where docker keeps that of one registry."""
    place = folder / "certs.d" / server.address
    place.mkdir(parents=True)
    (place / "ca.crt").write_bytes(certificate.read_bytes())
    monkeypatch.setattr("rocenv.engine.registry.surroundings.CERTIFICATES", (str(folder / "certs.d"),))


def test_a_certificate_that_nobody_vouches_for(
    safe: Hostile, home: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    login(home, safe.address)
    with pytest.raises(RegistryError, match="certificate is not trusted") as caught:
        asked(safe, verified=True)
    assert f"/etc/docker/certs.d/{safe.address}/ca.crt" in str(caught.value.hint)
    assert safe.asked == []
    asked(safe, verified=False)  # where the engine is told that it is insecure
    trust(safe, certificate[0], home, monkeypatch)
    asked(safe, verified=True)


def test_a_certificate_file_that_is_none(
    safe: Hostile, home: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(safe, certificate[1], home, monkeypatch)
    with pytest.raises(RegistryError, match=r"a certificate in .* cannot be read"):
        asked(safe, verified=True)


def test_from_https_nothing_leads_to_http(
    safe: Hostile, server: Hostile, home: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(safe, certificate[0], home, monkeypatch)
    login(home, safe.address)
    guard(safe, f"{server.url}/token", "Bearer t0ken")
    with pytest.raises(RegistryError, match="without HTTPS"):
        asked(safe, verified=True)
    safe.answers[TAG] = Reply(status=302, headers={"Location": f"{server.url}{TAG}"})
    with pytest.raises(RegistryError, match="from HTTPS to HTTP"):
        asked(safe, verified=True)
    assert server.asked == []


def test_a_verified_registry_s_token_service_elsewhere_gets_its_login(
    safe: Hostile, home: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Docker Hub's is: registry-1.docker.io names auth.docker.io."""
    trust(safe, certificate[0], home, monkeypatch)
    there = f"localhost:{safe.port}"
    (home / "certs.d" / there).symlink_to(home / "certs.d" / safe.address)
    login(home, safe.address)
    guard(safe, f"https://{there}/token", "Bearer t0ken")
    safe.answers["/token"] = Reply({"token": "t0ken"})
    asked(safe, verified=True)
    assert [one.login for one in safe.asked if one.path == "/token"] == [BASIC]
    safe.asked.clear()
    asked(safe, verified=False)
    assert [one.login for one in safe.asked if one.path == "/token"] == [None]


def test_https_asked_of_who_speaks_http(server: Hostile, home: Path) -> None:
    session = Session(Place(server.url.replace("http:", "https:"), "a"))
    with closing(session), pytest.raises(RegistryError, match="it speaks no HTTPS") as caught:
        fetch(session, "1")
    assert f'put "{server.address}" into `insecure-registries`' in str(caught.value.hint)


def test_a_client_s_own_certificate_is_shown(
    home: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificate[0])
    with hostile(context) as server:
        server.put("a:1", [b"x"])
        trust(server, certificate[0], home, monkeypatch)
        with pytest.raises(RegistryError):
            asked(server, verified=True)
        folder = home / "certs.d" / server.address
        (folder / "client.cert").write_bytes(certificate[0].read_bytes())
        (folder / "client.key").write_bytes(certificate[1].read_bytes())
        asked(server, verified=True)


def test_https_by_a_proxy(safe: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy gets its own login and sees nothing else; the registry does not get the proxy's."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def relay() -> None:
            near, _ = listener.accept()
            with near, socket.create_connection(("127.0.0.1", safe.port)) as far:
                seen.append(near.recv(65536))
                near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=pour, args=(near, far))
                back.start()
                pour(far, near)
                back.join()

        thread = threading.Thread(target=relay)
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:s3cret@127.0.0.1:{listener.getsockname()[1]}")
        config = {"IndexConfigs": {"reg.example.com": {"Secure": False}}}
        found = find(Reference.parse("reg.example.com/a:1"), config)
        found.close()
        thread.join()
    assert found.place.base == "https://reg.example.com"
    assert b"CONNECT reg.example.com:443" in seen[0]
    assert base64.b64encode(b"me:s3cret") in seen[0]
    assert [one.headers.get("proxy-authorization") for one in safe.asked] == [None]


def pour(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


# where they are found

HUB = Place("https://registry-1.docker.io", "library/ubuntu")
OWN = Place("https://reg.example.com:5000", "team/app")


@pytest.mark.parametrize(
    ("place", "key"),
    [
        (HUB, "https://index.docker.io/v1/"),
        (HUB, "docker.io"),
        (OWN, "reg.example.com:5000"),
        (OWN, "https://reg.example.com:5000"),
        (OWN, "https://reg.example.com:5000/v2/"),
        (OWN, "http://reg.example.com:5000/v1/"),
        (HUB._replace(engine="podman"), "docker.io/library"),
        (HUB._replace(engine="podman"), "docker.io"),
        (OWN._replace(engine="podman"), "reg.example.com:5000"),
        (OWN._replace(engine="podman"), "reg.example.com:5000/team"),
        (OWN._replace(engine="podman"), "reg.example.com:5000/team/app"),
    ],
)
def test_the_names_of_a_registry_in_the_files(home: Path, place: Place, key: str) -> None:
    login(home, key)
    assert kept(place).credentials == Credentials(NAME, SECRET)


@pytest.mark.parametrize(
    "key", ["example.com:5000", "reg.example.com", "reg.example.com:5000.evil", "xreg.example.com:5000",
            "index.docker.io", "reg.example.com:5000/team"],
)  # fmt: skip
def test_a_login_for_another_registry_is_not_taken(home: Path, key: str) -> None:
    login(home, key)
    assert kept(OWN).credentials is None


def test_the_most_particular_login_of_podman_s_counts(home: Path) -> None:
    write(home / "run/containers/auth.json", {"auths": {
        "reg.example.com:5000": entry("all"), "reg.example.com:5000/team": entry("team"),
        "reg.example.com:5000/teamwork": entry("no"),
    }})  # fmt: skip
    found = kept(OWN._replace(engine="podman")).credentials
    assert found is not None
    assert found.name == "team"
    assert kept(OWN).credentials is None  # that is podman's file


@pytest.mark.parametrize(
    ("file", "variables"),
    [
        ("a.json", {"REGISTRY_AUTH_FILE": "a.json"}),
        ("run/containers/auth.json", {}),
        (".config/containers/auth.json", {}),
        ("x/containers/auth.json", {"XDG_CONFIG_HOME": "x"}),
        (".docker/config.json", {}),
        ("d/config.json", {"DOCKER_CONFIG": "d"}),
    ],
)
def test_the_files_of_podman_s(
    home: Path, monkeypatch: pytest.MonkeyPatch, file: str, variables: Mapping[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, str(home / value))
    write(home / file, {"auths": {"reg.example.com:5000": entry()}})
    assert kept(OWN._replace(engine="podman")).credentials == Credentials(NAME, SECRET)


def test_a_helper_for_one_registry_and_one_for_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """read -r server; [ "$1" = get ] && echo "{\\"Username\\":\\"$server\\",\\"Secret\\":\\"%s\\"}" """
    helper(home, monkeypatch, "one", script.replace("%s", "first"))
    helper(home, monkeypatch, "all", script.replace("%s", "second"))
    write(home / ".docker/config.json", {"credsStore": "all", "credHelpers": {"reg.example.com:5000": "one"}})
    assert kept(OWN).credentials == Credentials("reg.example.com:5000", "first")
    assert kept(HUB).credentials == Credentials("https://index.docker.io/v1/", "second")


def test_a_helper_that_holds_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(home, monkeypatch, "all", "echo credentials not found in native keychain; exit 1")
    write(home / ".docker/config.json", {"credsStore": "all"})
    assert kept(OWN) == (None, None)


def test_a_helper_s_identity_token(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(home, monkeypatch, "all", """echo '{"Username":"<token>","Secret":"id"}'""")
    write(home / ".docker/config.json", {"credsStore": "all"})
    assert kept(OWN).credentials == Credentials("", "id", "identity")


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("exit 3", "ended with 3"),
        ("echo s3cret", "answers what no helper answers"),
        ("""echo '{"Username":1,"Secret":2}'""", "answers what no helper answers"),
        ("echo '[]'", "answers what no helper answers"),
        (None, "cannot be started"),
    ],
)
def test_a_helper_that_fails(home: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, trouble: str) -> None:
    if script is not None:
        helper(home, monkeypatch, "bad", script)
    write(home / ".docker/config.json", {"credsStore": "bad"})
    found = kept(OWN)
    assert found.credentials is None
    assert trouble in str(found.trouble)
    assert "s3cret" not in str(found.trouble)


@pytest.mark.parametrize("name", ["../../bin/evil", "a/b", "", "-x", "a b", 3, ["x"]])
def test_a_helper_with_a_name_that_is_none_is_not_started(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: object
) -> None:
    write(home / ".docker/config.json", {"credHelpers": {"reg.example.com:5000": name}})
    assert "names no credential helper" in str(kept(OWN).trouble)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("{", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"a":' * 100_000, "no JSON object"),
        ("x" * (2 << 20), "no JSON object"),
        ('{"auths": {"reg.example.com:5000": {"auth": "%%%"}}}', "no base64"),
        ('{"auths": {"reg.example.com:5000": {"auth": "YWRh"}}}', "without a password"),
        ('{"auths": 3}', None),
        ('{"auths": {"reg.example.com:5000": {}}}', None),
        ('{"auths": {"reg.example.com:5000": 3}, "credHelpers": 7}', None),
    ],
)
def test_a_file_of_logins_that_is_broken(home: Path, text: str, trouble: str | None) -> None:
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text(text)
    found = kept(OWN)
    assert found.credentials is None
    assert (found.trouble is None) if trouble is None else trouble in str(found.trouble)


def test_a_fifo_in_the_place_of_a_file_is_not_waited_for(home: Path) -> None:
    (home / ".docker").mkdir()
    os.mkfifo(home / ".docker/config.json")
    assert "is no file" in str(kept(OWN).trouble)


def test_the_trouble_with_a_file_is_said_where_a_login_is_wanted(server: Hostile, home: Path) -> None:
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text("{")
    basic(server)
    with pytest.raises(RegistryError, match=r"config\.json: holds no JSON object"):
        asked(server)


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ('Bearer realm="https://a/t",service="s"', ("bearer", "https://a/t", "s")),
        ("bearer realm=https://a/t, service=s", ("bearer", "https://a/t", "s")),
        ('Basic realm="r", Bearer realm="https://a/t"', ("bearer", "https://a/t", "")),
        ('Bearer realm="https://a/t",scope="a:b:pull,push",service="x, y"', ("bearer", "https://a/t", "x, y")),
        ('Basic realm="a \\"quoted\\" one"', ("basic", 'a "quoted" one', "")),
        ("Basic", ("basic", "", "")),
        ("Negotiate", None),
        ("", None),
        ('Bearer realm="' + '\\"' * 5000, ("bearer", "", "")),
    ],
)
def test_challenges(header: str, challenge: tuple[str, str, str] | None) -> None:
    found = challenge_of({"www-authenticate": header})
    assert found == (None if challenge is None else Challenge(*challenge))
