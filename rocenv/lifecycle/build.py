"""An image of the user's own: what a profile's `build` adds to the image that was chosen. Same wish, same image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rocenv.model.plan import Plan, Reason

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.model.wish import BuildWish


def built(plan: Plan, wish: BuildWish) -> Plan:
    """The plan with the image that `wish` asks for in the place of the chosen one, which becomes its base.

    The plan as it is where nothing is to be built. Raises UsageError for a template that does not exist.
    """
    packages = {kind: words for kind, words in wish.packages.items() if words}
    if wish.template is None and not packages:
        return plan
    from rocenv.plan.labels import digest
    from rocenv.render.dockerfile import built_reference, render_dockerfile

    base = plan.image.reference
    text = render_dockerfile(wish, base=base, profile=plan.profile, gfx=plan.image.gfx)
    reference = built_reference(plan.profile, text)
    added = "; ".join(f"{kind}: {' '.join(words)}" for kind, words in packages.items()) or "nothing but labels"
    why = f"built here on {base} ({added}); the name holds the Dockerfile's digest, so that it is built once"
    image = plan.image._replace(reference=reference, source="build", digest=None, size_bytes=None, base=base)
    plan = plan._replace(image=image, dockerfile=text, reasons=(Reason("build", reference, why), *plan.reasons))
    return plan._replace(labels={**plan.labels, "rocenv.plan": digest(plan)})


def build(engine: Engine, plan: Plan, tell: Callable[[str], None], *, base: str | None = None) -> None:
    """Build the plan's image; its base must be there. Raises ImageError, with the engine's own words above it.

    `base`: the id of the base where it is here under another name than the Dockerfile's. It is given a name for the
    build, since a Dockerfile cannot name an id; the image is called as the Dockerfile of the plan would have it.
    """
    tell(f"building {plan.image.reference} on {plan.image.base}")
    text = plan.dockerfile or ""
    if base is not None:
        name = f"rocenv/base:{base.partition(':')[2][:16]}"
        engine.tag(base, name)
        text = text.replace(f"FROM {plan.image.base}\n", f"FROM {name}\n", 1)
    engine.build(text, plan.image.reference)
