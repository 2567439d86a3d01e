"""More of an engine, for the doctor: also of one that does not answer. Asked once and side by side."""

from __future__ import annotations

import errno
import json
import os
import socket as sockets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocenv import process
from rocenv.engine import facts as reading
from rocenv.engine import where
from rocenv.engine.own import OwnContainers
from rocenv.errors import EngineError, RocenvError
from rocenv.model.health import EngineHealth, Store
from rocenv.model.plan import EngineFacts

if TYPE_CHECKING:
    import subprocess

    from rocenv.engine.engine import Engine

PATIENCE = 20.0  # seconds for one answer
_CONNECT = 3.0
_STORES = (
    ("/var/lib/docker", "docker"),
    ("~/.local/share/docker", "docker"),
    ("/var/lib/containers/storage", "podman"),
    ("~/.local/share/containers/storage", "podman"),
)
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)  # of an answer in no engine's form


class Examination:
    """One engine being examined: its questions run from the moment that this is made."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        form = "json" if engine.kind == "podman" else "{{json .}}"
        self._info = self._start("info", "--format", form)
        self._own = OwnContainers(engine)

    def close(self) -> None:
        """End what has not ended by itself, and drop what nobody read."""
        process.end(self._info)
        self._own.close()

    def findings(self) -> tuple[EngineFacts | None, EngineHealth]:
        """What the engine says of itself, None where it does not answer; and what can be seen of it either way."""
        engine = self._engine
        docker = engine.kind == "docker"
        endpoint = where.docker_endpoint() if docker else None
        program = where.program(engine.program)
        health = EngineHealth(
            kind=engine.kind,
            program=program,
            podman_shim=engine.kind == "podman" and engine.program == "docker",
            endpoint=endpoint,
            context=where.docker_context() if docker else None,
            socket=connect(endpoint) if endpoint else None,
            stores=stores(),
        )
        if health.socket is not None:
            return None, health
        try:
            answer = process.finish(self._info, PATIENCE)
            found = _facts(engine.kind, answer, endpoint)
        except process.GivenUpError as error:
            return None, health._replace(said=str(error), hint="`sudo systemctl restart docker`")
        except RocenvError as error:
            return None, health._replace(said=error.message, hint=error.hint)
        if found.rootless and docker:
            found = found._replace(gid_map=where.rootless_gid_map())
        info = json.loads(answer.stdout)
        free, inodes = room(found)
        return found, health._replace(
            name=_name(info),
            free_bytes=free,
            free_inodes=inodes,
            cdi_devices=_discovered(info),
            containers=None if found.remote or found.desktop else self._own.found(),
        )

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        try:
            return process.start([self._engine.program, *arguments])
        except process.ProgramMissingError as error:
            raise EngineError(str(error), f"`type {self._engine.program}` shows which file that is") from None


def _facts(kind: str, answer: process.Completed, endpoint: str | None) -> EngineFacts:
    """The facts in an answer to `info`. Raises the error that the engine's words mean."""
    from rocenv.engine.words import explain

    try:
        if kind == "podman":
            return reading.podman_facts(answer.stdout, answer.stderr)
        return reading.docker_facts(answer.stdout, answer.stderr, endpoint or "")
    except reading.NoAnswerError as error:
        raise explain(error.said, engine=kind) from None
    except _UNREADABLE as error:
        raise EngineError(
            f"`{kind} info` answered what no engine answers ({type(error).__name__})",
            f"`type {kind}` shows whether that is an engine's own client",
        ) from None


def connect(endpoint: str) -> str | None:
    """The errno that connecting to an engine's address answers, None where somebody listens or it is no address.

    An address behind ssh is the client's own business.
    """
    scheme, _, rest = endpoint.partition("://")
    if scheme not in ("unix", "tcp"):
        return None
    family = sockets.AF_UNIX if scheme == "unix" else sockets.AF_INET
    host, _, port = rest.rpartition(":")
    try:
        with sockets.socket(family, sockets.SOCK_STREAM) as line:
            line.settimeout(_CONNECT)
            line.connect(rest if scheme == "unix" else (host or "127.0.0.1", int(port.rstrip("/"))))
    except TimeoutError:
        return "ETIMEDOUT"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "EHOSTUNREACH")
    except ValueError:
        return None  # no port: the client says so better
    return None


def room(facts: EngineFacts) -> tuple[int | None, int | None]:
    """Free bytes and inodes where a local engine keeps its images; inodes None where the file system counts none."""
    if facts.data_root is None or facts.remote or facts.desktop:
        return None, None
    try:
        disk = os.statvfs(facts.data_root)
    except OSError:
        return None, None
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None


def stores() -> tuple[Store, ...]:
    """The folders in which engines of this machine keep images, of those that are there."""
    paths = {os.path.expanduser(path): engine for path, engine in _STORES}  # noqa: PTH111 (Path's raises)
    return tuple(
        Store(path, engine, holds=_holds(path, engine))
        for path, engine in paths.items()
        if os.path.isdir(path)  # noqa: PTH112 (Path's raises where the folder above is closed)
    )


def _holds(path: str, engine: str) -> bool | None:
    """Whether a store's own list names an image; None where that may not be read."""
    pattern = "image/*/repositories.json" if engine == "docker" else "*-images/images.json"
    if not os.access(path, os.R_OK | os.X_OK):
        return None
    try:
        texts = [file.read_bytes() for file in Path(path).glob(pattern)]
    except OSError:
        return None
    return any(b'"sha256:' in text or b'"id"' in text for text in texts)


def _name(info: dict[str, Any]) -> str | None:
    host = info.get("host")
    name = host.get("hostname") if isinstance(host, dict) else info.get("Name")
    return name if isinstance(name, str) else None


def _discovered(info: dict[str, Any]) -> tuple[str, ...] | None:
    """CDI devices that the daemon found (Docker 28 and later tell them)."""
    devices = info.get("DiscoveredDevices")
    if not isinstance(devices, list):
        return None
    return tuple(str(one.get("ID")) for one in devices if isinstance(one, dict) and one.get("Source") == "cdi")
