"""From a plan and a profile to the recipe of an image: which template, which system, which packages, for what GPUs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocenv import __version__
from rocenv.catalog import distributions
from rocenv.catalog.images import describe
from rocenv.catalog.references import Reference
from rocenv.catalog.wheels import TEMPLATE
from rocenv.errors import UsageError
from rocenv.model.recipe import Recipe
from rocenv.render.dockerfile_words import package, plain, shown
from rocenv.render.from_source import from_source
from rocenv.render.scripts import script
from rocenv.render.slim import slim
from rocenv.render.targets import targets
from rocenv.render.wheels import wheels
from rocenv.rules.secrets import is_secret

if TYPE_CHECKING:
    from rocenv.catalog.images import CatalogImage
    from rocenv.model.plan import Plan
    from rocenv.model.wish import BuildWish, Profile

DEFAULT_TEMPLATE = "on-image"
NOBODY = "1000:1000"  # who runs it where nobody says who: any other number does as well
_TARGET = re.compile(r"gfx[0-9a-f]{3,5}")
_GENERIC = re.compile(r"gfx\d{1,2}(-\d)?-generic")  # what only a compiler takes
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Build arguments that BuildKit knows by itself: what is set there would be left in the image.
_PREDEFINED = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"})
_MANAGERS = ("apt", "dnf", "zypper")
_PYTHON = {
    "apt": ("python3", "python3-pip"),
    "dnf": ("python3", "python3-pip"),
    "zypper": ("python311", "python311-pip"),
}
_OF_DEBIAN = "python:"  # Docker's own image of Python, of which no tag in use here is of another system
_OF_YUM = ("CentOS 7", "manylinux 2014")  # systems that are older than dnf


def recipe_of(plan: Plan, profile: Profile) -> Recipe:
    """The recipe for a profile on the image that its plan chose. Raises UsageError for what cannot be built so."""
    wish, base = profile.build, plan.image.reference
    template = wish.template or DEFAULT_TEMPLATE
    known = _known(base)
    packages = _packages(wish)
    bare = distributions.system(wish.os) if wish.os else distributions.system_of(base)
    gfx = targets(plan, profile)
    rocm = _rocm(plan, profile, bare, gfx)
    key, manager = ("debian", "apt") if base.startswith(_OF_DEBIAN) else _manager(bare, known, packages)
    if rocm is not None and packages["pip"]:  # a bare system has no Python that could install any
        packages[rocm.system.manager] = (*_PYTHON[rocm.system.manager], *packages.get(rocm.system.manager, ()))
    python = known.python_path if known and known.python_path else bare.python if bare else "python3"
    recipe = Recipe(
        template=template,
        base=_pinned(base, plan.image.digest),
        system_key=key,
        manager=manager,
        python=python,
        gfx=gfx if rocm else plan.image.gfx or gfx,
        packages=packages,
        args=_arguments(wish.args),
        secrets=tuple(sorted(one.partition("=")[0] for one in wish.secrets)),
        context=wish.context is not None,
        labels={},
        user=None if profile.user in ("image", "root") else NOBODY,
        root=profile.user != "image" or _own_user(known) is not None,
        restored=_own_user(known) if profile.user == "image" else None,
        health=_health(profile),
        rocm_packages=rocm,
        hold_script=hold_script() if packages["pip"] or packages["conda"] else (),
        conda=_conda(python, packages),
    )
    if template == "from-source":
        recipe = from_source(recipe, plan, profile)
    elif template == TEMPLATE:
        recipe = wheels(recipe, plan, profile)
    elif template == "slim":
        recipe = slim(recipe, plan, profile, known)
    release = str(recipe.rocm_packages.rocm) if recipe.rocm_packages else plan.image.rocm
    return recipe._replace(labels=_labels(recipe, profile, release))


def _rocm(
    plan: Plan, profile: Profile, bare: distributions.System | None, gfx: tuple[str, ...]
) -> distributions.Packages | None:
    """The packages of the release that the plan chose, on a bare system; None on an image, which has its ROCm."""
    wish = profile.build
    compiled = wish.template == "from-source"
    wrong = next((one for one in gfx if not (_TARGET.fullmatch(one) or (compiled and _GENERIC.fullmatch(one)))), None)
    if wrong is not None:
        raise UsageError(f"`build.gfx`: {shown(wrong)} is no gfx target", "write it like `gfx942`")
    if wish.template not in distributions.FROM_SYSTEM:
        if wish.components:
            raise UsageError("`build.components`: the image has its ROCm already", "`build: {template: distribution}`")
        return None
    if bare is None:
        keys = ", ".join(one.key for one in distributions.systems())
        what = f"{shown(plan.image.reference)} is no bare system that the catalog knows"
        raise UsageError(what, f"`build: {{os: …}}` with: {keys}")
    release = f"=={plan.image.rocm}" if plan.image.rocm else profile.image.rocm
    return distributions.packages(bare, wish.template, release, wish.components, gfx)


def hold_script() -> tuple[str, ...]:
    """The lines of the script that holds an image's Python packages."""
    return script("hold.py")


def _known(base: str) -> CatalogImage | None:
    """What the catalog knows of the base. Raises UsageError for a text that is no reference."""
    try:
        return describe(Reference.parse(base))
    except ValueError as error:
        what = f"{shown(base)} is no image reference"
        raise UsageError(what, "give one as NAME:TAG or NAME@sha256:DIGEST") from error


def _own_user(known: CatalogImage | None) -> str | None:
    """The base's own user, where that is known and is not root."""
    return known.user if known is not None and known.user != "root" else None


def _pinned(base: str, digest: str | None) -> str:
    """The reference with its digest, where that is known."""
    return f"{base}@{digest}" if digest and "@" not in base else base


def _packages(wish: BuildWish) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {"conda": (), "pip": ()}
    for manager, names in sorted(wish.packages.items()):
        found[manager] = tuple(package(manager, name, context=wish.context is not None) for name in names)
    return found


def _manager(
    bare: distributions.System | None, known: CatalogImage | None, packages: Mapping[str, tuple[str, ...]]
) -> tuple[str, str | None]:
    """The system by a short name, and its package manager. Raises UsageError where that cannot be told."""
    asked = [one for one in _MANAGERS if packages.get(one)]
    key, manager = "image", None
    if bare is not None:
        key, manager = bare.key, bare.manager
    elif known is not None and known.ubuntu:
        key, manager = f"ubuntu-{known.ubuntu}", "apt"
    elif known is not None and known.os:
        key, manager = known.os.lower().replace(" ", "-"), "yum" if known.os in _OF_YUM else "dnf"
    elif known is not None and "apt" in asked:
        manager = "apt"  # the catalog names the system of every image that is neither Ubuntu nor Debian
    elif len(asked) == 1:
        key, manager = asked[0], asked[0]
    elif asked:
        raise UsageError(
            f"`build.packages` has {' and '.join(asked)}, and nothing tells the system of the image",
            "say it: `build: {os: …}`",
        )
    if asked and manager not in asked:
        mend = "no template installs with that: leave them out" if manager == "yum" else f"list them under `{manager}`"
        raise UsageError(f"`build.packages.{asked[0]}`: {key} installs packages with {manager}", mend)
    return key, manager


def _conda(python: str, packages: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    """Conda's program and the environment of the image's Python. Raises UsageError where there is none."""
    if not packages["conda"]:
        return "", ""
    root, sign, rest = python.partition("/envs/")
    if not sign:
        raise UsageError(
            f"`build.packages.conda`: the image's Python ({python}) is not conda's", "list them under `pip`"
        )
    return f"{root}/bin/conda", f"{root}/envs/{rest.partition('/')[0]}"


def _arguments(args: Mapping[str, str]) -> dict[str, str]:
    for name, value in args.items():
        plain(value)
        if not _ARGUMENT.fullmatch(name):
            raise UsageError(
                f"`{name[:60]!a}` is no name of a build argument", "letters, digits and `_`, no digit first"
            )
        if name.upper() in _PREDEFINED:
            raise UsageError(
                f"`build.args`: `{name}` would be left in the image",
                "set it in your environment: it is passed on from there",
            )
        if is_secret(name):
            raise UsageError(
                f"`build.args`: `{name}` looks like a secret, and would be left in the image",
                f"`build: {{secrets: [{name}]}}` and the value in your environment",
            )
    return dict(args)


def _health(profile: Profile) -> str | None:
    """A bash command that asks the server; an environment of rocenv's, whose main process only waits, is well."""
    if profile.build.health is None:
        return None
    if not profile.ports:
        raise UsageError("`build.health`: the profile publishes no port to ask at", "give it `ports`")
    port = profile.ports[0].partition("/")[0].rpartition(":")[2].partition("-")[0]
    ask = f"GET {profile.build.health} HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n"
    return (
        "grep -qz '^sleep$' /proc/1/cmdline || { "
        f"exec 3<>/dev/tcp/127.0.0.1/{port} && printf '{ask}' >&3"
        ' && read -r -t 8 _ status _ <&3 && [ "$status" = 200 ]; }'
    )


def _labels(recipe: Recipe, profile: Profile, release: str | None) -> dict[str, str]:
    """What the image says of itself. rocenv.image.*: rocenv.* alone marks containers that are rocenv's."""
    name, _, digest = recipe.base.partition("@")
    labels = {
        "org.opencontainers.image.title": profile.name,
        "org.opencontainers.image.base.name": Reference.parse(name).full,
        "rocenv.image.base": recipe.base,
        "rocenv.image.gfx": ",".join(recipe.gfx),
        "rocenv.image.profile": profile.name,
        "rocenv.image.template": recipe.template,
        "rocenv.image.version": __version__,
    }
    if recipe.source:
        labels |= {"org.opencontainers.image.base.name": recipe.source.runtime.partition("@")[0]}
        labels |= {"rocenv.image.runtime": recipe.source.runtime}
    elif digest:
        labels["org.opencontainers.image.base.digest"] = digest
    if release:
        labels |= {"org.opencontainers.image.version": release, "rocenv.image.rocm": release}
    return {**labels, "rocenv.image.plan": digest_of(recipe, labels)}


def digest_of(recipe: Recipe, labels: Mapping[str, str]) -> str:
    """A short hash of all that the recipe says; what it leaves at its default (a new field, say) does not count."""
    said = {key: value for key, value in recipe._asdict().items() if value != Recipe._field_defaults.get(key, Recipe)}
    text = json.dumps([said, dict(labels)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
