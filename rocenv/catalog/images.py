"""What is known of images before they are pulled: by family, and by what a tag itself says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from rocenv.catalog import gpus, grammar, releases
from rocenv.catalog.references import DOCKER_HUB, Reference
from rocenv.catalog.table import load, verified
from rocenv.catalog.versions import Version


class Family(NamedTuple):
    """Images of one kind: how their tags are written and what all of them share."""

    name: str
    summary: str
    registry: str
    repositories: Mapping[str, Mapping[str, str]]
    community: bool
    compiler: bool  # holds hipcc: code for any target can be built in it
    instead_of: str | None  # the family that this one stands in for, on GPUs that the other does not serve
    prefer: Mapping[str, str]
    kind: str = "framework"  # base | framework | training | serving | application | community | tool
    previews: bool = False  # its own releases are built on previews of ROCm: those are no mark against its images
    superseded_by: str | None = None
    cuda: str | None = None  # which tags of its repository are other builds, in words
    note: str | None = None
    source: str = ""
    main: str | None = None  # the framework, or `release`, by whose version its images are newer and older


class CatalogImage(NamedTuple):
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
    quirks: tuple[str, ...] = ()
    gfx_seen: tuple[str, ...] = ()  # of an unverified list the targets on which it was seen to run
    os: str | None = None  # a system that is no Ubuntu: AlmaLinux 8, CentOS 7
    target: str | None = None  # the GPU family that the tag itself names: cdna, mi35x, gfx94X-dcgpu
    release: str | None = None  # the family's own release number: v26.5
    workdir: str | None = None
    command: str | None = None
    env: Mapping[str, str] = {}
    port: int | None = None
    volume: str | None = None  # where it keeps what should outlive it
    base: str | None = None
    driver: str | None = None  # a constraint on AMD's driver release that the software itself has
    only: str | None = None  # the line of GPUs (Instinct) that AMD lists this pairing for; None: no such limit was read
    digest: str | None = None  # how its digest began when it was seen
    pushed: str | None = None
    size_note: str | None = None
    sources: Mapping[str, str] = {}

    def carries(self, gfx: str) -> bool | None:
        """Whether code for a target is in the image, also through its generic target; None where that is unknown."""
        if self.gfx is None:
            return None
        return gpus.covered(gfx, self.gfx)

    @property
    def unverified(self) -> tuple[str, ...]:
        """The facts that hang on hearsay."""
        named = tuple(name for name, source in self.sources.items() if name != "gfx" and not verified("images", source))
        return named if self.gfx is None or self.gfx_verified else (*named, "gfx")

    @property
    def version(self) -> Version | None:
        """The version of what its family is for: of vLLM in an image of vLLM, the family's own release in Primus."""
        main = _family(self.family).main
        text = self.release if main == "release" else self.frameworks.get(main or "")
        return Version.parse(text) if text else None

    def sure_of(self, gfx: str) -> bool:
        """True where a verified list, or a run that was seen, says that code for a target is in the image."""
        if gfx in self.gfx_seen:
            return True
        return self.gfx_verified and bool(self.carries(gfx))


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
    family = holding(reference)
    if family is None:
        return None
    same = (image for image in known(family.name) if image.reference.repository == reference.repository)
    image = next((image for image in same if image.reference.tag == reference.tag), None)
    return image or _image(family.name, reference)


def holding(reference: Reference) -> Family | None:
    """The family in whose repository an image lies, whatever its tag is."""
    for name, table in load("images")["families"].items():
        if reference.registry == table.get("registry", DOCKER_HUB) and reference.repository in table["repositories"]:
            return _family(name)
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
        kind=table["kind"],
        previews=table.get("previews", False),
        superseded_by=table.get("superseded_by"),
        cuda=table.get("cuda"),
        note=table.get("note"),
        source=table["source"],
        main=table.get("main"),
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
    in_tag = {} if reference.tag is None else grammar.parsed(table["grammars"], reference.tag)
    if in_tag is None:
        if not moving:
            return None
        in_tag = {}
    entry = entry or {}
    said = {**table["repositories"][reference.repository], **in_tag, **entry.get("facts", {})}
    facts, sources, quirks = _gathered(table, said)
    rocm = Version.parse(said["rocm"]) if "rocm" in said else None
    gfx, seen, gfx_source, sure = _targets(table, said, facts, sources, rocm)
    python_path = facts.get("python_env")
    return CatalogImage(
        family=name,
        reference=reference,
        rocm=rocm,
        ubuntu=said.get("ubuntu"),
        python=said.get("python"),
        frameworks={key: value for key, value in said.items() if key not in grammar.PLAIN},
        flavor=said.get("flavor"),
        gfx=gfx,
        gfx_verified=sure,
        gfx_source=gfx_source,
        compiler=table.get("compiler", False),
        user=facts.get("user"),
        python_path=python_path and python_path.replace("{python}", said.get("python", "3")),
        entrypoint=facts.get("entrypoint"),
        moving=moving,
        listed=bool(entry),
        doubtful=entry.get("doubtful", False),
        size_bytes=entry.get("size_bytes"),
        quirks=quirks,
        gfx_seen=seen,
        os=said.get("os"),
        target=said.get("target"),
        release=said.get("release"),
        workdir=facts.get("workdir"),
        command=facts.get("command"),
        env=facts.get("env", {}),
        port=facts.get("port"),
        volume=facts.get("volume"),
        base=facts.get("base"),
        driver=facts.get("driver"),
        only=facts.get("only"),
        digest=entry.get("digest"),
        pushed=entry.get("pushed"),
        size_note=facts.get("size"),
        sources={"tag": entry.get("source") or table["source"], **sources},
    )


def _gathered(
    table: Mapping[str, Any], said: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str], tuple[str, ...]]:
    """Of a family's facts those that hold for a tag: by name (the first one counts), their sources, all quirks."""
    facts: dict[str, Any] = {}
    sources: dict[str, str] = {}
    quirks: list[str] = []
    for rule in grammar.holding(table.get("facts", ()), said):
        for key, value in rule.items():
            if key == "quirk":
                quirks.append(value)
            elif key not in ("when", "source") and key not in facts:
                facts[key], sources[key] = value, rule["source"]
    return facts, sources, tuple(quirks)


def _targets(
    table: Mapping[str, Any],
    said: Mapping[str, str],
    facts: Mapping[str, Any],
    sources: Mapping[str, str],
    rocm: Version | None,
) -> tuple[tuple[str, ...] | None, tuple[str, ...], str | None, bool]:
    """The gfx targets in an image, those on which it was seen to run, where that was read, whether it is verified."""
    named = table.get("targets", {}).get(said["target"]) if "target" in said else facts.get("gfx")
    if named is None:
        return None, (), None, False
    if "target" in said:
        return tuple(named["gfx"]), tuple(named.get("seen", ())), named["source"], verified("images", named["source"])
    source = sources["gfx"]
    if named != "release":
        return tuple(named), (), source, verified("images", source)
    release = releases.release(rocm) if rocm else None
    if release is None or release.gfx_source is None:
        return None, (), None, False
    return release.gfx, (), source, verified("images", source) and verified("releases", release.gfx_source)
