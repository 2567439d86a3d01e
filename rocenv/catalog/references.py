"""Image references, read as Docker reads them: registry, repository, tag, digest."""

from __future__ import annotations

import re
from dataclasses import dataclass

DOCKER_HUB = "docker.io"
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::\d{1,5})?)"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?P<registry>{_DOMAIN})/)?(?P<repository>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>[a-z0-9]+:[0-9a-f]{32,128}))?",
    re.ASCII,
)
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class Reference:
    """One image reference, complete: `rocm/pytorch` is docker.io, rocm/pytorch, tag latest."""

    registry: str
    repository: str
    tag: str | None  # None only beside a digest
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> Reference:
        """The reference that `text` is, with Docker's defaults filled in. Raises ValueError where it is none."""
        match = _REFERENCE.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            msg = f"`{text[:80]}` is no image reference"
            raise ValueError(msg)
        registry, repository, tag, digest = match.group("registry", "repository", "tag", "digest")
        if registry and not ("." in registry or ":" in registry or registry == "localhost"):
            if registry != registry.lower():
                msg = f"`{text}` is no image reference: repository names are lower-case"
                raise ValueError(msg)
            registry, repository = None, f"{registry}/{repository}"
        if registry in (None, "index.docker.io", "registry-1.docker.io"):
            registry = DOCKER_HUB
        if registry == DOCKER_HUB and "/" not in repository:
            repository = f"library/{repository}"
        return cls(registry or DOCKER_HUB, repository, tag if tag or digest else "latest", digest)

    @property
    def name(self) -> str:
        """Registry and repository: what the catalog looks an image up by."""
        return f"{self.registry}/{self.repository}"

    @property
    def full(self) -> str:
        """The reference with nothing left out, as podman wants it."""
        return self.name + self._version

    @property
    def familiar(self) -> str:
        """The reference as Docker shows it: `rocm/pytorch:TAG`."""
        repository = self.repository.removeprefix("library/")
        return (repository if self.registry == DOCKER_HUB else self.name.replace("library/", "")) + self._version

    @property
    def _version(self) -> str:
        return (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")
