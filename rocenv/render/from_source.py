"""The part of a recipe that compiles a HIP or CUDA project: for which targets, with what, and where the result goes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocenv.catalog import distributions
from rocenv.catalog.images import CatalogImage, describe, known
from rocenv.catalog.references import Reference
from rocenv.errors import UsageError
from rocenv.model.recipe import Recipe, Source
from rocenv.render.dockerfile_words import package, plain, shown
from rocenv.render.targets import some_targets

if TYPE_CHECKING:
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile, SourceWish

_FILE = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._/+-]{0,200}")
_PROGRAM = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
_HIPIFY = {"perl": "hipify-perl", "clang": "hipify-clang"}
# Debian 13's hipcc is its clang 17, which its cmake 3.31 does not find by itself.
_COMPILERS = (
    "-DCMAKE_C_COMPILER=clang-17",
    "-DCMAKE_CXX_COMPILER=clang++-17",
    "-DCMAKE_HIP_COMPILER=/usr/bin/clang++-17",
)
_DEBIAN = "debian"  # the template whose packages a project is compiled with on a bare system


def from_source(recipe: Recipe, plan: Plan, profile: Profile) -> Recipe:
    """The recipe with the project in it. Raises UsageError for what cannot be compiled so."""
    wish = profile.build.source
    gfx = some_targets(plan, profile, "to compile")
    if wish.hipify not in (None, *_HIPIFY):
        raise UsageError(f"`build.source.hipify`: {shown(str(wish.hipify))} is unknown", "`perl` or `clang`")
    needed = tuple(package("apt", name, context=False) for name in wish.packages)
    image, rocm = _image(plan.image.reference), None
    compilers: tuple[str, ...] = ()
    if profile.build.os:
        rocm = _debian(distributions.system(profile.build.os))
        needed, compilers = (*_tools(wish), *needed), () if wish.files else _COMPILERS
    elif needed and recipe.manager is None:
        raise UsageError(
            "`build.source.packages`: nothing tells the system of the image", "install them in the image that is named"
        )
    runtime = wish.runtime or _smaller(image, recipe.base)
    source = Source(
        folder=_file("folder", wish.folder or "."),
        files=tuple(_file("files", name) for name in wish.files),
        hipify=wish.hipify,
        program=_program(wish, profile.name),
        options=(*compilers, *(_option(one) for one in wish.options)),
        packages=needed,
        runtime=runtime,
    )
    what = f"{source.folder} compiled for {', '.join(gfx)}, put into {runtime}"
    return recipe._replace(source=source, gfx=gfx, rocm_packages=rocm, what=what)


def _file(key: str, name: str) -> str:
    if not _FILE.fullmatch(name) or ".." in name.split("/"):
        raise UsageError(
            f"`build.source.{key}`: {shown(name)} is no path below the build's folder", "write it like `src/add.hip`"
        )
    return name


def _option(text: str) -> str:
    if "<<" in text:  # of a RUN line BuildKit could take it for the beginning of a document
        raise UsageError(f"`build.source.options`: {shown(text)} holds `<<`", "say it in a file of the project")
    return plain(text)


def _program(wish: SourceWish, profile: str) -> str:
    name = wish.program or profile
    if not _PROGRAM.fullmatch(name):
        raise UsageError(f"`build.source.program`: {shown(name)} is no program's name", "write it like `vector-add`")
    return name


def _debian(bare: distributions.System) -> distributions.Packages:
    """Debian's own runtime. Raises UsageError for another system: there an image that has hipcc is taken."""
    there = [one.key for one in distributions.systems() if distributions.available(one, _DEBIAN)]
    if bare.key not in there:
        raise UsageError(
            f"`build.os`: on a bare {bare.name} no project is compiled, only on {', '.join(there)}",
            "leave `os` out: an image of AMD's with hipcc is taken (`extends: hip`)",
        )
    return distributions.packages(bare, _DEBIAN, None, (), ())


def _tools(wish: SourceWish) -> tuple[str, ...]:
    """What compiling needs of Debian's packages."""
    hipify = (_HIPIFY[wish.hipify],) if wish.hipify else ()
    return ("hipcc", *hipify, *(() if wish.files else ("cmake", "make", "rocm-cmake")))


def _image(base: str) -> CatalogImage | None:
    try:
        return describe(Reference.parse(base))
    except ValueError:
        return None


def _smaller(image: CatalogImage | None, base: str) -> str:
    """The image of the same repository and release without what its larger flavor adds, where one is known."""
    if image is None or image.flavor is None:
        return base
    for other in known(image.family):
        same = other.reference.familiar.partition(":")[0] == image.reference.familiar.partition(":")[0]
        if same and other.flavor is None and other.rocm == image.rocm and not other.moving:
            return other.reference.familiar
    return base
