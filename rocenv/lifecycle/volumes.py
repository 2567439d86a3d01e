"""Cache volumes: made with labels, and handed to the user who will write to them.

An engine makes a volume root's. Until one belongs to its user, a second, empty volume of the same name with `.new`
behind it stands beside it: whoever finds that marker after a crash does the work once more.
"""

from __future__ import annotations

from collections.abc import Callable

from rocenv.engine import Engine, ImageFacts
from rocenv.errors import RocenvError
from rocenv.model.plan import Plan

MARK = ".new"


def prepare(engine: Engine, plan: Plan, image: ImageFacts, tell: Callable[[str], None]) -> None:
    """Make the plan's named volumes that are not there, writable for the container's user."""
    wanted = {mount.source: mount.target for mount in plan.mounts if mount.kind == "volume"}
    if not wanted:
        return
    there = engine.volumes()
    unready = {name: target for name, target in wanted.items() if name not in there or name + MARK in there}
    if not unready:
        return
    owner = {key: plan.labels[key] for key in ("rocenv.version", "rocenv.owner") if key in plan.labels}
    for name in unready:
        engine.make_volume(name + MARK, owner)
        engine.make_volume(name, owner)
    tell(f"made {len(unready)} cache volume{'s' if len(unready) > 1 else ''}: {', '.join(unready)}")
    _hand_over(engine, plan, image, unready, tell)
    for name in unready:
        engine.remove_volume(name + MARK)


def _hand_over(
    engine: Engine, plan: Plan, image: ImageFacts, volumes: dict[str, str], tell: Callable[[str], None]
) -> None:
    """Give volumes to the container's user, by `chown` in a short-lived container of the same image.

    They are mounted where they will be: what the image holds at that place is copied in first, and handed over too.
    """
    user = plan.user or image.user or "0"
    if user.partition(":")[0] in ("0", "root"):
        return
    mounts = [f"--mount=type=volume,source={name},target={target}" for name, target in volumes.items()]
    labels = [
        f"--label={key}={value}" for key, value in plan.labels.items() if key in ("rocenv.version", "rocenv.owner")
    ]
    quiet = ["--network=none", "--user=0", "--label=rocenv.once=1", "--entrypoint=chown"]
    try:
        engine.once(
            [*quiet, *labels, *mounts, plan.image.reference, "-R", user, *volumes.values()], plan.image.reference
        )
    except RocenvError as error:
        tell(f"the caches may be read-only for user {user}: {error.message}")
