"""An image by its digests: whether the engine has it, under whatever name, and the places that still give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rocenv.errors import EngineError, ImageError, RocenvError

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.engine.pull import PullEvent
    from rocenv.model.plan import ImageChoice


def here(engine: Engine, image: ImageChoice) -> ImageChoice | None:
    """The image with the name that the engine has it by, None where it is not here. A locked one counts by its ids."""
    if engine.image(image.reference) is not None:
        return image._replace(local=None)
    ids = image.ids if image.base is None else ()
    found = next((identity for identity in ids if engine.image(identity) is not None), None)
    return None if found is None else image._replace(local=found)


def pull_locked(
    engine: Engine, image: ImageChoice, *, tell: Callable[[str], None], progress: Callable[[PullEvent], None]
) -> ImageChoice:
    """Pull an image by its digest from the first place that gives it.

    Raises ImageError where none does, EngineError where it is the engine that fails with all of them.
    """
    digest = image.reference.partition("@")[2]
    told: list[str] = []
    kind: type[RocenvError] = EngineError
    for reference in (image.reference, *(f"{place}@{digest}" for place in image.places)):
        if told:
            tell(f"{told[-1]}; trying {reference}")
        try:
            engine.pull(reference, progress)
        except (EngineError, ImageError) as error:
            kind = ImageError if isinstance(error, ImageError) else kind
            told.append(f"{reference.partition('@')[0]}: {error.message}")
            continue
        there = here(engine, image)
        if there is not None:
            tell(f"{digest[:19]}… came from {reference.partition('@')[0]}")
            return there
        kind = ImageError
        told.append(f"{reference.partition('@')[0]}: the engine pulled it, and does not have that digest")
    raise kind(
        f"no place gives the locked image {image.reference}: {'; '.join(told)}",
        "`rocenv bundle load FILE` brings it from a bundle, `rocenv lock --update` locks one that there is",
    )
