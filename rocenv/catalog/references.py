"""Image references, read as Docker reads them: registry, repository, tag, digest."""

from __future__ import annotations

import re
from dataclasses import dataclass

DOCKER_HUB = "docker.io"
# The grammar is that of the engines' own parser (github.com/distribution/reference, regexp.go and normalize.go).
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"(?:(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\])(?::\d{{1,5}})?)"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_TAG = r"\w[\w.-]{0,127}"
_DIGEST = r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}"
_REFERENCE = re.compile(
    rf"(?:(?P<registry>{_DOMAIN})/)?(?P<repository>{_PART}(?:/{_PART})*)"
    rf"(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
)
_SIGNS = re.compile(r"[^\w.:/@\[\]-]", re.ASCII)
_LONGEST, _LONGEST_NAME, _LAST_PORT = 512, 255, 65535


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
            raise _no_reference(text, _why(text))
        registry, repository, tag, digest = match.group("registry", "repository", "tag", "digest")
        if registry and not ("." in registry or ":" in registry or registry == "localhost"):
            if registry != registry.lower():
                raise _no_reference(text, _LOWER)
            registry, repository = None, f"{registry}/{repository}"
        if registry in (None, "index.docker.io", "registry-1.docker.io"):
            registry = DOCKER_HUB
        if registry == DOCKER_HUB and re.fullmatch(r"[0-9a-f]{64}", repository):
            raise _no_reference(text, "64 hexadecimal digits are an image's id; a digest is written `NAME@sha256:…`")
        if len(repository) > _LONGEST_NAME:
            raise _no_reference(text, f"a repository's name has {_LONGEST_NAME} characters at most")
        port = re.search(r":(\d+)$", registry or "")
        if port is not None and int(port[1]) > _LAST_PORT:
            raise _no_reference(text, f"there is no port {port[1]}")
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


_LOWER = "repository names are lower-case"


def _no_reference(text: str, why: str) -> ValueError:
    return ValueError(f"`{text[:80]}` is no image reference: {why}")


def _why(text: str) -> str:
    """The first rule that a text breaks."""
    name, at, digest = text.partition("@")
    head, colon, tag = name.rpartition(":")
    tagged = bool(colon) and "/" not in tag
    sign = _SIGNS.search(text)
    rules = (
        (not text, "it is empty"),
        (len(text) > _LONGEST, f"it has more than {_LONGEST} characters"),
        ("://" in text, "an address has no scheme here: leave out what stands before `//`"),
        (sign is not None, f"the character {sign[0] if sign else ''!r} cannot stand in one"),
        (text.startswith(("/", ".", "-")) or ".." in text or "//" in text, "it is written like a path or an option"),
        (at and not re.fullmatch(_DIGEST, digest), "a digest is `sha256:` and 64 small hexadecimal digits"),
        (tagged and not re.fullmatch(_TAG, tag, re.ASCII), "a tag has 1 to 128 letters, digits, `_`, `.` and `-`"),
        ((head if tagged else name).lower() != (head if tagged else name), _LOWER),
    )
    general = "a repository's name is of small letters and digits, with single `.`, `_` or `-` in between"
    return next((why for broken, why in rules if broken), general)
