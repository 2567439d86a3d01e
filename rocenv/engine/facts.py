"""What an engine says of itself, read from `docker info` and `podman info`. Pure functions on their texts."""

from __future__ import annotations

import json
from typing import Any

from rocenv.errors import EngineError
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts
from rocenv.rules import engines as rules

LOCAL_SCHEMES = ("unix://", "fd://")


class NoAnswerError(Exception):
    """The engine did not answer; `said` is what its client wrote about that."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def docker_facts(text: str, said: str, endpoint: str) -> EngineFacts:
    """The facts in the answer of `docker info --format '{{json .}}'`; `said` is what it wrote on stderr.

    Docker 20.10 puts its failure into the answer (`ServerErrors`) and ends with 0; later ones write it on stderr.
    Raises NoAnswerError.
    """
    info = _mapping(text, said)
    if "host" in info and "store" in info:  # podman under docker's name
        return podman_facts(text, said)
    errors = info.get("ServerErrors")
    if errors:
        raise NoAnswerError("\n".join(map(str, errors)))
    if not info.get("ServerVersion"):
        raise NoAnswerError(said)
    client = info.get("ClientInfo") or {}
    security = tuple(_security(str(option)) for option in info.get("SecurityOptions") or ())
    system = _word(info.get("OperatingSystem"))
    return EngineFacts(
        kind="docker",
        rootless="rootless" in security,
        client_version=_word(client.get("Version")),
        server_version=_word(info.get("ServerVersion")),
        endpoint=endpoint,
        operating_system=system,
        kernel=_word(info.get("KernelVersion")),
        machine=_word(info.get("Architecture")),
        runtime=_word(info.get("DefaultRuntime")),
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        security=security,
        data_root=_word(info.get("DockerRootDir")),
        desktop=system == "Docker Desktop" or client.get("Context") == "desktop-linux",
        remote=not endpoint.startswith(LOCAL_SCHEMES),
        cdi_folders=None if "CDISpecDirs" not in info else tuple(map(str, info["CDISpecDirs"] or ())),
    )


def podman_facts(text: str, said: str) -> EngineFacts:
    """The facts in the answer of `podman info --format json`. Raises NoAnswerError."""
    info = _mapping(text, said)
    host = info.get("host")
    if not isinstance(host, dict):
        raise NoAnswerError(said)
    security = host.get("security") or {}
    version = info.get("version") or {}
    runtime = host.get("ociRuntime") or {}
    named = (
        ("seccomp", "seccompEnabled"),
        ("selinux", "selinuxEnabled"),
        ("apparmor", "apparmorEnabled"),
        ("rootless", "rootless"),
    )
    distribution = host.get("distribution") or {}
    return EngineFacts(
        kind="podman",
        rootless=bool(security.get("rootless")),
        client_version=_word(version.get("Version")),
        server_version=_word(version.get("Version")),
        endpoint=_word((host.get("remoteSocket") or {}).get("path")),
        operating_system=_word(f"{distribution.get('distribution', '')} {distribution.get('version', '')}".strip()),
        kernel=_word(host.get("kernel")),
        machine={"amd64": "x86_64", "arm64": "aarch64"}.get(str(host.get("arch")), _word(host.get("arch"))),
        runtime=_runtime(runtime),
        runtimes=tuple(filter(None, (_runtime(runtime),))),
        security=tuple(name for name, key in named if security.get(key)),
        data_root=_word((info.get("store") or {}).get("graphRoot")),
        desktop=False,
        remote=bool(host.get("serviceIsRemote")),
        gid_map=tuple(
            (row["container_id"], row["host_id"], row["size"])
            for row in (host.get("idMappings") or {}).get("gidmap") or ()
        ),
    )


def other_kernel(facts: EngineFacts, host: Host) -> EngineError | None:
    """The error that holds where the engine's containers run on another kernel than this host's GPUs, or None.

    A local socket may lead into a virtual machine (colima, Rancher Desktop, `podman machine`): what was read here is
    not true there.
    """
    said = rules.other_kernel(facts, host) if host.live else None
    return None if said is None else EngineError(said, rules.BACK)


def _mapping(text: str, said: str) -> dict[str, Any]:
    """An engine's JSON answer as a mapping; its words on stderr are the reason where there is none."""
    try:
        info = json.loads(text)
    except ValueError:
        raise NoAnswerError(said) from None
    if not isinstance(info, dict):
        raise NoAnswerError(said)
    return info


def _security(option: str) -> str:
    """`seccomp` of `name=seccomp,profile=default`."""
    return option.removeprefix("name=").partition(",")[0]


def _runtime(told: dict[str, Any]) -> str | None:
    """The name of podman's OCI runtime: settings may name it by its path, or a script before it; its version tells."""
    said = str(told.get("version") or "").split()[:1]
    name = _word(told.get("name"))
    return said[0] if said and said[0] in ("crun", "runc") else name.rpartition("/")[2] if name else None


def _word(value: object) -> str | None:
    """Text that is there, or None."""
    return value if isinstance(value, str) and value else None
