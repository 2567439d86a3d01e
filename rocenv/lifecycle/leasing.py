"""A lease of the GPUs that a profile wishes: taken before anything is planned, and planned with what was free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rocenv.errors import HostError, PolicyError, UsageError
from rocenv.lifecycle import lease
from rocenv.lifecycle.holders import Holder, end
from rocenv.report.environments import gpus

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.lifecycle.lease import Lease
    from rocenv.model.host import Gpu, Host
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile

LABEL = "rocenv.lease"
Tell = Callable[[str], None]


class Row(NamedTuple):
    """A GPU with who has leased it."""

    gpu: Gpu
    holders: tuple[Holder, ...]


def key(gpu: Gpu) -> str:
    """What a GPU is called among leases: a whole one, and each part of one that is cut."""
    return lease.key(gpu.bdf, gpu.partition.index)


def leased_profile(engine: Engine, wished: Profile, *, mode: str, wait: float, tell: Tell) -> tuple[Profile, Lease]:
    """The profile with the very GPUs that were leased for it, and the lease.

    `count=N` and `idle=N` take those that are free; other words wait for each GPU that they mean.
    """
    from rocenv.host import read_host, with_idle
    from rocenv.plan.select import candidates

    host = with_idle(read_host(), wished.gpus)
    found, count = candidates(wished.gpus, host, rootless=False)
    if not found:
        raise UsageError("`--lease` leases GPUs, and none is asked for", "leave `--lease` away, or name GPUs")
    keys = [key(gpu) for gpu in found]
    while True:
        got = lease.acquire(keys, count, mode=mode, wait=wait, tell=tell)
        lost = _lost(engine, got.keys)
        if not lost:
            engine.close()  # what it was asked before may have been answered long ago
            words = ",".join("/".join(one.rsplit("-", 1)) for one in got.keys)
            tell(f"leased ({mode}): {words}")
            return wished._replace(gpus=words), got
        got.end()
        for one, container in lost.items():
            tell(f"GPU {one} is left out: `{container}` runs on it without its lease; `rocenv prune` removes it")
        keys = [one for one in keys if one not in lost]
        if len(keys) < count:
            raise HostError(
                f"{', '.join(f'`{name}`' for name in sorted(set(lost.values())))} still runs on a GPU, though the "
                "`rocenv run` that leased it has ended",
                "`rocenv prune` removes it",
            )


def labelled(plan: Plan, mode: str) -> Plan:
    """The plan of a leased container."""
    return plan._replace(labels={**plan.labels, LABEL: mode})


def rows(host: Host) -> list[Row]:
    """Every GPU of a host, with who has leased it."""
    held = lease.leased()
    return [Row(gpu, tuple(held.get(key(gpu), ()))) for gpu in host.gpus]


def release(found: Sequence[Row], uid: int, tell: Tell) -> list[Row]:
    """End the runs of this user that hold these leases. Raises PolicyError for a lease of another user's."""
    other = next((holder for row in found for holder in row.holders if holder.uid != uid), None)
    if other is not None:
        raise PolicyError(
            f"that lease is held by process {other.pid} of user {other.uid if other.uid is not None else '?'}; it is "
            "left alone",
            "`rocenv lease list` shows who holds what",
        )
    base = lease.opened(lease.folder())
    gone = [row for row in found if [holder for holder in row.holders if end(base, key(row.gpu), holder.pid)]]
    for row in gone:
        tell(f"GPU {row.gpu.index}: its holder was asked to end")
    return gone


def _lost(engine: Engine, keys: Sequence[str]) -> dict[str, str]:
    """Of these GPUs, whose locks are ours now, those on which a leased container still runs: its holder is gone."""
    found: dict[str, str] = {}
    for there in engine.find():
        if there.state == "running" and there.labels.get(LABEL) == lease.EXCLUSIVE:
            for gpu in gpus(there):
                name = lease.key(str(gpu["bdf"]), gpu["partition"] or 0)
                if name in keys:
                    found[name] = there.container
    return found
