"""Remove environments, and the cache volumes with them where that is asked for. Own things only, known by label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rocenv.engine import Engine
from rocenv.lifecycle.hidden import forget
from rocenv.model.proof import Environment


@dataclass(frozen=True, slots=True)
class Removed:
    """What `down` removed by name, and the volumes that stay because another container uses them."""

    containers: tuple[str, ...]
    volumes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def down(
    engine: Engine, environments: Sequence[Environment], *, volumes: Sequence[str], tell: Callable[[str], None]
) -> Removed:
    """Remove these containers, then these volumes (of rocenv's own) that no other container uses."""
    for there in environments:
        engine.remove(there.id)
        forget(there.container)
        tell(f"removed {there.container}")
    own = engine.volumes() if volumes else set()
    gone: list[str] = []
    kept: list[str] = []
    for name in volumes:
        if name in own:
            (gone if engine.remove_volume(name) else kept).append(name)
    for name in gone:
        tell(f"removed volume {name}")
    for name in kept:
        tell(f"kept volume {name}: another container uses it")
    return Removed(tuple(there.container for there in environments), tuple(gone), tuple(kept))
