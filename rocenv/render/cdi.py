"""A host's GPUs as a CDI specification, and the systemd units that keep one fresh. Text that others read: no I/O."""

from __future__ import annotations

import shlex
from typing import Any

from rocenv.errors import HostError
from rocenv.model.host import DeviceNode, Host
from rocenv.rules.absent import no_gpu
from rocenv.rules.cdi import KIND, meant, version_of
from rocenv.rules.nodes import KFD, closed, obstacle

UNIT = "rocenv-cdi"


def specification(host: Host, *, additional_gids: bool = False) -> dict[str, Any]:
    """The specification of every GPU that can be used, by index, UUID and BDF; `all` is all of them.

    Device numbers are left to the engine, which looks them up at each start: /dev/kfd's major is another after a
    reboot. Mode and owners are written, for without them an engine makes the nodes 0666 and root's.
    Raises HostError where there is nothing to give.
    """
    if host.environment == "wsl2":
        raise HostError("this is WSL2, whose `/dev/dxg` no CDI specification is made for", "`rocenv up` passes it on")
    names = meant(host)
    if not names:
        why = next((obstacle(gpu, host, rootless=False) for gpu in host.gpus), None)
        raise HostError(f"no GPU here can be used: {why}", "`rocenv doctor` says why") if why else no_gpu(host)
    kfd = host.device(KFD)
    why = f"`{KFD}` is not there" if kfd is None else closed(kfd, host, rootless=False)
    if kfd is None or why is not None:
        raise HostError(f"no container could compute: {why}", "`rocenv doctor` says why")
    nodes = {name: [host.device(gpu.render_node or "") for gpu in gpus] for name, gpus in names.items()}
    common: dict[str, Any] = {"deviceNodes": [_node(kfd)]}
    if additional_gids:
        every = [kfd, *(node for them in nodes.values() for node in them if node)]
        common["additionalGids"] = list(dict.fromkeys(node.gid for node in every if node.gid))
    spec = {
        "cdiVersion": "",
        "kind": KIND,
        "devices": [
            {"name": name, "containerEdits": {"deviceNodes": [_node(node) for node in them if node]}}
            for name, them in nodes.items()
        ],
        "containerEdits": common,
    }
    return {**spec, "cdiVersion": version_of(spec)}


def left_out(host: Host) -> tuple[tuple[str, str], ...]:
    """The GPUs of which nothing is in the specification: which, and why."""
    found = ((gpu.bdf, obstacle(gpu, host, rootless=False)) for gpu in host.gpus)
    return tuple((name, why) for name, why in found if why is not None)


def _node(node: DeviceNode) -> dict[str, Any]:
    """The node as it is on the host. Without `uid` podman would make it its process's own, and Docker root's."""
    owner = {"uid": node.uid, "gid": node.gid}
    return {"path": node.path, "fileMode": node.mode & 0o777, **owner, "permissions": "rw"}


def units(program: str, file: str, *, user: bool) -> dict[str, str]:
    """A systemd path unit that watches the nodes, and the service that makes the specification anew, by file name.

    The folder and not the nodes: one that comes, goes, or is given to another group is a change of the folder.
    """
    target = "default.target" if user else "multi-user.target"
    settle = "" if user else "ExecStartPre=-/usr/bin/udevadm settle\n"
    command = " ".join(_word(word) for word in (program, "cdi", "generate", f"--output={file}"))
    service = (
        "[Unit]\n"
        "Description=CDI specification of this host's AMD GPUs\n"
        "StartLimitIntervalSec=0\n"  # a change of partitions is a dozen of changes
        "\n[Service]\n"
        "Type=oneshot\n"
        f"{settle}ExecStart={command}\n"
        f"\n[Install]\nWantedBy={target}\n"
    )
    path = (
        "[Unit]\n"
        "Description=Watch the device nodes of AMD GPUs for the CDI specification\n"
        "\n[Path]\n"
        "PathChanged=/dev/dri\n"
        "PathChanged=/dev/kfd\n"
        f"Unit={UNIT}.service\n"
        f"\n[Install]\nWantedBy={target}\n"
    )
    return {f"{UNIT}.path": path, f"{UNIT}.service": service}


def _word(text: str) -> str:
    """A word of a command line in a unit: quoted, and with systemd's own `%` and `$` doubled."""
    return shlex.quote(text).replace("%", "%%").replace("$", "$$")
