"""The packages that a build came to: what an image has beyond its base, and whether that is what was locked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocenv.errors import PolicyError
from rocenv.model.lock import FILE

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.model.plan import Plan

_SHOWN = 6
Packages = Mapping[str, Mapping[str, str]]  # apt, dnf, pip → name → version


def added(engine: Engine, reference: str, bases: Sequence[str]) -> Packages | None:
    """The packages that a built image has beyond its base, or in another version; None where either is not here.

    `bases` are the names that the base may have on this engine.
    """
    below = next((one for one in bases if engine.image(one) is not None), None)
    if below is None or engine.image(reference) is None:
        return None
    before, after = engine.inventory(below), engine.inventory(reference)
    new = {
        tool: {name: version for name, version in names.items() if before.get(tool, {}).get(name) != version}
        for tool, names in after.items()
    }
    return {tool: names for tool, names in new.items() if names}


def must_be_as_locked(engine: Engine, plan: Plan) -> None:
    """Raise PolicyError where a built image has other versions of packages than its plan demands (`--frozen`)."""
    wanted = plan.image.packages
    if not wanted:
        return
    there = engine.inventory(plan.image.reference)
    odd = [
        f"{tool} {name}: {version} → {there.get(tool, {}).get(name) or 'none'}"
        for tool, names in sorted(wanted.items())
        for name, version in sorted(names.items())
        if there.get(tool, {}).get(name) != version
    ]
    if odd:
        more = f" and {len(odd) - _SHOWN} more" if len(odd) > _SHOWN else ""
        raise PolicyError(
            f"`{plan.image.reference}` was built with other packages than `{FILE}` tells: "
            f"{'; '.join(odd[:_SHOWN])}{more}",
            f"`rocenv bundle load` brings the image that was locked; `rocenv lock --update {plan.profile}` locks this",
        )
