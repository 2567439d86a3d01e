"""An image that is here in the place of one that would have to be pulled, where the two serve equally well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocenv.lifecycle.decided import DECIDED, labelled

if TYPE_CHECKING:
    from collections.abc import Collection

    from rocenv.engine import Engine
    from rocenv.model.plan import Plan
    from rocenv.model.proof import Environment


def equal_here(engine: Engine, plan: Plan) -> Plan:
    """The plan, whose own image is not here, with an equal one that the engine has; as it is where there is none."""
    if not plan.image.equals or plan.image.base is not None:
        return plan
    return _settled(plan, engine.images_here(plan.image.equals))


def as_there(plan: Plan, there: Environment) -> Plan:
    """The plan with the image of the environment that is there, where that is an equal of its own."""
    if there.reference not in plan.image.equals or plan.image.base is not None:
        return plan
    return _settled(plan, {there.reference})


def _settled(plan: Plan, here: Collection[str]) -> Plan:
    from rocenv.plan.here import settled

    found = settled(plan, here)
    return labelled(found) if found is not plan and DECIDED in plan.labels else found
