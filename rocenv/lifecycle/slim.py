"""What a slim image needs of the engine: what its base says beside its files, and how much smaller it became."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rocenv.errors import ImageError
from rocenv.model.recipe import Config

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.engine.images import ImageFacts
    from rocenv.model.plan import Plan
    from rocenv.model.recipe import Recipe

BEFORE, AFTER = "rocenv.image.size.before", "rocenv.image.size.after"
_LONGEST = 2000  # of a label: a longer one is left out


def completed(engine: Engine, recipe: Recipe, base: str) -> Recipe:
    """The recipe with what the base says of itself, which is on the engine now."""
    found = engine.image(base)
    if recipe.slim is None:
        return recipe
    if found is None:
        raise ImageError(f"the engine does not have `{base}`", f"`{engine.program} pull {base}`")
    return recipe._replace(slim=recipe.slim._replace(config=config_of(found)))


def config_of(image: ImageFacts) -> Config:
    """What an image says. Of its labels those that can be written on one line, and none of rocenv's own images."""
    pairs = (one.partition("=") for one in image.env)
    return Config(
        env=tuple((name, value) for name, _, value in pairs if name),
        entrypoint=image.entrypoint,
        command=image.command,
        user=image.user,
        labels=tuple(
            (name, value)
            for name, value in sorted(image.labels.items())
            if value.isprintable() and len(value) <= _LONGEST and not name.startswith("rocenv.image.")
        ),
    )


def sized(engine: Engine, plan: Plan, base: str, tell: Callable[[str], None]) -> None:
    """Tell what fell, and write it into labels of the image: no step of a build can know it."""
    from rocenv.report.text import size

    before, after = (found.size if (found := engine.image(one)) else None for one in (base, plan.image.reference))
    if before is None or after is None:
        return
    tell(f"{plan.image.base}: {size(before)}; {plan.image.reference}: {size(after)}")
    text = f'FROM {plan.image.reference}\nLABEL {BEFORE}="{before}" {AFTER}="{after}"\n'
    engine.build(text, plan.image.reference)
