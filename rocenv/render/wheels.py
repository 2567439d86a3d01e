"""The part of a recipe that installs AMD's wheels of the wanted targets on a Python image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocenv.catalog import wheels as catalog
from rocenv.catalog.versions import Version
from rocenv.errors import UsageError
from rocenv.model.recipe import Recipe
from rocenv.render.dockerfile_words import shown
from rocenv.render.targets import some_targets

if TYPE_CHECKING:
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile

PYTHON = "/opt/venv/bin/python3"
_KINDS = (catalog.ROCM, catalog.TORCH)


def wheels(recipe: Recipe, plan: Plan, profile: Profile) -> Recipe:
    """The recipe with the wheels of the release that the plan chose. Raises UsageError where there are none."""
    gfx = some_targets(plan, profile, "to install wheels")
    wrong = next((one for one in profile.build.wheels if one not in _KINDS), None)
    if wrong is not None:
        raise UsageError(f"`build.wheels`: there are none of {shown(wrong)}", f"there are: {', '.join(_KINDS)}")
    if plan.image.rocm is None:
        there = ", ".join(map(str, catalog.available()))
        raise UsageError(
            f"there are no wheels of ROCm {shown(str(profile.image.rocm))} by target",
            f"`image: {{rocm: …}}` with: {there}",
        )
    found = catalog.wheels(Version.parse(plan.image.rocm), profile.build.wheels or (catalog.TORCH,), gfx)
    return recipe._replace(wheels=found, gfx=gfx, python=PYTHON, what=f"{' '.join(found.names)} from {found.address}")
