"""The part of a recipe that cuts the device code of other targets out of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocenv.catalog.machines import running_on
from rocenv.errors import UsageError
from rocenv.model.recipe import Recipe, Slim
from rocenv.render.scripts import script
from rocenv.render.targets import some_targets

if TYPE_CHECKING:
    from rocenv.catalog.images import CatalogImage
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile


def slim(recipe: Recipe, plan: Plan, profile: Profile, known: CatalogImage | None) -> Recipe:
    """The recipe with what is kept. Raises UsageError where the image is known to have no code for a target.

    What the catalog does not know for sure the script sees in the image itself.
    """
    gfx = some_targets(plan, profile, "to keep code")
    missing = [one for one in gfx if known and known.gfx_verified and known.carries(one) is False]
    if known and missing:
        raise UsageError(
            f"`{plan.image.reference}` holds no code for {', '.join(missing)}, as the catalog has it",
            f"it has some for: {', '.join(known.gfx or ())} (`build.gfx`)",
        )
    kept = tuple(f"{one}={','.join(f'{number:x}' for number in running_on(one))}" for one in gfx)
    what = f"without device code for other targets than {', '.join(gfx)}"
    return recipe._replace(slim=Slim(kept, script("slim.py")), gfx=gfx, what=what)
