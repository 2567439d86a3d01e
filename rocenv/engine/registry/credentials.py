"""The logins that an engine's own client keeps: docker's config.json, podman's auth.json, and credential helpers.

Only read, never written, and only for the registry that is asked. What is read stands in no message.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rocenv.engine.registry.records import Place

_HUB_KEY = "https://index.docker.io/v1/"
_HUB = ("registry-1.docker.io", "index.docker.io", "docker.io")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATIENCE = 30.0  # seconds for a helper, which may ask a person
_LIMIT = 1 << 20  # bytes of a file of logins


class Credentials(NamedTuple):
    """A login; `kind`: "" for name and password, `identity` or `registry` for what `secret` then is."""

    name: str
    secret: str
    kind: str = ""

    def __repr__(self) -> str:
        """Not the secret, also in a traceback."""
        return "Credentials(…)"

    @property
    def basic(self) -> str:
        """The header's value for HTTP's Basic scheme."""
        return "Basic " + base64.b64encode(f"{self.name}:{self.secret}".encode()).decode()


class Kept(NamedTuple):
    """What was found for a registry: a login or none, and what kept one from being read."""

    credentials: Credentials | None
    trouble: str | None = None


def kept(place: Place) -> Kept:
    """The login that the engine's client would use for a place."""
    trouble = None
    for file in files(place.engine):
        try:
            settings = _read(file)
            found = _in(settings, place) if settings is not None else None
        except _TroubleError as error:
            trouble = trouble or f"{file}: {error}"
            continue
        if found is not None:
            return Kept(found)
    return Kept(None, trouble)


def files(engine: str) -> list[Path]:
    """The files in which an engine's client looks for logins, in its order (docker login; containers-auth.json(5))."""
    home = os.environ.get("HOME")
    docker = os.environ.get("DOCKER_CONFIG") or (f"{home}/.docker" if home else None)
    ours = [Path(docker) / "config.json"] if docker else []
    if engine != "podman":
        return ours
    named = os.environ.get("REGISTRY_AUTH_FILE")
    if named:
        return [Path(named)]
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    config = os.environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)
    folders = [runtime, config] if config else [runtime]
    return [*(Path(folder) / "containers/auth.json" for folder in folders), *ours]


class _TroubleError(Exception):
    """A login that should be there and cannot be read; the text holds no secret."""


def _read(file: Path) -> Mapping[str, Any] | None:
    """A file of logins, None where there is none."""
    import stat

    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise _TroubleError("is no file")
            data = stream.read(_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _TroubleError(f"cannot be read, {(error.strerror or 'fault').lower()}") from None
    try:
        found = json.loads(data) if len(data) <= _LIMIT else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _TroubleError("holds no JSON object")
    return found


def _in(settings: Mapping[str, Any], place: Place) -> Credentials | None:
    """The login in one file: its registry's own helper, then the helper of all, then what stands in the file."""
    helpers = settings.get("credHelpers")
    for key in _keys(place):
        helper = helpers.get(key) if isinstance(helpers, dict) else None
        if helper is not None:
            return _helped(helper, key)
    store = settings.get("credsStore")
    if store:
        found = _helped(store, _HUB_KEY if place.host in _HUB else place.host)
        if found is not None:
            return found
    auths = settings.get("auths")
    known = {_bare(key): value for key, value in auths.items()} if isinstance(auths, dict) else {}
    for key in _keys(place):
        entry = known.get(_bare(key))
        if isinstance(entry, dict):
            return _entry(entry)
    return None


def _keys(place: Place) -> list[str]:
    """The names that a login for a place may stand under, the most particular first (podman takes paths as well)."""
    plain = [_HUB_KEY, *_HUB] if place.host in _HUB else [place.host]
    if place.engine != "podman":
        return plain
    host, parts = plain[-1], place.repository.split("/")
    return ["/".join([host, *parts[:count]]) for count in range(len(parts), 0, -1)] + plain


def _bare(key: str) -> str:
    """A registry as the files name it, without the scheme and the version's path."""
    return re.sub(r"^https?://|/v[12]/?$|/$", "", key)


def _entry(entry: Mapping[str, Any]) -> Credentials | None:
    """A login that stands in the file itself; an empty entry is one whose secret is kept elsewhere."""
    for key, kind in (("registrytoken", "registry"), ("identitytoken", "identity")):
        if isinstance(entry.get(key), str) and entry[key]:
            return Credentials("", entry[key], kind)
    name, secret = entry.get("username"), entry.get("password")
    if isinstance(entry.get("auth"), str) and entry["auth"]:
        try:
            name, colon, secret = base64.b64decode(entry["auth"], validate=True).decode().rstrip("\0").partition(":")
        except ValueError:
            raise _TroubleError("holds a login that is no base64") from None
        if not colon:
            raise _TroubleError("holds a login without a password")
    return Credentials(name, secret) if isinstance(name, str) and isinstance(secret, str) and name else None


def _helped(helper: object, server: str) -> Credentials | None:
    """What `docker-credential-HELPER get` answers, None where it holds nothing for this server."""
    from rocenv import process

    if not isinstance(helper, str) or not _HELPER.fullmatch(helper):
        raise _TroubleError("names no credential helper")
    program = f"docker-credential-{helper}"
    try:
        done = process.run([program, "get"], seconds=_PATIENCE, data=server.encode())
    except process.ProgramMissingError:
        raise _TroubleError(f"names `{program}`, which cannot be started") from None
    except process.TimedOutError:
        raise _TroubleError(f"names `{program}`, which does not answer") from None
    if done.status != 0:
        if "credentials not found" in (done.stdout + done.stderr).lower():
            return None
        raise _TroubleError(f"names `{program}`, which ended with {done.status}")
    try:
        found = json.loads(done.stdout)
        name, secret = found["Username"], found["Secret"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _TroubleError(f"names `{program}`, which answers what no helper answers") from None
    if not isinstance(name, str) or not isinstance(secret, str):
        raise _TroubleError(f"names `{program}`, which answers what no helper answers")
    return Credentials("", secret, "identity") if name == "<token>" else Credentials(name, secret)
