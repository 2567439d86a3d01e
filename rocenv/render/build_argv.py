"""How an image is built, as the engine's command line: no value of a secret, a proxy or a mirror stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# The builders: docker's buildx plugin, the BuildKit that clients before 23 have built in, podman, and docker's old one.
BUILDX, BUILT_IN, PODMAN, CLASSIC = "buildx", "built-in", "podman", "classic"
# Build arguments that every builder knows by itself: they are set for the steps and stay in no image.
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")


class Options(NamedTuple):
    """What the command line of `rocenv build` adds: it changes how an image is built, not what is in it."""

    no_cache: bool = False
    cache_from: tuple[str, ...] = ()
    cache_to: tuple[str, ...] = ()
    platform: str | None = None
    push: bool = False
    progress: str | None = None  # plain, in CI
    sbom: bool = False
    provenance: bool = False

    def needs_buildx(self) -> str | None:
        """The first option that the plugin alone knows, as it is typed."""
        named = {"--cache-to": self.cache_to, "--push": self.push, "--sbom": self.sbom, "--provenance": self.provenance}
        return next((name for name, wanted in named.items() if wanted), None)


def build_argv(
    program: str,
    builder: str,
    reference: str,
    context: str,
    options: Options,
    *,
    secrets: Mapping[str, str] | None = None,
    proxies: tuple[str, ...] = (),
) -> list[str]:
    """The command line; the Dockerfile comes by standard input.

    `secrets`: each by its id, with where its value is: `env=NAME` or `src=FILE`. `proxies`: the names of those that
    are set: a builder takes the value from the environment.
    """
    argv = [program, *(["buildx"] if builder == BUILDX else []), "build"]
    argv += ["--push"] if options.push and builder == BUILDX else ["--load"] if builder == BUILDX else []
    argv += ["--force-rm"] if builder == CLASSIC else []
    argv += ["--format=docker"] if builder == PODMAN else []  # OCI's has no place for HEALTHCHECK and SHELL
    argv += ["--no-cache"] if options.no_cache else []
    argv += [f"--cache-from={one}" for one in options.cache_from]
    argv += [f"--cache-to={one}" for one in options.cache_to]
    argv += [f"--platform={options.platform}"] if options.platform else []
    argv += [f"--progress={options.progress}"] if options.progress and builder in (BUILDX, BUILT_IN) else []
    argv += ["--sbom=true"] if options.sbom else []
    argv += ["--provenance=mode=max"] if options.provenance else []
    argv += [f"--secret=id={name},{place}" for name, place in sorted((secrets or {}).items())]
    argv += [f"--build-arg={name}" for name in proxies]
    return [*argv, f"--tag={reference}", "--file=-", context]


def proxies_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The proxies that are set, under both spellings: some programs read the one, some the other."""
    found: dict[str, str] = {}
    for name in PROXIES:
        value = environment.get(name) or environment.get(name.upper())
        if value:
            found |= {name: value, name.upper(): value}
    return found
