"""User namespaces of rootless engines: which number a host's group has inside, and the maps that keep its number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from rocenv.errors import EngineError
from rocenv.model.host import Caller
from rocenv.model.plan import EngineFacts
from rocenv.rules.namespaces import give, inside

_SUBORDINATE = 65536  # ids that a user is commonly given in /etc/subuid and /etc/subgid
Row = tuple[int, int, int]


class Groups(NamedTuple):
    """Host groups by number as they are inside a namespace; `assumed` where no engine was asked for its map."""

    inside: Mapping[int, int]
    assumed: bool


def translated(gids: Collection[int], caller: Caller, engine: EngineFacts) -> Groups:
    """The number that each host gid has inside. Raises EngineError where one has none: it cannot be given then."""
    rows = engine.gid_map or (_assumed(gids, caller, engine.kind) if engine.assumed else ())
    numbers = {gid: found for gid in gids if (found := inside(gid, rows)) is not None}
    missing = [gid for gid in gids if gid not in numbers]
    if missing:
        gid = missing[0]
        raise EngineError(
            f"rootless {engine.kind} has no number for the host's group {gid}, which owns the GPU's nodes: "
            f"/etc/subgid gives uid {caller.uid} no such gid",
            give([gid], engine.kind),
        )
    return Groups(numbers, assumed=not engine.gid_map)


def maps(caller: Caller, groups: Groups, *, as_caller: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The --uidmap and --gidmap of podman by which the host's group numbers hold inside.

    With `as_caller` the caller's own ids hold too. Counted in ids of the user's namespace, where 0 is the caller.
    """
    own_uid = {caller.uid: 0} if as_caller else {}
    own_gid = {caller.gid: 0} if as_caller else {}
    total = _SUBORDINATE + 1
    uids = filled(own_uid, total)
    gids = filled({**own_gid, **groups.inside}, max(total, *(number + 1 for number in groups.inside.values()), 0))
    return tuple(_words(uids)), tuple(_words(gids))


def filled(fixed: Mapping[int, int], total: int) -> list[Row]:
    """Rows (inside, outer, count) that map `total` outer ids one to one: the fixed pairs, and the rest in order."""
    rows: list[Row] = [(inside, outer, 1) for inside, outer in fixed.items()]
    outers = set(fixed.values())
    left = total - len(fixed)
    inside = outer = 0
    while left > 0:
        while inside in fixed:
            inside += 1
        while outer in outers:
            outer += 1
        count = min(
            [left, *(one - inside for one in fixed if one > inside), *(one - outer for one in outers if one > outer)]
        )
        rows.append((inside, outer, count))
        inside, outer, left = inside + count, outer + count, left - count
    return sorted(rows)


def _words(rows: Iterable[Row]) -> Iterable[str]:
    return (f"{inside}:{outer}:{count}" for inside, outer, count in rows)


def _assumed(gids: Collection[int], caller: Caller, engine: str) -> tuple[Row, ...]:
    """The map of a user with one common range, and a line in /etc/subgid for each of these groups.

    podman counts the ranges in the order of the host's numbers (seen with 4.3), Docker in the order of the file.
    """
    ranges = [(100_000, _SUBORDINATE), *((gid, 1) for gid in gids if gid != caller.gid)]
    rows: list[Row] = [(0, caller.gid, 1)]
    for first, count in sorted(ranges) if engine == "podman" else ranges:
        rows.append((rows[-1][0] + rows[-1][2], first, count))
    return tuple(rows)
