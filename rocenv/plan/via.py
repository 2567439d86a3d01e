"""By which way the GPUs come into the container: as device nodes, by CDI, or by AMD's container runtime."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from rocenv.errors import EngineError, HostError, UsageError
from rocenv.model.plan import Reason
from rocenv.plan import wsl
from rocenv.rules import cdi
from rocenv.rules.nodes import label

if TYPE_CHECKING:
    from rocenv.model.health import CdiSpec
    from rocenv.model.host import Gpu, Host
    from rocenv.model.plan import EngineFacts
    from rocenv.plan.access import Access

DEVICES, CDI, RUNTIME = WAYS = ("devices", "cdi", "runtime")
AMD = "amd"  # the name under which `amd-ctk runtime configure` sets its runtime up
RUNTIME_LIST = "AMD_VISIBLE_DEVICES"
_DOCKER, _PODMAN = (25, 0), (4, 1)  # the first that know CDI
_OLD_PODMAN, _KNOWN_TO_IT = (4, 4), "0.5.0"  # podman 4.3 passes newer specifications over without a word
_WITHOUT = "leave `--via` away: rocenv then passes the nodes themselves"


def by(way: str | None, given: Access, host: Host, facts: EngineFacts, specs: Sequence[CdiSpec]) -> Access:
    """The same access by the way asked for; without a word the nodes themselves, which every engine takes.

    Groups and user stay: nodes have their own group and mode inside, whoever puts them there.
    Raises EngineError where the engine has no such way, HostError where no specification serves, UsageError.
    """
    if way is not None and way not in WAYS:
        raise UsageError(f"there is no way `{way}` for GPUs to come in", f"`--via {'`, `'.join(WAYS)}`")
    if not given.devices or given.devices == (wsl.DXG,):
        if way in (CDI, RUNTIME):
            what = "no GPU is given" if not given.devices else "on WSL2 Windows passes its GPUs by `/dev/dxg`"
            raise UsageError(f"{what}, so there is nothing that could come by `--via {way}`", _WITHOUT)
        return given
    if way == CDI:
        return _by_cdi(given, host, facts, specs)
    if way == RUNTIME:
        return _by_runtime(given, host, facts)
    why = "asked for" if way else "the nodes themselves, which every engine takes; `--via cdi` and `runtime` are others"
    return given._replace(reasons=(*given.reasons, Reason("via", DEVICES, why)))


def _by_cdi(given: Access, host: Host, facts: EngineFacts, specs: Sequence[CdiSpec]) -> Access:
    """Each GPU by the CDI device that passes it and no other."""
    _must_know_cdi(facts)
    folders = facts.cdi_folders or cdi.FOLDERS
    passed_over = [spec for spec in specs if _unknown_to(facts, spec)]
    found = cdi.found([spec for spec in specs if spec not in passed_over], folders)
    chosen: dict[str, cdi.Device] = {}
    for gpu in _passed(given, host):
        device = cdi.device_for(gpu, found.devices)
        if device is None:
            _lacking(gpu, facts, found, passed_over, folders)
        old = cdi.stale(device.spec._replace(devices={device.name: device.nodes}), host)
        if old:
            raise HostError(f"`{device.spec.file}` is older than the nodes: {old[0]}", cdi.generating(device.spec.file))
        chosen[device.name] = device
    names = tuple(f"{cdi.KIND}={name}" for name in chosen)
    nodes = tuple(dict.fromkeys(node.path for device in chosen.values() for node in device.nodes))
    files = ", ".join(dict.fromkeys(device.spec.file for device in chosen.values()))
    why = f"asked for; {files} says what each name stands for: {', '.join(nodes)}"
    reasons = tuple(one for one in given.reasons if one.choice != "devices")
    return given._replace(
        via=CDI,
        cdi=names,
        devices=nodes,
        injected=nodes,
        reasons=(Reason("devices", ", ".join(names), why), *reasons, Reason("via", CDI, _knows(facts))),
        warnings=(
            *given.warnings,
            *_assumption(facts, "that it knows CDI, and that CDI is on"),
            *(_brings(device) for device in chosen.values() if device.more),
        ),
    )


def _by_runtime(given: Access, host: Host, facts: EngineFacts) -> Access:
    """All by AMD's runtime, which reads one variable; it adds the card nodes too."""
    if facts.kind != "docker" or facts.rootless:
        which = f"{'rootless ' if facts.rootless else ''}{facts.kind}"
        raise EngineError(f"AMD's container runtime is for rootful Docker alone, and this is {which}", _WITHOUT)
    if not facts.assumed and AMD not in facts.runtimes:
        there = ", ".join(facts.runtimes) or "none that it tells"
        raise EngineError(
            f"docker has no runtime `{AMD}`; it has: {there}",
            "`sudo amd-ctk runtime configure --runtime=docker`, then `sudo systemctl restart docker`",
        )
    gpus = _passed(given, host)
    cards = [gpu.card_node for gpu in gpus if gpu.card_node and host.device(gpu.card_node)]
    nodes = tuple(dict.fromkeys((*given.devices, *cards)))
    value, how = _listed(gpus, host)
    reasons = tuple(one for one in given.reasons if one.choice != "devices")
    why = f"asked for; AMD's runtime puts the nodes in, the cards' too: {', '.join(nodes)}"
    return given._replace(
        via=RUNTIME,
        runtime=AMD,
        devices=nodes,
        injected=nodes,
        env=((RUNTIME_LIST, value),),
        reasons=(
            Reason("devices", f"{RUNTIME_LIST}={value}", f"{why}; {how}"),
            *reasons,
            Reason("via", RUNTIME, "asked for" if facts.assumed else f"asked for; docker lists the runtime `{AMD}`"),
        ),
        warnings=(*given.warnings, *_assumption(facts, f"that it has the runtime `{AMD}`")),
    )


def _passed(given: Access, host: Host) -> list[Gpu]:
    return [gpu for gpu in host.gpus if gpu.render_node in given.devices]


def _listed(gpus: Sequence[Gpu], host: Host) -> tuple[str, str]:
    """The GPUs as AMD's runtime takes them: by UUID, or where one is none's or several's by its own count."""
    ids = [gpu.unique_id for gpu in host.gpus]
    if all(gpu.unique_id and ids.count(gpu.unique_id) == 1 for gpu in gpus):
        return ",".join(f"0x{int(gpu.unique_id or '0', 16):x}" for gpu in gpus), "by UUID"
    numbers = {gpu.index: number for number, gpu in cdi.numbered(host)}
    return ",".join(str(number) for number in sorted(numbers[gpu.index] for gpu in gpus)), "counted by the bus"


def _must_know_cdi(facts: EngineFacts) -> None:
    """Raise EngineError for an engine that takes a CDI device's name for a path."""
    least = _PODMAN if facts.kind == "podman" else _DOCKER
    for part, text in (("client", facts.client_version), ("daemon", facts.server_version)):
        version = _version(text)
        if version is not None and version < least:
            who = f"podman {text}" if facts.kind == "podman" else f"docker's {part} {text}"
            raise EngineError(
                f"{who} knows no CDI (`not an absolute path`): {facts.kind} {least[0]}.{least[1]} was the first",
                f"a newer {facts.kind}; or {_WITHOUT}",
            )
    if facts.cdi_folders == ():
        raise EngineError(
            f"docker {facts.server_version or ''} has CDI switched off".replace("  ", " "),
            '`{"experimental": true, "features": {"cdi": true}}` in /etc/docker/daemon.json (28 and newer have it on), '
            "then `sudo systemctl restart docker`",
        )


def _brings(device: cdi.Device) -> str:
    return f"{device.spec.file} gives more than nodes with {cdi.KIND}={device.name}: {', '.join(device.more)}"


def _lacking(
    gpu: Gpu, facts: EngineFacts, found: cdi.Found, passed_over: Sequence[CdiSpec], folders: Sequence[str]
) -> NoReturn:
    """Raise HostError: no device that the engine can give passes this GPU and no other."""
    what = f"no CDI device that {facts.kind} finds in {' or '.join(folders)} passes GPU {label(gpu)} and no other"
    twice = next(iter(found.conflicts.values()), None)
    if twice:
        raise HostError(
            f"{what}: {' and '.join(twice)} contradict each other", "`rocenv cdi check` tells how to mend it"
        )
    if passed_over:
        one = passed_over[0]
        raise HostError(
            f"{what}: {one.file} is CDI {one.version}, which {facts.kind} {facts.server_version} passes over",
            cdi.generating(one.file),
        )
    raise HostError(what, cdi.generating(f"{folders[0]}/rocenv.json"))


def _unknown_to(facts: EngineFacts, spec: CdiSpec) -> bool:
    version, told = _version(facts.server_version), _version(spec.version)
    if facts.kind != "podman" or version is None or told is None:
        return False
    return version < _OLD_PODMAN and told > (_version(_KNOWN_TO_IT) or ())


def _knows(facts: EngineFacts) -> str:
    """Why the engine takes CDI devices."""
    if facts.assumed:
        return "asked for"
    version = facts.server_version or "of unknown version"
    return f"asked for: {facts.kind} {version} knows CDI" + (" and has it on" if facts.cdi_folders else "")


def _assumption(facts: EngineFacts, what: str) -> tuple[str, ...]:
    return (f"no engine was asked: the plan assumes {what}",) if facts.assumed else ()


def _version(text: str | None) -> tuple[int, ...] | None:
    """`26.1.5+dfsg1` as (26, 1, 5)."""
    match = re.match(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", text or "")
    return tuple(int(part) for part in match.groups() if part) if match else None
