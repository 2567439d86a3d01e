"""An image of the user's own: what a profile's `build` adds to the image that was chosen. Same wish, same image."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rocenv.model.plan import Plan, Reason
from rocenv.resources import SYSTEM, data_folder, user_folder

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.model.recipe import Recipe
    from rocenv.model.wish import BuildWish, Profile
    from rocenv.render.build_argv import Options


def built(plan: Plan, profile: Profile, project: str, *, text: bool = True) -> Plan:
    """The plan with the image that a profile wants built in the place of the chosen one, which becomes its base.

    The plan as it is where nothing is to be built. `project`: the folder that templates and files may come from.
    Without `text` the Dockerfile is written when it is needed: the image's name is known before.
    Raises UsageError for a template that does not exist, and for what cannot be built so.
    """
    wish = profile.build
    if not wish.wanted:
        return plan
    from rocenv.lifecycle import context
    from rocenv.model.recipe import Building
    from rocenv.plan.labels import digest
    from rocenv.render.dockerfile import built_reference, render_dockerfile
    from rocenv.render.recipe import recipe_of

    recipe = recipe_of(plan, profile)
    templates = template_folders(project)
    dockerfile = render_dockerfile(recipe, templates) if text else None
    folder = None if wish.context is None else context.folder_of(wish.context, project)
    copied = "" if folder is None else context.digest(folder)
    if recipe.source is not None and folder is not None:
        context.must_hold(folder, recipe.source)
    reference = built_reference(recipe, plan.profile, template_digest(templates), copied)
    image = plan.image._replace(
        reference=reference, source="build", digest=None, size_bytes=None, base=plan.image.reference, equals=()
    )
    if recipe.rocm_packages is not None:
        image = image._replace(rocm=str(recipe.rocm_packages.rocm), gfx=recipe.gfx)
    elif recipe.slim is not None or recipe.wheels is not None:
        image = image._replace(gfx=recipe.gfx)
    plan = plan._replace(
        image=image,
        dockerfile=dockerfile,
        building=Building(None if folder is None else str(folder), wish.secrets, wish.mirrors, recipe, templates),
        reasons=(Reason("build", reference, _why(recipe, wish)), *plan.reasons),
        warnings=(*plan.warnings, *_unread(recipe)),
    )
    return plan._replace(labels={**plan.labels, "rocenv.plan": digest(plan)})


def _why(recipe: Recipe, wish: BuildWish) -> str:
    added = [f"{kind}: {' '.join(words)}" for kind, words in wish.packages.items() if words]
    if recipe.rocm_packages is not None:
        added.insert(0, f"ROCm {recipe.rocm_packages.rocm}: {' '.join(recipe.rocm_packages.names)}")
    if recipe.what:
        added.insert(0, recipe.what)
    what = "; ".join(added) or "no packages"
    return f"built here on {recipe.base} ({what}); its name holds a digest of all that, so that it is built once"


def _unread(recipe: Recipe) -> tuple[str, ...]:
    """A warning where the table of packages rests on what nobody has read."""
    rocm = recipe.rocm_packages
    if recipe.wheels is not None and not recipe.wheels.verified:
        return (f"where AMD's wheels of ROCm {recipe.wheels.rocm} lie was read in no source of AMD's",)
    if rocm is None or rocm.verified:
        return ()
    what = f"ROCm {rocm.rocm} for {rocm.system.name}"
    return (f"where the packages of {what} lie, or how they are called, was read in no source of AMD's",)


def template_folders(project: str) -> tuple[str, ...]:
    """The folders with templates of the user's own that are there: the project's, the user's, the system's."""
    user = user_folder()
    found = (Path(project) / "dockerfiles", *([] if user is None else [user / "dockerfiles"]), SYSTEM / "dockerfiles")
    return tuple(str(folder) for folder in found if folder.is_dir())


def template_digest(folders: tuple[str, ...]) -> str:
    """A digest of all templates that there are, rocenv's own and the user's, each by its name."""
    found = hashlib.sha256()
    for folder in [*(Path(one) for one in folders), data_folder("dockerfiles")]:
        for file in sorted(folder.glob("**/*.j2")):
            with suppress(OSError):  # one that cannot be read is missed where it is used
                found.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()


def written(plan: Plan) -> str:
    """The plan's Dockerfile. Raises UsageError where a template is broken."""
    building = plan.building
    if plan.dockerfile is not None or building is None or building.recipe is None:
        return plan.dockerfile or ""
    from rocenv.render.dockerfile import render_dockerfile

    return render_dockerfile(building.recipe, building.templates)


def build(
    engine: Engine,
    plan: Plan,
    tell: Callable[[str], None],
    *,
    base: str | None = None,
    options: Options | None = None,
) -> None:
    """Build the plan's image; its base must be there. Raises ImageError, with the engine's own words above it.

    `base`: the id of the base where it is here under another name than the Dockerfile's. It is given a name for the
    build, since a Dockerfile cannot name an id; the image is called as the Dockerfile of the plan would have it.
    `options` are those of `rocenv build`; without them an image that another process has built meanwhile is taken.
    """
    from rocenv.lifecycle import slim
    from rocenv.model.recipe import Building
    from rocenv.render.build_argv import Options

    recipe = plan.building.recipe if plan.building else None
    with _alone(plan.image.reference, tell):
        if options is None and engine.image(plan.image.reference) is not None:
            return
        there = base or plan.image.base or ""
        if recipe is not None and recipe.slim is not None and plan.building is not None:
            building = plan.building._replace(recipe=slim.completed(engine, recipe, there))
            text = written(plan._replace(dockerfile=None, building=building))
        else:
            text = written(plan)
        tell(f"building {plan.image.reference} on {plan.image.base}")
        if base is not None:
            name = f"rocenv/base:{base.partition(':')[2][:16]}"
            engine.tag(base, name)
            text = _from(text, name)
        engine.build(text, plan.image.reference, plan.building or Building(), options or Options())
        if recipe is not None and recipe.slim is not None and not (options and options.push):
            slim.sized(engine, plan, there, tell)


def _from(text: str, name: str) -> str:
    """The Dockerfile with another name of its base in each FROM that names it: that base is the first one's."""
    lines = text.split("\n")
    base = next((line.split()[1] for line in lines if line.startswith("FROM ")), None)
    for at, line in enumerate(lines):
        if line.startswith("FROM ") and line.split()[1] == base:
            lines[at] = " ".join(("FROM", name, *line.split()[2:]))
    return "\n".join(lines)


@contextmanager
def _alone(reference: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Inside, no other process of this user builds the same image: the kernel's lock on a file ends with its holder.

    Where no such file can be made, builds run side by side, and BuildKit does each of their steps once.
    """
    import fcntl

    base = os.environ.get("XDG_STATE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".local" / "state") / "rocenv" / "builds"
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder / reference.rpartition(":")[2], os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except (OSError, RuntimeError):  # RuntimeError: this user has no home folder
        yield
        return
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"{reference} is being built by another process: waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
