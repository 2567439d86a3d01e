"""The files that go with the images: lock, settings, the user's own profiles, catalog, probes; no secret in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rocenv.errors import UsageError
from rocenv.profile.places import SETTINGS, places
from rocenv.profile.tree import Leaf, Span, Table, read_yaml
from rocenv.rules.secrets import is_secret

if TYPE_CHECKING:
    from rocenv.model.wish import Profile

ROOT = "rocenv/"
RECORD = f"{ROOT}bundle.json"
PROJECT, PROFILES, CATALOG, PROBES = (f"{ROOT}{name}/" for name in ("project", "profiles", "catalog", "probes"))
LARGEST = 4 << 20


def settings_file(folder: Path) -> bytes | None:
    """The project's rocenv.yaml as it may be carried; None where there is none."""
    try:
        data = (folder / SETTINGS).read_bytes()
    except FileNotFoundError:
        return None
    return without_secrets(data, SETTINGS)


def profile_files(profiles: Iterable[Profile]) -> Iterator[tuple[str, bytes]]:
    """The profiles in the system's and the user's folders that these build on, by the names that they get."""
    used = {origin.rpartition(":")[0] for one in profiles for origin in one.origins.values()}
    found: dict[str, bytes] = {}
    for place in places():
        if place.settings is None:
            continue
        for name in place.names():
            label = f"{place.label}/{name}.yaml"
            if label not in used:
                continue
            if f"{PROFILES}{name}.yaml" in found:
                raise UsageError(
                    f"the profile `{name}` is made of two files, of which a bundle can carry one",
                    f"put what `{label}` says into {SETTINGS}",
                )
            found[f"{PROFILES}{name}.yaml"] = without_secrets((place.profiles / f"{name}.yaml").read_bytes(), label)
    yield from found.items()


def left_behind(profile: Profile, wish: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What a profile wishes of its image by settings of this machine, which a bundle does not carry: key and origin."""
    general = tuple(f"{place.label}/{SETTINGS}" for place in places() if place.settings is not None)
    for key in wish:
        origin = profile.origins.get(key, "")
        if origin.startswith((*general, "ROCENV_")):
            yield key, origin


def catalog_files() -> Iterator[tuple[str, bytes]]:
    """The tables that this rocenv uses, whether they came with it or were laid in later."""
    import json

    from rocenv.catalog.table import NAMES, load

    for name in NAMES:
        yield f"{CATALOG}{name}.json", json.dumps(load(name), ensure_ascii=False, separators=(",", ":")).encode()


def probe_files() -> Iterator[tuple[str, bytes]]:
    """The smoke tests of this rocenv."""
    from rocenv.smoke.header import FOLDER, MARKS

    for path in sorted(FOLDER.iterdir()):
        if path.suffix in MARKS:
            yield f"{PROBES}{path.name}", path.read_bytes()


def without_secrets(data: bytes, name: str) -> bytes:
    """Settings in which variables that hold a secret are passed by name (`HF_TOKEN: $HF_TOKEN`), not by value.

    Raises UsageError where a secret would be left: as a build argument, or elsewhere in the file.
    """
    table = read_yaml(data, name)
    tables = [table, *_inner(table.entries.get("environments"))]
    text = data.decode()
    secrets = [(key, leaf) for one in tables for key, leaf in _secrets(one, name)]
    for key, span in sorted(((key, leaf.span) for key, leaf in secrets), key=_place, reverse=True):
        text = text[: span[0]] + f"${key}" + text[span[1] :]
    for key, leaf in secrets:
        if leaf.text and re.search(rf"(?<!\w){re.escape(leaf.text)}(?!\w)", text):
            raise UsageError(
                f"`{leaf.where}`: the value of `{key}` stands elsewhere in `{name}` too, and a bundle holds no secret",
                f"write `{key}: ${key}` and take the value out of the file",
            )
    read_yaml(text.encode(), name)
    return text.encode()


def _place(found: tuple[str, Span]) -> int:
    return found[1][0]


def _secrets(table: Table, name: str) -> Iterator[tuple[str, Leaf]]:
    """The variables of one profile that hold a secret themselves. Raises UsageError for a build argument that does."""
    for key, leaf in _leaves(table.entries.get("env")):
        if is_secret(key) and leaf.text and not leaf.text.startswith("$"):
            yield key, leaf
    build = table.entries.get("build")
    for key, leaf in _leaves(build.entries.get("args") if isinstance(build, Table) else None):
        if is_secret(key) and leaf.text:
            raise UsageError(
                f"`{leaf.where}`: the build argument `{key}` of `{name}` holds a secret, which would be carried along",
                "take it out: what an image was built with can be read from it",
            )


def _leaves(node: object) -> Iterator[tuple[str, Leaf]]:
    if isinstance(node, Table):
        yield from ((key, one) for key, one in node.entries.items() if isinstance(one, Leaf))


def _inner(node: object) -> list[Table]:
    return [one for one in node.entries.values() if isinstance(one, Table)] if isinstance(node, Table) else []
