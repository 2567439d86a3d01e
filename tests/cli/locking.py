"""A project of a test's own whose image lies in a repository of its own in the registry, and in a mirror of it."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bed.place import IMAGES

if TYPE_CHECKING:
    from conftest import TestBed

REGISTRY = "127.0.0.1:5000"
STORE = IMAGES / "docker/registry/v2/repositories"


@dataclass
class Site:
    """A project whose profile names an image of a repository of its own, which has a mirror."""

    bed: TestBed
    repository: str

    @property
    def image(self) -> str:
        return f"{REGISTRY}/{self.repository}:1"

    @property
    def lock(self) -> Path:
        return self.bed.project / "rocenv.lock"

    def push(self, words: str, *, mirrored: bool = False) -> str:
        """Put an image that says these words under the tag, and perhaps into the mirror; its id."""
        made = self.bed.docker("create", f"--label=words={words}", "rocenv/small:1", "true").stdout.strip()
        identity = self.bed.docker(
            "commit", f"--change=LABEL words={words} site={self.repository}", made
        ).stdout.strip()
        self.bed.docker("rm", made)
        for name in (self.image, *([f"{REGISTRY}/mirror/{self.repository}:1"] if mirrored else [])):
            assert self.bed.docker("tag", identity, name).returncode == 0
            pushed = self.bed.docker("push", name)
            assert pushed.returncode == 0, pushed.stderr
        return identity

    def forget(self) -> None:
        """Take every copy off the engine, and what was built on it, with the containers that use them."""
        self.bed.rocenv("down")
        for _ in range(3):  # what was built on an image goes before that image can
            found = self.bed.docker("images", "-q", f"--filter=label=site={self.repository}").stdout.split()
            if found:
                self.bed.docker("rmi", "-f", *dict.fromkeys(found))

    def drop(self, what: str, *, repository: str | None = None) -> None:
        """Take a tag (`tags/1`) or all digests (`revisions`) out of the registry's store."""
        shutil.rmtree(STORE / (repository or self.repository) / "_manifests" / what)

    def well(self, *words: str, code: int = 0) -> str:
        done = self.bed.rocenv(*words)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if "--json" in words else done.stdout + done.stderr

    def checks(self, *words: str, code: int = 0) -> dict[str, dict[str, Any]]:
        """What `lock --check` says, by what was looked at."""
        answer = json.loads(self.well("lock", "--check", "--json", *words, code=code))
        assert answer["status"] == ("drifted" if code else "ok")
        return {row["what"]: row for row in answer["checks"]}

    def runs(self) -> str:
        """The id of the image that the environment's container was made from."""
        return self.bed.docker(
            "inspect", "--format", "{{.Image}}", f"rocenv-{self.bed.project.name}-hip"
        ).stdout.strip()

    def elsewhere(self, name: str) -> Site:
        """Another folder, empty, as if on another machine: what the registry gave is to be had no more."""
        self.forget()
        self.vanish()
        folder = self.bed.project.with_name(f"{self.bed.project.name}{name}")
        folder.mkdir()
        shutil.chown(folder, *self.bed.project.stat()[4:6])
        return Site(replace(self.bed, project=folder), self.repository)

    def vanish(self) -> None:
        """Take both repositories out of the registry."""
        for repository in (self.repository, f"mirror/{self.repository}"):
            shutil.rmtree(STORE / repository, ignore_errors=True)


@contextmanager
def a_site(bed: TestBed) -> Iterator[Site]:
    """A project that names its image and the mirror; everything of it is removed afterwards."""
    name = f"lock{uuid.uuid4().hex[:8]}"
    here = Site(replace(bed, project=bed.project.rename(bed.project.with_name(name))), name)
    (here.bed.project / "rocenv.yaml").write_text(
        f"extends: hip\nimage: {{reference: '{here.image}'}}\nmirrors: {{'{REGISTRY}': ['{REGISTRY}/mirror']}}\n"
    )
    yield here
    here.bed.rocenv("down", "--volumes")
    here.forget()
    here.vanish()
