"""The gfx targets that an image is built for: those that the profile names, else those of the planned GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocenv.errors import UsageError

if TYPE_CHECKING:
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile


def targets(plan: Plan, profile: Profile) -> tuple[str, ...]:
    """Each target once, in the GPUs' order; nothing where there is no GPU and the profile names none."""
    return profile.build.gfx or tuple(dict.fromkeys(gpu.gfx for gpu in plan.gpus if gpu.gfx))


def some_targets(plan: Plan, profile: Profile, what: str) -> tuple[str, ...]:
    """The targets of an image that is made for some. Raises UsageError where there is none; `what` is done for them."""
    found = targets(plan, profile)
    if not found:
        raise UsageError(
            f"nothing tells for which GPUs {what}: there is none here, and the profile names no target",
            "`--gfx gfx942` (or `build: {gfx: [gfx942]}`), or `--host CAPTURE` for another host's",
        )
    return found
