"""`rocenv bundle load`: images into the engine, files into the project; all verified first, nothing half done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocenv.catalog.references import Reference
from rocenv.errors import EngineError, UsageError
from rocenv.lifecycle.carry import files
from rocenv.lifecycle.carry.verify import Opened, opened, unchanged
from rocenv.lifecycle.written import written
from rocenv.resources import user_folder

if TYPE_CHECKING:
    from rocenv.engine import Engine
    from rocenv.lifecycle.carry.record import Carried

Tell = Callable[[str], None]


class Placed(NamedTuple):
    """A file of the bundle's: where it belongs, and whether it was `written`, is there already (`same`), or `kept`."""

    path: str
    action: str


class Loaded(NamedTuple):
    """What a bundle came to: its images, those among them that the engine had already, and its files."""

    images: tuple[Carried, ...]
    had: tuple[str, ...]
    files: tuple[Placed, ...]
    by: str


class _Wanted(NamedTuple):
    path: Path
    data: bytes
    optional: bool = False  # what is there instead is left, and no fault


def load(engine: Engine, path: Path, folder: Path, *, force: bool, tell: Tell) -> Loaded:
    """Load a bundle for the project in `folder`. Files that are there and differ are left, unless `force`.

    Raises UsageError for a bundle that is not sound, for files that would be overwritten, and for those that cannot be
    written, before anything is done.
    """
    tell(f"verifying every byte of {path}")
    with opened(path) as bundle:
        wanted = list(_wanted(bundle, folder))
        placed = [(one, _action(one, force=force)) for one in wanted]
        taken = [str(one.path) for one, action in placed if action == "differs"]
        if taken:
            names = ", ".join(f"`{name}`" for name in taken)
            raise UsageError(
                f"{names} would be overwritten by other contents: nothing was loaded",
                "`--force` overwrites; or load it in another folder",
            )
        for one, action in placed:
            if action == "written":
                _check_writable(one.path)
        had = tuple(one.image for one in bundle.record.images if _there(engine, bundle, one) is not None)
        if len(had) < len(bundle.record.images):
            tell(f"loading {len(bundle.images)} image{'s' if len(bundle.images) > 1 else ''}")
            engine.load(unchanged(bundle))
        for image in bundle.record.images:
            _name(engine, bundle, image)
        for one, action in placed:
            if action == "written":
                _write(one)
        told = tuple(Placed(str(one.path), action) for one, action in placed)
        return Loaded(bundle.record.images, had, told, bundle.record.by)


def _there(engine: Engine, bundle: Opened, carried: Carried) -> str | None:
    """The id by which the engine has an image of the bundle's."""
    image = next(one for one in bundle.images if one.config.digest == carried.image)
    ids = (image.config.digest, image.manifest.digest)
    return next((identity for identity in ids if engine.image(identity) is not None), None)


def _name(engine: Engine, bundle: Opened, carried: Carried) -> None:
    """Make sure that the engine has an image, and give it its own name, where no other image has that."""
    identity = _there(engine, bundle, carried)
    if identity is None:
        raise EngineError(
            f"the engine took the bundle, and does not have {carried.image} of `{carried.reference}`",
            f"`{engine.program} images --digests` shows what it has",
        )
    name = Reference.parse(carried.reference).full  # with its registry: podman does not take docker.io for granted
    if ":" in carried.reference.rpartition("/")[2] and engine.image(name) is None:
        engine.tag(identity, name)


def _wanted(bundle: Opened, folder: Path) -> Iterator[_Wanted]:
    """Where each file of the bundle's belongs. Probes are this rocenv's own: those carried are not laid anywhere."""
    user = user_folder()
    for name, data in sorted(bundle.texts.items()):
        if name.startswith(files.PROJECT):
            yield _Wanted(folder / name.removeprefix(files.PROJECT), data)
        elif name.startswith(files.PROFILES) and user is not None:
            yield _Wanted(user / "profiles" / name.removeprefix(files.PROFILES), data)
        elif name.startswith(files.CATALOG) and user is not None and _newer(name.removeprefix(files.CATALOG), data):
            yield _Wanted(user / "catalog" / name.removeprefix(files.CATALOG), data, optional=True)


def _newer(name: str, data: bytes) -> bool:
    """Whether a table of the catalog is newer than the one in use. Raises UsageError for one that is not sound."""
    from rocenv.catalog import laid
    from rocenv.catalog.table import NAMES, origin

    table = name.removesuffix(".json")
    return table in NAMES and laid.read(table, f"catalog/{name}", data).date > origin(table).date


def _action(one: _Wanted, *, force: bool) -> str:
    try:
        there = one.path.read_bytes() if one.path.is_file() and not one.path.is_symlink() else None
    except OSError:
        there = None
    if there == one.data:
        return "same"
    if not one.path.is_symlink() and not one.path.exists():
        return "written"
    if one.optional:
        return "kept"
    return "written" if force else "differs"


def _check_writable(path: Path) -> None:
    """Raise UsageError where a file cannot be made; found out before images are loaded, which takes minutes."""
    folder = next(one for one in path.parents if one.is_dir())
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise UsageError(f"`{path}` cannot be written: nothing was loaded", f"`ls -ld {folder}`; or load it elsewhere")


def _write(one: _Wanted) -> None:
    try:
        one.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"`{one.path.parent}` cannot be made: {error.strerror}", f"`ls -ld {one.path.parent.parent}`"
        ) from error
    with written(one.path) as stream:
        stream.write(one.data)
