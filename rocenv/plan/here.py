"""An image that the engine has already, taken for one that it has not: only where the two serve equally well."""

from __future__ import annotations

from collections.abc import Collection

from rocenv.model.plan import Plan, Reason, Refusal
from rocenv.plan.labels import digest


def settled(plan: Plan, here: Collection[str]) -> Plan:
    """The plan with an image of `here`, where its own is not there and one that is its equal is; else as it is.

    Equals are of one family, ROCm and framework (`plan.choose.equals`): nothing else of the plan changes. Only a choice
    is changed so: what was named, locked or built stays.
    """
    image = plan.image
    other = next((one for one in image.equals if one in here), None)
    if image.source != "catalog" or image.reference in here or other is None:
        return plan
    others = tuple(one for one in image.equals if one != other)
    taken = image._replace(reference=other, equals=(image.reference, *others), size_bytes=None)
    saves = f"it is here already and serves as well as {image.reference}, which would have to be pulled"
    reasons = tuple(
        Reason("image", other, f"{saves}; {one.why}") if one[:2] == ("image", image.reference) else one
        for one in plan.reasons
    )
    refused = (
        Refusal(image.reference, f"serves as well, but {other} is here already"),
        *(one for one in plan.refused if one.reference not in (other, image.reference)),
    )
    plan = plan._replace(image=taken, reasons=reasons, refused=refused)
    return plan._replace(labels={**plan.labels, "rocenv.plan": digest(plan)})
