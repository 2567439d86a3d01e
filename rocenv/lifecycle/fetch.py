"""What a container is made of: its image, brought onto the engine where it is not there yet, and what it mounts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from rocenv.engine import Engine
from rocenv.errors import EngineError, ImageError, UsageError
from rocenv.lifecycle.build import build
from rocenv.lifecycle.digests import here, pull_locked
from rocenv.lifecycle.equals import equal_here
from rocenv.lifecycle.packages import must_be_as_locked

if TYPE_CHECKING:
    from rocenv.engine.pull import PullEvent
    from rocenv.model.plan import Plan
    from rocenv.render.build_argv import Options

DISK_OF_FETCHED = 3  # an image takes about this much of what is fetched: unpacked, and the fetched layers meanwhile


def fetch(
    engine: Engine,
    plan: Plan,
    *,
    tell: Callable[[str], None],
    progress: Callable[[PullEvent], None],
    options: Options | None = None,
) -> Plan:
    """Pull or build the plan's image unless it, or one that serves as well, is there; the plan with what is there.

    With `options`, those of `rocenv build`, an image that is built here is built even where it is there.
    Raises EngineError, before a pull, for one that cannot fit.
    """
    reference = plan.image.reference
    there = here(engine, plan.image) if options is None else None
    if there is not None:
        return plan._replace(image=there)
    equal = equal_here(engine, plan)
    if equal is not plan:
        tell(f"{equal.image.reference} is here already and serves as well as {reference}: it is taken")
        return equal
    if plan.image.base is not None:
        base = plan._replace(image=plan.image._replace(reference=plan.image.base, base=None))
        base = fetch(engine, base, tell=tell, progress=progress)
        build(engine, plan, tell, base=base.image.local, options=options)
        must_be_as_locked(engine, plan)
        return plan
    _must_fit(engine, plan, tell)
    if plan.image.ids:
        return plan._replace(image=pull_locked(engine, plan.image, tell=tell, progress=progress))
    engine.pull(reference, progress)
    if engine.image(reference) is None:
        raise ImageError(f"the engine pulled `{reference}`, and does not have it", "pull it by hand, then try again")
    return plan


def sources_must_be(plan: Plan) -> None:
    """Raise UsageError for a bind mount of what is not there, where the engine mounts from this machine.

    What this user may not look at is left to the engine, which may.
    """
    if plan.engine.remote or plan.engine.desktop:
        return
    for mount in plan.mounts:
        if mount.kind != "bind":
            continue
        try:
            os.stat(mount.source)  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(
                f"`{mount.source}`, to be mounted at `{mount.target}`, does not exist", f"`mkdir -p {mount.source}`"
            ) from None
        except OSError:
            continue


def _must_fit(engine: Engine, plan: Plan, tell: Callable[[str], None]) -> None:
    """Say how much will be pulled, and refuse what is larger than the engine's disk has room for."""
    from rocenv.report.text import size

    fetched = engine.size(plan.image.reference, plan.engine) or 0
    unpacked = plan.image.size_bytes
    needed = fetched + unpacked if unpacked else fetched * DISK_OF_FETCHED
    free = engine.room(plan.engine)
    tell(f"pulling {plan.image.reference}{f' ({size(fetched)} to fetch)' if fetched else ''}")
    if free is not None and needed > free:
        raise EngineError(
            f"`{plan.image.reference}` needs about {size(needed)}, and {plan.engine.data_root} has {size(free)} left",
            "`docker system prune` frees what nobody uses, `docker system df` shows what there is",
        )
