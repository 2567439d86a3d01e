"""Where a host has drifted from what a container was made with: GPUs that are gone, or have another node now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocenv.errors import RocenvError
from rocenv.model.host import Gpu, Host
from rocenv.model.proof import Environment
from rocenv.report.environments import gpus


def host_of(found: Sequence[Environment]) -> Host | None:
    """The host, read only where an environment holds GPUs; None where that is of no use or not possible."""
    if not any(gpus(there) for there in found):
        return None
    from rocenv.host import read_host

    try:
        return read_host()
    except RocenvError:
        return None


def drift(there: Environment, host: Host | None) -> list[str]:
    """One line for each GPU of a container that the host has no more, or under another render node."""
    if host is None:
        return []
    lines = [_line(recorded, _same(recorded, host)) for recorded in gpus(there)]
    return [line for line in lines if line]


def _same(recorded: Mapping[str, Any], host: Host) -> Gpu | None:
    """The GPU of the host that a container's label means: the same PCI function and partition."""
    wanted = (recorded["bdf"], recorded["partition"] or 0)
    return next((gpu for gpu in host.gpus if (gpu.bdf, gpu.partition.index) == wanted), None)


def _line(recorded: Mapping[str, Any], now: Gpu | None) -> str:
    name = recorded["bdf"] if not recorded["partition"] else f"{recorded['bdf']}/{recorded['partition']}"
    if now is None:
        return f"GPU {name} is gone"
    if recorded["render_node"] != now.render_node:
        return f"GPU {name} is {now.render_node} now, and was {recorded['render_node']}"
    return ""
