"""All that a check may look at. What was not read is None, and a check that needs it is skipped with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from rocenv.model.health import Asked

if TYPE_CHECKING:
    from rocenv.errors import RocenvError
    from rocenv.model.health import ClusterNode, Document, EngineHealth, Health, ImageView, Smoke
    from rocenv.model.host import Host
    from rocenv.model.plan import EngineFacts, Plan


class MissingFactError(Exception):
    """A fact that a check needs was not read; the message says why."""


class Facts(NamedTuple):
    """Facts by where they come from. `env` are the caller's variables that ROCm reads, `log` an error text."""

    host: Host | None = None
    health: Health | None = None
    engine: EngineFacts | None = None
    engine_health: EngineHealth | None = None
    image: ImageView | None = None
    asked: Asked = Asked()
    env: Mapping[str, str] | None = None
    packages: Mapping[str, str] | None = None  # Python distributions, by name
    documents: tuple[Document, ...] = ()
    smoke: Smoke | None = None
    cluster: tuple[ClusterNode, ...] | None = None
    log: str | None = None
    plan: Plan | None = None
    plan_error: RocenvError | None = None
    missing: Mapping[str, str] = MappingProxyType({})  # field → why it was not read

    def need_host(self) -> Host:
        """The host; raises MissingFactError."""
        return self.host or self._absent("host", "no host was read")

    def need_health(self) -> Health:
        """More of the host; raises MissingFactError."""
        return self.health or self._absent("health", "the host was not looked at closely")

    def need_engine(self) -> EngineFacts:
        """What the engine says of itself; raises MissingFactError where none answered."""
        found = self.engine
        if found is None or found.assumed:
            return self._absent("engine", "no engine was asked")
        return found

    def need_engine_health(self) -> EngineHealth:
        """More of the engine; raises MissingFactError."""
        return self.engine_health or self._absent("engine_health", "no engine was asked")

    def need_image(self) -> ImageView:
        """The image in question; raises MissingFactError."""
        return self.image or self._absent("image", "no image was named (`--image`, or a profile)")

    def need_env(self) -> Mapping[str, str]:
        """The caller's variables; raises MissingFactError."""
        return self._absent("env", "no environment variables were read") if self.env is None else self.env

    def need_packages(self) -> Mapping[str, str]:
        """Python distributions; raises MissingFactError."""
        found = self.packages
        return self._absent("packages", "no Python environment was named (`--venv`)") if found is None else found

    def texts(self, kind: str) -> tuple[Document, ...]:
        """The documents of a kind (compose, dockerfile, argv); raises MissingFactError where there are none."""
        found = tuple(one for one in self.documents if one.kind == kind)
        return found or self._absent(kind, f"no {kind} was named (`--{kind}`)")

    def _absent(self, name: str, why: str) -> NoReturn:
        raise MissingFactError(self.missing.get(name, why))
