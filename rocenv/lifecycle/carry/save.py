"""`rocenv bundle save`: what the locked profiles run on, in one file that is there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocenv.catalog.references import Reference
from rocenv.errors import ImageError, PolicyError, UsageError
from rocenv.lifecycle import lockfile
from rocenv.lifecycle.carry import files, layout
from rocenv.lifecycle.carry.collect import Progress, from_engine, from_registry, must_be_locked
from rocenv.lifecycle.carry.layout import Image
from rocenv.lifecycle.carry.record import Carried, record_bytes
from rocenv.lifecycle.carry.tar import Writer
from rocenv.lifecycle.lock import Site, builds
from rocenv.lifecycle.written import written
from rocenv.model.lock import FILE, Lock, Locked, carried_name
from rocenv.profile.places import SETTINGS

if TYPE_CHECKING:
    from rocenv.model.wish import Profile


class Saved(NamedTuple):
    """What a bundle holds, and its size in bytes."""

    images: tuple[Carried, ...]
    files: tuple[str, ...]
    size: int


def save(site: Site, path: Path, names: Sequence[str], progress: Progress) -> Saved:
    """Write the bundle of these profiles, or of all that are locked.

    Raises PolicyError where they are not locked as they are wished, ImageError where an image is nowhere to be had.
    """
    lock = lockfile.load(site.folder)
    if lock is None or not lock.profiles:
        raise PolicyError(f"there is no `{FILE}` in {site.folder}, and a bundle is what it locks", "`rocenv lock`")
    if path.exists() and not path.is_file():
        raise UsageError(f"`{path}` is no regular file", f"`ls -ld {path}` shows what it is; name another")
    profiles = _profiles(site, lock, names)
    carried: dict[str, bytes] = dict(_files(site, profiles.values()))
    with written(path) as stream:
        writer = Writer(stream)
        for name, data in carried.items():
            writer.add(name, data)
        pairs = [_image(site, lock.profiles[name], one, writer, progress) for name, one in profiles.items()]
        images = list({image.config.digest: image for image, _ in pairs}.values())
        indexes = layout.indexes(images)
        for name, data in indexes.items():
            writer.add(name, data)
        found = tuple(one for _, one in pairs)
        digests = {name: layout.digest_of(data) for name, data in {**carried, **indexes}.items()}
        writer.add(files.RECORD, record_bytes(found, digests))
        writer.close()
        size = stream.tell()
    return Saved(found, tuple(sorted(carried)), size)


def _profiles(site: Site, lock: Lock, names: Sequence[str]) -> Mapping[str, Profile]:
    """The profiles to carry, each as it was locked."""
    from rocenv.lifecycle.lockcheck import own
    from rocenv.lock.compare import changed
    from rocenv.profile import load_profile

    defined = own(site)
    found: dict[str, Profile] = {}
    for name in names or sorted(lock.profiles):
        if name not in lock.profiles:
            raise PolicyError(f"`{FILE}` does not hold `{name}`", f"`rocenv lock {name}` locks it")
        profile = defined.get(name) or load_profile(name, project=site.folder, overrides={})
        lines = changed(lock.profiles[name], profile)
        if lines:
            raise PolicyError(
                f"`{FILE}` was made for another wish of `{name}`: {'; '.join(lines)}", f"`rocenv lock {name}`"
            )
        for key, origin in files.left_behind(profile, lock.profiles[name].wish):
            site.tell(f"{name}: `{key}` comes from {origin}, which is not carried: put it into {SETTINGS}")
        found[name] = profile
    return found


def _files(site: Site, profiles: Iterable[Profile]) -> Iterator[tuple[str, bytes]]:
    """Every file that goes along, by its name in the bundle."""
    yield f"{files.PROJECT}{FILE}", lockfile.raw(site.folder) or b""
    settings = files.settings_file(site.folder)
    if settings is not None:
        yield f"{files.PROJECT}{SETTINGS}", settings
    yield from files.profile_files(profiles)
    yield from files.catalog_files()
    yield from files.probe_files()


def _image(site: Site, locked: Locked, profile: Profile, writer: Writer, progress: Progress) -> tuple[Image, Carried]:
    """One profile's image, into the bundle: what it builds where it builds something, else the locked one."""
    if builds(profile):
        return _built(site, locked, writer)
    image = locked.image
    found: Image | None = None
    told: list[str] = []
    if not site.sources.offline:
        places = dict.fromkeys((Reference.parse(image.reference).name, *_mirrors(locked, profile), *image.places))
        found, told = from_registry(site.sources, image, tuple(places), writer, progress)
    if found is None:
        found = _from_store(site, locked, told, writer)
    must_be_locked(found, image)
    name = carried_name(found.config.digest)
    carried = Carried(locked.profile, image.reference, found.config.digest, name, image.digest)
    return found._replace(name=name), carried


def _mirrors(locked: Locked, profile: Profile) -> tuple[str, ...]:
    from rocenv.lock.compare import mirrored

    return mirrored(locked.image.reference, profile.mirrors)


def _from_store(site: Site, locked: Locked, told: Sequence[str], writer: Writer) -> Image:
    image, engine = locked.image, site.sources.engine
    known = next((one for one in (image.pinned, *image.names) if engine and engine.image(one) is not None), None)
    said = f" ({'; '.join(told)})" if told else ""
    if engine is None or known is None:
        raise ImageError(
            f"the locked image of `{locked.profile}` is not here, and no registry gives it{said}",
            f"`rocenv up {locked.profile}` where there is a network, or `rocenv lock --update {locked.profile}`",
        )
    site.tell(f"{image.reference} is taken from the engine{said}: its layers unpacked")
    return from_engine(engine, known, writer)


def _built(site: Site, locked: Locked, writer: Writer) -> tuple[Image, Carried]:
    engine = site.sources.engine
    reference = locked.build.reference if locked.build else ""
    if engine is None or not reference or engine.image(reference) is None:
        raise ImageError(
            f"what `{locked.profile}` builds is not here: `{reference or 'nothing'}`",
            f"`rocenv up {locked.profile}` builds it",
        )
    site.tell(f"{reference} is taken from the engine: it was built here")
    found = from_engine(engine, reference, writer)
    name = Reference.parse(reference).full
    return found._replace(name=name), Carried(locked.profile, reference, found.config.digest, name)
