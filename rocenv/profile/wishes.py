"""Settings made a Profile: defaults filled in, texts given their meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocenv.errors import UsageError
from rocenv.model.wish import BuildWish, ImageWish, PolicyWish, Profile, SmokeWish, SourceWish
from rocenv.profile.layers import Path, Setting, dotted

_PYTHON = "3.12"  # the one that AMD's wheels were longest made for
SOURCE = "from-source"  # the template that compiles what lies in the project
DEFAULTS: Mapping[str, str] = {"gpus": "auto", "visible": "rocr", "user": "caller", "smoke.level": "kernel"}


def make_profile(name: str, settings: Mapping[Path, Setting]) -> Profile:
    """The Profile that settings describe. Raises UsageError where they name no image."""
    read = _Settings(settings)
    reference = read.text("image.reference") or _system_image(read)
    if not read.text("image.family") and not reference:
        raise UsageError(f"the profile `{name}` names no image", "give it `image: {family: rocm/pytorch}`")
    return Profile(
        name=read.text("name") or name,
        summary=read.text("summary") or "",
        image=ImageWish(
            family=read.text("image.family"),
            reference=reference,
            rocm=read.text("image.rocm"),
            python=read.text("image.python"),
            ubuntu=read.text("image.ubuntu"),
            framework=read.table("image.framework"),
        ),
        build=BuildWish(
            template=read.text("build.template"),
            packages={
                tool: texts
                for tool in ("apt", "dnf", "zypper", "conda", "pip")
                if (texts := read.texts(f"build.packages.{tool}"))
            },
            args=read.table("build.args"),
            secrets=read.texts("build.secrets"),
            os=read.text("build.os"),
            components=tuple(dict.fromkeys(read.texts("build.components"))),
            gfx=tuple(dict.fromkeys(read.texts("build.gfx"))),
            context=read.text("build.context") or ("." if read.text("build.template") == SOURCE else None),
            health=read.text("build.health"),
            mirrors=read.table("build.mirrors"),
            wheels=tuple(dict.fromkeys(read.texts("build.wheels"))),
            source=SourceWish(
                folder=read.text("build.source.folder"),
                files=read.texts("build.source.files"),
                program=read.text("build.source.program"),
                hipify=read.text("build.source.hipify"),
                options=read.texts("build.source.options"),
                packages=read.texts("build.source.packages"),
                runtime=read.text("build.source.runtime"),
            ),
        ),
        gpus=read.text("gpus") or "",
        visible=read.text("visible") or "",
        env=read.table("env"),
        mounts=read.texts("mounts"),
        caches=read.texts("caches"),
        ports=read.texts("ports"),
        user=read.text("user") or "",
        shm_size=read.text("shm_size"),
        loosen=tuple(dict.fromkeys(read.texts("loosen"))),
        smoke=SmokeWish(read.text("smoke.level") or "", read.texts("smoke.probes")),
        strict=read.flag("strict"),
        origins={
            **dict.fromkeys(DEFAULTS, "default"),
            **{dotted(path): setting.origin for path, setting in sorted(settings.items())},
        },
        policy=PolicyWish(
            registries=read.texts("policy.registries") if read.has("policy.registries") else None,
            loosen=read.texts("policy.loosen") if read.has("policy.loosen") else None,
            digests=read.flag("policy.digests"),
        ),
        mirrors={key: tuple(value) for key, value in read.lists("mirrors").items()},
    )


def _system_image(read: _Settings) -> str | None:
    """The image of a bare system, where the template starts from one and the profile names the system."""
    from rocenv.catalog.distributions import FROM_SYSTEM, system
    from rocenv.catalog.wheels import TEMPLATE

    key, template = read.text("build.os"), read.text("build.template")
    if template == TEMPLATE:
        python = re.search(r"\d\.\d+", read.text("image.python") or "")
        return f"python:{python[0] if python else _PYTHON}-slim"
    if key is None or template not in (*FROM_SYSTEM, SOURCE):
        return None
    return system(key).image


class _Settings:
    """Typed access to settings whose types the key table has checked."""

    def __init__(self, settings: Mapping[Path, Setting]) -> None:
        self._values = {dotted(path): setting.value for path, setting in settings.items()}
        self._paths = {path: setting.value for path, setting in settings.items()}

    def has(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str) -> str | None:
        value = self._values.get(key, DEFAULTS.get(key))
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._values.get(key)
        return value if isinstance(value, tuple) else ()

    def flag(self, key: str) -> bool:
        return self._values.get(key) is True

    def table(self, key: str) -> dict[str, str]:
        return {name: value for name, value in self._below(key) if isinstance(value, str)}

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        return {name: value for name, value in self._below(key) if isinstance(value, tuple)}

    def _below(self, key: str) -> list[tuple[str, object]]:
        parent = tuple(key.split("."))
        return [(path[-1], value) for path, value in self._paths.items() if path[:-1] == parent]
