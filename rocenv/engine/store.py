"""An engine's store of images: what is in it, under which names and digests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from rocenv import process
from rocenv.engine.client import WORK, Client

if TYPE_CHECKING:
    from rocenv.engine.images import ImageFacts


LOAD = 7200.0  # seconds within which an engine has unpacked what it was given: tens of GB on a slow disk
# Every package and its version, a line each; what an image lacks says nothing.
_INVENTORY = r"""
dpkg-query -W -f 'apt ${Package} ${Version}\n' 2>/dev/null
command -v dpkg-query >/dev/null || rpm -qa --qf 'dnf %{NAME} %{VERSION}-%{RELEASE}\n' 2>/dev/null
python3 -m pip list --format=freeze --disable-pip-version-check 2>/dev/null | sed -n 's/^\(.*\)==\(.*\)$/pip \1 \2/p'
true
"""
_PACKAGE = re.compile(r"(apt|dnf|pip) ([A-Za-z0-9][\w.+-]{0,120}) ([\w.+:~^!-]{1,120})", re.ASCII)


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

    def built(self) -> list[ImageFacts]:
        """The images that rocenv built here, one for each of their names, by their label."""
        from rocenv.engine.images import built_images

        ids = self._ask(["image", "ls", "--quiet", "--no-trunc", "--filter=label=rocenv.image.plan"]).split()
        if not ids:
            return []
        text = self._answer(["image", "inspect", *dict.fromkeys(ids)]).stdout
        with self._read("image inspect"):
            return built_images(text)

    def untag(self, reference: str) -> bool:
        """Take an image's name away, and the image with its last; False where a container still uses it."""
        return self._answer(["image", "rm", reference], WORK).status == 0

    def configuration(self, reference: str) -> dict[str, Any]:
        """The configuration of an image that is here: its machine, and what a container of it runs and as whom."""
        import json

        text = self._ask(["image", "inspect", reference])
        with self._read("image inspect"):
            found = json.loads(text)[0]
            return {"architecture": found.get("Architecture"), "config": found.get("Config")}

    def digests(self, containers: Sequence[str]) -> dict[str, str]:
        """The registry digests of the images that these containers (whole ids) were made from, where they have one."""
        from rocenv.engine.images import image_digests

        if not containers:
            return {}
        # A container or an image may be gone by now (an empty row): the others are answered for all the same.
        rows = self._answer(["inspect", "--format", "{{.Id}} {{.Image}} {{.Config.Image}}", *containers]).stdout
        with self._read("inspect"):
            made = {
                there: (image, reference) for there, image, reference in map(str.split, filter(None, rows.splitlines()))
            }
            images = {image for image, _ in made.values()}
            return image_digests(made, self._answer(["image", "inspect", *images]).stdout)

    def made_of(self, containers: Sequence[str]) -> dict[str, str]:
        """The ids of the images that these containers (whole ids) were made from."""
        if not containers:
            return {}
        rows = self._answer(["inspect", "--format", "{{.Id}} {{.Image}}", *containers]).stdout
        with self._read("inspect"):
            pairs = [(there, image) for there, image in map(str.split, filter(None, rows.splitlines()))]
        return {there: image if ":" in image else f"sha256:{image}" for there, image in pairs}

    def tag(self, image: str, reference: str) -> None:
        """Give an image one more name."""
        self._do(["tag", image, reference])

    @contextmanager
    def saved(self, image: str) -> Iterator[IO[bytes]]:
        """An image as a tar, as the engine's `save` writes it. Raises the engine's error after the last byte."""
        child = self._start(["save", image])
        try:
            if child.stdout is not None:
                yield child.stdout
        except BaseException:
            process.end(child)
            raise
        done = process.finish(child, WORK)
        if done.status != 0:
            raise self._error(done.stderr, image)

    def load(self, pieces: Iterable[bytes]) -> None:
        """Take the images of a tar into the store. Nothing is taken where making a piece fails."""
        done = process.fed([self.program, "load", "--quiet"], pieces, seconds=LOAD)
        if done.status != 0:
            raise self._error(done.stderr)

    def inventory(self, image: str) -> Mapping[str, Mapping[str, str]]:
        """The packages in an image by tool (apt, dnf, pip) and name, read by a short-lived container without a network.

        Raises the engine's error where it cannot be started.
        """
        words = ["run", "--rm", "--pull=never", "--network=none", "--label=rocenv.once=1", "--entrypoint=sh"]
        answer = self._answer([*words, image, "-c", _INVENTORY], WORK)
        if answer.status != 0:
            raise self._error(answer.stderr, image)
        found: dict[str, dict[str, str]] = {}
        for line in answer.stdout.splitlines():
            match = _PACKAGE.fullmatch(line)
            if match is not None:
                tool, name, version = match.groups()
                found.setdefault(tool, {})[name] = version
        return found
