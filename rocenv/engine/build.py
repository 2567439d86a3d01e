"""Building of images by the engine's own command line, with BuildKit wherever there is one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rocenv import process
from rocenv.engine.store import Store
from rocenv.errors import EngineError, ImageError, UsageError
from rocenv.model.recipe import Building
from rocenv.render.build_argv import BUILDX, BUILT_IN, CLASSIC, PODMAN, Options, build_argv, proxies_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocenv.model.plan import Plan

_FIRST_WITHOUT, _FIRST_WITH = (23,), (18, 9)  # docker clients: from when on BuildKit is a plugin, and is built in
_FIRST_CHECK = (0, 15)  # buildx: from when on it knows `--check`
_FROM = re.compile(r"^FROM (?!scratch$)\S+", re.MULTILINE)
# A daemon whose BuildKit is too old for it, or that cannot be reached.
_CANNOT_CHECK = re.compile(
    r"not supported|unsupported|unknown flag|[Cc]annot connect|permission denied|resolve source metadata"
)
_PLAIN, _AS_IT_IS = Building(), Options()
_INSTALL_BUILDX = "`apt-get install docker-buildx` (from Docker's own repository: docker-buildx-plugin)"


class Builder(Store):
    """The part of an engine that builds images."""

    def build(self, dockerfile: str, reference: str, building: Building = _PLAIN, options: Options = _AS_IT_IS) -> None:
        """Build an image from the text of a Dockerfile; what the builder says goes to stderr. Raises ImageError."""
        with self._prepared(dockerfile, building, options) as (builder, context, secrets):
            proxies = proxies_of(os.environ)
            argv = build_argv(
                self.program, builder, reference, context, options, secrets=secrets, proxies=tuple(proxies)
            )
            env = {**proxies, **({"DOCKER_BUILDKIT": "1"} if builder == BUILT_IN else {})}
            if process.attached(argv, data=dockerfile.encode(), env=env) == 0:
                return
        raise ImageError(
            f"building `{reference}` failed; what `{self.program} build` said stands above",
            "mend `build` in the profile, `rocenv profiles show PROFILE --origin` tells where it comes from",
        )

    def check(self, dockerfile: str) -> str | None:
        """What BuildKit's own check says of a Dockerfile: the empty text for nothing, None where there is no such.

        It would ask a registry for the base, which may be one that is still to be pulled: an empty one stands for it.
        """
        import tempfile

        version = self._buildx()
        if version is None or version < _FIRST_CHECK:
            return None
        with tempfile.TemporaryDirectory(prefix="rocenv-check-") as empty:
            words = [self.program, "buildx", "build", "--check", "--file=-", empty]
            try:
                done = process.run(words, seconds=60, data=_FROM.sub("FROM scratch", dockerfile).encode())
            except process.GivenUpError:
                return None
        said = (done.stdout + done.stderr).strip()
        if done.status != 0 and _CANNOT_CHECK.search(said):
            return None
        return "" if done.status == 0 else said

    def builder(self) -> str:
        """Which builder there is: buildx, the one built into docker's older clients, podman's, or the classic one."""
        if self.kind == "podman":
            return PODMAN
        if self._buildx() is not None:
            return BUILDX
        said = self._ask(["--version"])  # which needs no daemon: `Docker version 20.10.24+dfsg1, build 297e128`
        client = _numbers(said.partition("version ")[2].partition(",")[0])
        return BUILT_IN if _FIRST_WITH <= client < _FIRST_WITHOUT else CLASSIC

    def _buildx(self) -> tuple[int, ...] | None:
        if self.kind == "podman":
            return None
        answer = self._answer(["buildx", "version"])
        word = next((word for word in answer.stdout.split() if word.lstrip("v")[:1].isdecimal()), "")
        return _numbers(word) if answer.status == 0 and word else None

    @contextmanager
    def _prepared(
        self, dockerfile: str, building: Building, options: Options
    ) -> Iterator[tuple[str, str, Mapping[str, str]]]:
        """The builder, the folder to copy from, and where the secrets are; what was written for it is removed."""
        import tempfile

        builder = self.builder()
        self.must_serve(builder, dockerfile, options)
        with tempfile.TemporaryDirectory(prefix="rocenv-build-") as folder:
            empty, private = Path(folder, "context"), Path(folder, "private")
            empty.mkdir()
            private.mkdir(mode=0o700)
            secrets = {**_secrets(building.secrets), **_mirrors(building.mirrors, private)}
            yield builder, building.context or str(empty), secrets if "--mount=type=secret" in dockerfile else {}

    def must_serve(self, builder: str, dockerfile: str, options: Options) -> None:
        """Raise EngineError where what is asked for needs another builder."""
        wanted = options.needs_buildx()
        if wanted is not None and builder != BUILDX:
            raise EngineError(f"`{wanted}` needs docker's buildx plugin, which is not there", _INSTALL_BUILDX)
        if builder == CLASSIC and "RUN --mount=" in dockerfile:
            raise EngineError(
                "the image's Dockerfile needs BuildKit, and this docker client has none (its buildx plugin is missing)",
                _INSTALL_BUILDX,
            )


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.strip().lstrip("v").split("+")[0].split("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def _secrets(wanted: tuple[str, ...]) -> dict[str, str]:
    """Where the value of each secret is. Raises UsageError for one that is not there; no value is read here."""
    found: dict[str, str] = {}
    for one in wanted:
        name, sign, file = one.partition("=")
        path = os.path.expanduser(file)  # noqa: PTH111
        if sign and "," in path:
            raise UsageError(f"the secret `{name}`: a comma in `{path}` is read by no builder", "move that file")
        if sign and not os.access(path, os.R_OK):
            raise UsageError(f"the secret `{name}`: `{path}` cannot be read", f"`ls -l {path}`, or name another file")
        if not sign and name not in os.environ:
            raise UsageError(f"the secret `{name}` is not set in your environment", f"`export {name}=…`")
        found[name] = f"src={path}" if sign else f"env={name}"
    return found


def _mirrors(wanted: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Settings of package managers for the build alone, as files that the steps see as secrets."""
    texts: dict[str, Callable[[str], dict[str, str]]] = {
        "pip": lambda url: {
            "rocenv-pip": f"[global]\nindex-url = {url}\n",
            "rocenv-uv": f'[[index]]\nurl = "{url}"\ndefault = true\n',
        },
        "apt": lambda url: {"rocenv-apt": f'Acquire::http::Proxy "{url}";\nAcquire::https::Proxy "DIRECT";\n'},
    }
    found: dict[str, str] = {}
    for kind, url in wanted.items():
        if not url.isprintable() or '"' in url or "://" not in url:
            raise UsageError(f"`build.mirrors.{kind}`: `{url[:60]}` is no address", "write it like https://HOST/PATH")
        for name, text in texts[kind](url).items():
            file = folder / name
            file.write_text(text)
            found[name] = f"src={file}"
    return found


def command_line(
    engine: Builder, plan: Plan, options: Options, warn: Callable[[str], None], reference: str
) -> list[str]:
    """The command line that would build, with names in the place of all that lies on this machine alone."""
    builder = engine.builder() if shutil.which(engine.program) else BUILDX
    try:
        engine.must_serve(builder, plan.dockerfile or "", options)
    except EngineError as error:
        warn(f"{error.message} ({error.hint})")
    wanted = plan.building or Building()
    secrets = {one.partition("=")[0]: f"src={one.partition('=')[2]}" for one in wanted.secrets if "=" in one}
    secrets |= {one: f"env={one}" for one in wanted.secrets if "=" not in one}
    for kind, names in {"pip": ("rocenv-pip", "rocenv-uv"), "apt": ("rocenv-apt",)}.items():
        secrets |= {name: "src=FILE" for name in names if kind in wanted.mirrors}
    proxies = tuple(proxies_of(os.environ))
    context = wanted.context or "EMPTY-FOLDER"
    return build_argv(engine.program, builder, reference, context, options, secrets=secrets, proxies=proxies)
