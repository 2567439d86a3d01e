"""What is known of images before they are pulled: by family, and by what a tag itself says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from rocenv.catalog import gpus, releases
from rocenv.catalog.references import DOCKER_HUB, Reference
from rocenv.catalog.table import load
from rocenv.catalog.versions import Constraint, Version

# Groups of a grammar that are no framework.
_PLAIN = frozenset({"rocm", "rocm_digits", "ubuntu", "ubuntu_major", "python", "flavor", "target", "release", "build"})


@dataclass(frozen=True, slots=True)
class Family:
    """Images of one kind: how their tags are written and what all of them share."""

    name: str
    summary: str
    registry: str
    repositories: Mapping[str, Mapping[str, str]]
    community: bool
    compiler: bool  # holds hipcc: code for any target can be built in it
    instead_of: str | None  # the family that this one stands in for, on GPUs that the other does not serve
    prefer: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CatalogImage:
    """One image as far as the catalog and its tag tell; unknown is None."""

    family: str
    reference: Reference
    rocm: Version | None
    ubuntu: str | None
    python: str | None
    frameworks: Mapping[str, str]
    flavor: str | None
    gfx: tuple[str, ...] | None
    gfx_verified: bool
    gfx_source: str | None
    compiler: bool
    user: str | None
    python_path: str | None
    entrypoint: str | None
    moving: bool  # the tag is made to be moved: what it is today it may not be tomorrow
    listed: bool = False  # the catalog names this very tag
    doubtful: bool = False
    size_bytes: int | None = None
    quirks: tuple[str, ...] = field(default=())

    def carries(self, gfx: str) -> bool | None:
        """Whether code for a target is in the image, also through its generic target; None where that is unknown."""
        if self.gfx is None:
            return None
        return gpus.covered(gfx, self.gfx)


def families() -> tuple[Family, ...]:
    """Every family of the catalog, in the catalog's order."""
    return tuple(_family(name) for name in load("images")["families"])


def family(name: str) -> Family | None:
    """A family by its name (`rocm/pytorch`), or None."""
    return _family(name) if name in load("images")["families"] else None


@cache
def known(name: str) -> tuple[CatalogImage, ...]:
    """The images of a family that the catalog names, with what is known of each."""
    table = load("images")["families"][name]
    return tuple(_listed(name, entry if isinstance(entry, dict) else {"tag": entry}) for entry in table["tags"])


def describe(reference: Reference) -> CatalogImage | None:
    """What is known of any reference: its family, and what the family's grammar reads in its tag.

    None where no family has that repository, or no grammar of the family fits the tag (a CUDA build, say).
    """
    for name, table in load("images")["families"].items():
        registry = table.get("registry", DOCKER_HUB)
        if reference.registry != registry or reference.repository not in table["repositories"]:
            continue
        same = (image for image in known(name) if image.reference.repository == reference.repository)
        image = next((image for image in same if image.reference.tag == reference.tag), None)
        return image or _image(name, reference)
    return None


def instead_of(name: str, gfx: str) -> Iterator[CatalogImage]:
    """Images of other families that stand in for a family on a target which that one does not serve."""
    for other in families():
        if other.instead_of == name:
            yield from (image for image in known(other.name) if image.carries(gfx))


@cache
def _family(name: str) -> Family:
    table = load("images")["families"][name]
    return Family(
        name=name,
        summary=table["summary"],
        registry=table.get("registry", DOCKER_HUB),
        repositories=table["repositories"],
        community=table.get("community", False),
        compiler=table.get("compiler", False),
        instead_of=table.get("instead_of"),
        prefer=table.get("prefer", {}),
    )


def _listed(name: str, entry: Mapping[str, Any]) -> CatalogImage:
    """An image that the catalog names; its facts come from its tag, its entry adds to them."""
    one = _family(name)
    repository = entry.get("repository") or next(iter(one.repositories))
    image = _image(name, Reference(one.registry, repository, entry["tag"], None), entry)
    if image is None:
        msg = f"the catalog's tag `{entry['tag']}` of `{name}` fits no grammar of that family"
        raise ValueError(msg)
    return image


def _image(name: str, reference: Reference, entry: Mapping[str, Any] | None = None) -> CatalogImage | None:
    table = load("images")["families"][name]
    moving = reference.tag in table.get("moving", ())
    facts = {} if moving or reference.tag is None else _parsed(table["grammars"], reference.tag)
    if facts is None:
        return None
    facts = {**table["repositories"][reference.repository], **facts}
    rocm = Version.parse(facts["rocm"]) if "rocm" in facts else None
    gfx, verified, source = _targets(table, facts, rocm)
    entry = entry or {}
    return CatalogImage(
        family=name,
        reference=reference,
        rocm=rocm,
        ubuntu=facts.get("ubuntu"),
        python=facts.get("python"),
        frameworks={key: value for key, value in facts.items() if key not in _PLAIN},
        flavor=facts.get("flavor"),
        gfx=gfx,
        gfx_verified=verified,
        gfx_source=source,
        compiler=table.get("compiler", False),
        user=table.get("user"),
        python_path=_python_path(table, facts),
        entrypoint=table.get("entrypoint"),
        moving=moving,
        listed=bool(entry),
        doubtful=entry.get("doubtful", False),
        size_bytes=entry.get("size_bytes"),
        quirks=tuple(table.get("quirks", ())),
    )


def _parsed(grammars: list[str], tag: str) -> dict[str, str] | None:
    """The facts in a tag, or None where no grammar fits it."""
    for grammar in grammars:
        match = re.fullmatch(grammar, tag, re.ASCII)
        if match is not None:
            facts = {key: value for key, value in match.groupdict().items() if value is not None}
            if "rocm_digits" in facts:
                facts["rocm"] = ".".join(facts.pop("rocm_digits"))
            if "ubuntu_major" in facts:
                facts["ubuntu"] = facts.pop("ubuntu_major") + ".04"
            return facts
    return None


def _targets(
    table: Mapping[str, Any], facts: Mapping[str, str], rocm: Version | None
) -> tuple[tuple[str, ...] | None, bool, str | None]:
    """The gfx targets in an image, whether they were verified, and where that was read."""
    if "target" in facts:
        return tuple(table["targets"].get(facts["target"], ())) or None, True, table["targets_source"]
    for rule in table.get("gfx", ()):
        if not _holds(rule, facts):
            continue
        if rule["targets"] != "release":
            return tuple(rule["targets"]), rule["verified"], rule["source"]
        release = releases.release(rocm) if rocm else None
        return (release.gfx, rule["verified"], rule["source"]) if release and release.gfx else (None, False, None)
    return None, False, None


def _python_path(table: Mapping[str, Any], facts: Mapping[str, str]) -> str | None:
    for rule in table.get("python_env", ()):
        if _holds(rule, facts):
            path: str = rule["path"]
            return path.replace("{python}", facts.get("python", "3"))
    return None


def _holds(rule: Mapping[str, Any], facts: Mapping[str, str]) -> bool:
    """True where every fact that a rule's `when` names is known and within its constraint."""
    return all(
        key in facts and Constraint.parse(constraint).allows(Version.parse(facts[key]))
        for key, constraint in rule.get("when", {}).items()
    )
