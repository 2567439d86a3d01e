"""A bundle for a bug report: the host's capture with what the engine said and what was found, fit to be shown.

It can be read again wherever a capture is. Names of people, hosts and addresses, and what variables beyond ROCm's hold,
are not in it.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import rocenv
from rocenv.host import save_capture
from rocenv.model.health import CdiNode, EngineHealth, OwnContainer, Store
from rocenv.model.plan import EngineFacts

if TYPE_CHECKING:
    from rocenv.host.save import Saved

FILE = "doctor.json"
_USER_IN_URL = re.compile(r"(\w+://)[^/@\s\"]+@")
_HOME = re.compile(r"/home/[^/\s\"':,;]+")
_ADDRESS = re.compile(r"\b(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}\b")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
_SHORT = 3  # letters: a name of fewer would be found within other words
_T = TypeVar("_T")


class Bundle(NamedTuple):
    """What a bundle holds beside the capture."""

    engine: EngineFacts | None
    health: EngineHealth | None
    env: Mapping[str, str] | None


def save_bundle(file: str, host: str | None, bundle: Bundle, answer: Mapping[str, object]) -> Saved:
    """Write it. `answer` is what `rocenv doctor --json` answers. Raises UsageError where it cannot be written."""
    told = {
        "version": 1,
        "rocenv": rocenv.__version__,
        "engine": _plain(bundle.engine) if bundle.engine else None,
        "engine_health": _plain({**bundle.health._asdict(), "name": None}) if bundle.health else None,
        "env": dict(bundle.env) if bundle.env is not None else None,
        "doctor": answer,
    }
    clean = _within(told, {**_names(), **_environments(bundle.health)})
    return save_capture(file, host, anonymous=True, beside={FILE: json.dumps(clean, indent=1).encode()})


def read_bundle(data: bytes) -> Bundle | None:
    """What was saved beside a capture; None where it cannot be read."""
    try:
        told = json.loads(data)
        if not isinstance(told, dict):
            return None
        engine, health = told.get("engine"), told.get("engine_health")
        return Bundle(
            engine=_made(EngineFacts, engine) if engine else None,
            health=_health(health) if health else None,
            env={str(name): str(value) for name, value in told["env"].items()} if told.get("env") else None,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def scrubbed(text: str, names: Mapping[str, str]) -> str:
    """A text without names: `names` maps each to what stands for it. Homes, addresses and logins go by their shape."""
    for name, instead in names.items():
        if len(name) >= _SHORT:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", instead, text)
    text = _USER_IN_URL.sub(r"\1", text)
    text = _HOME.sub("/home/user", text)
    text = _MAIL.sub("MAIL", text)
    return _ADDRESS.sub("ADDRESS", text)


def _within(value: Any, names: Mapping[str, str]) -> Any:
    """The same with every text in it scrubbed: `null` may be somebody's name, and is JSON's own word too."""
    if isinstance(value, str):
        return scrubbed(value, names)
    if isinstance(value, Mapping):
        return {key: _within(one, names) for key, one in value.items()}
    return [_within(one, names) for one in value] if isinstance(value, (list, tuple)) else value


def _names() -> dict[str, str]:
    """The names of this machine and its user."""
    home = os.path.expanduser("~")  # noqa: PTH111 (a text to be replaced, not a path to be used)
    found = {home: "~"} if home not in ("/", "/root") else {}
    for name in (_user(), os.environ.get("SUDO_USER", "")):
        if name not in ("", "root"):
            found[name] = "user"
    host = socket.gethostname()
    return {**found, host: "host", host.partition(".")[0]: "host"}


def _plain(value: Any) -> Any:
    """Nouns within as mappings, for JSON."""
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _user() -> str:
    """The caller's name, empty where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _environments(health: EngineHealth | None) -> dict[str, str]:
    """What rocenv's containers are called tells of projects: numbers stand for them."""
    containers = (health.containers or ()) if health else ()
    return {one.name: f"rocenv-environment-{number}" for number, one in enumerate(containers)}


def _made(kind: type[_T], told: Mapping[str, Any]) -> _T:
    """A noun from its JSON: lists become tuples, keys that it does not have are passed over."""
    known = kind.__annotations__
    return kind(**{key: _frozen(value) for key, value in told.items() if key in known})


def _frozen(value: Any) -> Any:
    """Lists as tuples, also within lists; what is a noun already stays one."""
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


def _health(told: Mapping[str, Any]) -> EngineHealth:
    stores = tuple(_made(Store, one) for one in told.get("stores") or ())
    containers = told.get("containers")
    own = None if containers is None else tuple(_container(one) for one in containers)
    return _made(EngineHealth, {**told, "stores": stores, "containers": own})


def _container(told: Mapping[str, Any]) -> OwnContainer:
    return _made(OwnContainer, {**told, "devices": tuple(_made(CdiNode, one) for one in told.get("devices") or ())})
