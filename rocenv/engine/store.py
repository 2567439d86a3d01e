"""An engine's store of images: what is in it, under which names and digests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocenv.engine.client import Client

if TYPE_CHECKING:
    from rocenv.engine.images import ImageFacts


class Store(Client):
    """The part of an engine that keeps images."""

    def image(self, reference: str) -> ImageFacts | None:
        """The image of that reference on this engine, or None where it is not here."""
        answer = self._answer(["image", "inspect", reference])
        if answer.status == 0:
            from rocenv.engine.images import image_facts

            with self._read("image inspect"):
                return image_facts(reference, answer.stdout)
        if "no such image" in answer.stderr.lower() and "invalid reference" not in answer.stderr:
            return None
        if "image not known" in answer.stderr:
            return None
        raise self._error(answer.stderr, reference)

    def digests(self, containers: Sequence[str]) -> dict[str, str]:
        """The registry digests of the images that these containers (whole ids) were made from, where they have one."""
        from rocenv.engine.images import image_digests

        if not containers:
            return {}
        # A container or an image may be gone by now: what there is of the others is answered all the same.
        rows = self._answer(["inspect", "--format", "{{.Id}} {{.Image}} {{.Config.Image}}", *containers]).stdout
        with self._read("inspect"):
            made = {there: (image, reference) for there, image, reference in map(str.split, rows.splitlines())}
            images = {image for image, _ in made.values()}
            return image_digests(made, self._answer(["image", "inspect", *images]).stdout)

    def made_of(self, containers: Sequence[str]) -> dict[str, str]:
        """The ids of the images that these containers (whole ids) were made from."""
        if not containers:
            return {}
        rows = self._answer(["inspect", "--format", "{{.Id}} {{.Image}}", *containers]).stdout
        with self._read("inspect"):
            pairs = [(there, image) for there, image in map(str.split, rows.splitlines())]
        return {there: image if ":" in image else f"sha256:{image}" for there, image in pairs}

    def tag(self, image: str, reference: str) -> None:
        """Give an image one more name."""
        self._do(["tag", image, reference])
