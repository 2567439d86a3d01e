"""Cache volumes: made with labels, and handed to the user who will write to them.

An engine makes a volume root's. Until one belongs to its user, a second, empty volume of the same name with `.new`
behind it stands beside it: whoever finds that marker after a crash does the work once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rocenv.engine import Engine
from rocenv.errors import RocenvError

if TYPE_CHECKING:
    from rocenv.model.plan import Plan

MARK = ".new"
_CACHE = "rocenv-cache-"
_LABELS = ("rocenv.version", "rocenv.owner", "rocenv.project")


def unready(engine: Engine, plan: Plan) -> Mapping[str, str]:
    """The plan's cache volumes that are not there or not handed over yet, each with its place inside.

    A volume that rocenv did not make, whatever its name, is never among them; nor is one that is only read.
    """
    wanted = {
        mount.source: mount.target
        for mount in plan.mounts
        if mount.kind == "volume" and mount.source.startswith(_CACHE) and not mount.read_only
    }
    there = engine.volume_names() if wanted else set()
    marked = {name for name in wanted if name in there and name + MARK in there}
    own = engine.volumes() if marked else set()
    return {
        name: target
        for name, target in wanted.items()
        if name not in there or (name in marked and {name, name + MARK} <= own)
    }


def prepare(engine: Engine, plan: Plan, volumes: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Make these volumes, writable for the container's user. The plan's image is there already."""
    if not volumes:
        return
    labels = {key: plan.labels[key] for key in _LABELS if key in plan.labels}
    for name in volumes:
        engine.make_volume(name + MARK, labels)
        engine.make_volume(name, labels)
    tell(f"made {len(volumes)} cache volume{'s' if len(volumes) > 1 else ''}")
    _hand_over(engine, plan, volumes, tell)
    for name in volumes:
        engine.remove_volume(name + MARK)


def _hand_over(engine: Engine, plan: Plan, volumes: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Give volumes to the container's user, by `chown` in a short-lived container of the same image.

    They are mounted where they will be: what the image holds at that place is copied in first, and handed over too.
    """
    user = plan.user or "0"
    if user.partition(":")[0] in ("0", "root"):
        return
    words = ["--network=none", "--user=0", "--entrypoint=chown", "--label=rocenv.once=1"]
    words += [f"--label={key}={plan.labels[key]}" for key in _LABELS if key in plan.labels]
    words += [f"--mount=type=volume,source={name},target={target}" for name, target in volumes.items()]
    image = plan.image.given
    try:
        engine.once([*words, image, "-R", user, *volumes.values()], image)
    except RocenvError as error:
        tell(f"the caches may be read-only for user {user}: {error.message}")
