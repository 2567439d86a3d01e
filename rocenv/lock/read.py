"""A lock's text as a record. It is a file that people merge and edit: each fault is told with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from rocenv.catalog.references import Reference
from rocenv.errors import UsageError
from rocenv.lock.text import VERSION
from rocenv.model.lock import FILE, Fact, Lock, Locked, LockedBuild, LockedImage, LockedPlatform, LockedProof
from rocenv.profile.keys import NAME
from rocenv.profile.tree import Items, Leaf, Node, Table, kind_of, read_yaml

BACK = f"`git checkout {FILE}` brings the committed one back; without one, `rm {FILE} && rocenv lock`"
_CONFLICT = re.compile(rb"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_DIGEST = r"sha256:[0-9a-f]{64}"
_PLATFORM = r"[a-z0-9]+/[a-z0-9_]+(?:/[a-z0-9]+)?"
_WORD = r"[^\x00-\x1f\x7f]{1,512}"
_ANY = r"[\s\S]{1,4096}"
_RESULTS = ("passed", "failed", "skipped", "error", "stand-in")


def read_lock(data: bytes) -> Lock:
    """The lock that a file's bytes hold. Raises UsageError with the line of the first fault, and what mends it."""
    conflict = _CONFLICT.search(data)
    if conflict is not None:
        line = data.count(b"\n", 0, conflict.start()) + 1
        raise UsageError(
            f"`{FILE}:{line}`: a merge conflict is left in here",
            f"`git checkout --ours {FILE} && rocenv lock` keeps this side and locks what it lacks",
        )
    try:
        top = _Part(read_yaml(data, FILE))
    except UsageError as error:  # what mends a file that people write is no advice for this one
        raise UsageError(error.message, BACK) from error
    _check_version(top)
    top.only("version", "profiles")
    profiles = top.part("profiles")
    return Lock({name: _locked(name, _Part(node)) for name, node in profiles.tables(NAME)})


def _check_version(top: _Part) -> None:
    version = top.text("version", r"\d{1,9}")
    if int(version) > VERSION:
        raise UsageError(
            f"`{top.place('version')}`: this lock is of version {version}, and this rocenv knows up to {VERSION}",
            "use the rocenv that wrote it, or a newer one",
        )
    if int(version) < 1:
        top.fault("version", f"`{version}` is no version of a lock")


def _locked(name: str, part: _Part) -> Locked:
    part.only("wish", "catalog", "image", "build", "proof")
    build, proof = part.optional("build"), part.optional("proof")
    return Locked(
        profile=name,
        wish=part.part("wish").facts() if part.has("wish") else {},
        image=_image(part.part("image")),
        catalog=part.maybe("catalog", r"\d{4}-\d{2}-\d{2}"),
        build=_build(build) if build else None,
        proof=_proof(proof) if proof else None,
    )


def _image(part: _Part) -> LockedImage:
    part.only("reference", "digest", "platforms", "places", "rocm", "gfx")
    reference = part.text("reference", _WORD)
    try:
        parsed = Reference.parse(reference)
    except ValueError as error:
        part.fault("reference", str(error))
    if parsed.digest:
        part.fault("reference", "the digest stands here a second time")
    for place, where in part.items("places", _WORD):
        if not _is_repository(place):
            raise UsageError(f"`{where}`: `{place[:80]}` is no repository", BACK)
    platforms = part.optional("platforms")
    return LockedImage(
        reference=reference,
        digest=part.text("digest", _DIGEST),
        places=part.texts("places", _WORD),
        platforms={}
        if platforms is None
        else {name: _platform(_Part(one)) for name, one in platforms.tables(_PLATFORM)},
        rocm=part.maybe("rocm", _WORD),
        gfx=part.texts("gfx", r"gfx[0-9a-z-]{1,20}"),
    )


def _is_repository(place: str) -> bool:
    try:
        return Reference.parse(place).name == place
    except ValueError:
        return False


def _platform(part: _Part) -> LockedPlatform:
    part.only("image", "manifest")
    return LockedPlatform(part.maybe("image", _DIGEST), part.maybe("manifest", _DIGEST))


def _build(part: _Part) -> LockedBuild:
    part.only("reference", "dockerfile", "packages")
    packages = part.optional("packages")
    return LockedBuild(
        reference=part.text("reference", r"rocenv/[a-z0-9_.-]{1,80}:[0-9a-f]{16}"),
        dockerfile=part.text("dockerfile", _DIGEST),
        packages={}
        if packages is None
        else {tool: _Part(one).words() for tool, one in packages.tables(r"apt|dnf|zypper|pip")},
    )


def _proof(part: _Part) -> LockedProof:
    part.only("result", "level", "driver", "gpus")
    gpus = part.optional("gpus")
    counts = {} if gpus is None else {name: int(gpus.text(name, r"\d{1,4}")) for name in gpus.names()}
    result = part.text("result", "|".join(_RESULTS))
    return LockedProof(result, part.text("level", r"[a-z]{1,20}"), counts, part.maybe("driver", _WORD))


class _Part:
    """A mapping of the file, asked key by key."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def has(self, key: str) -> bool:
        return key in self._table.entries

    def names(self) -> tuple[str, ...]:
        return tuple(self._table.entries)

    def place(self, key: str) -> str:
        return self._table.places.get(key, self._table.where)

    def fault(self, key: str, what: str) -> NoReturn:
        raise UsageError(f"`{self.place(key)}`: {what}", BACK)

    def only(self, *known: str) -> None:
        """Refuse every other key: what is not understood is not passed over."""
        for key in self._table.entries:
            if key not in known:
                self.fault(key, f"there is no key `{key}` here (known: {', '.join(known)})")

    def text(self, key: str, pattern: str) -> str:
        found = self.maybe(key, pattern)
        if found is None:
            raise UsageError(f"`{self._table.where}`: the key `{key}` is missing", BACK)
        return found

    def maybe(self, key: str, pattern: str) -> str | None:
        node = self._table.entries.get(key)
        if node is None:
            return None
        return self._matched(key, node, pattern)

    def texts(self, key: str, pattern: str) -> tuple[str, ...]:
        return tuple(text for text, _ in self.items(key, pattern))

    def items(self, key: str, pattern: str) -> list[tuple[str, str]]:
        """The texts of a list, each with its place in the file."""
        node = self._table.entries.get(key)
        if node is None:
            return []
        if not isinstance(node, Items):
            self.fault(key, f"`{key}` is {kind_of(node)}, expected is a list")
        return [(self._matched(key, one, pattern), one.where) for one in node.items]

    def part(self, key: str) -> _Part:
        found = self.optional(key)
        if found is None:
            raise UsageError(f"`{self._table.where}`: the key `{key}` is missing", BACK)
        return found

    def optional(self, key: str) -> _Part | None:
        node = self._table.entries.get(key)
        if node is None:
            return None
        if not isinstance(node, Table):
            self.fault(key, f"`{key}` is {kind_of(node)}, expected is a mapping")
        return _Part(node)

    def tables(self, names: str) -> Iterator[tuple[str, Table]]:
        """The mappings in here by their names, which look like `names`."""
        for name, node in self._table.entries.items():
            if not re.fullmatch(names, name, re.ASCII):
                self.fault(name, f"`{name[:80]}` is no name that stands here")
            if not isinstance(node, Table):
                self.fault(name, f"`{name}` is {kind_of(node)}, expected is a mapping")
            yield name, node

    def facts(self) -> Mapping[str, Fact]:
        """Texts and lists of texts by names of any kind."""
        return {
            name: self.texts(name, _ANY) if isinstance(node, Items) else self._matched(name, node, _ANY)
            for name, node in self._table.entries.items()
        }

    def words(self) -> Mapping[str, str]:
        """Texts by names of any kind."""
        return {name: self._matched(name, node, _WORD) for name, node in self._table.entries.items()}

    def _matched(self, key: str, node: Node, pattern: str) -> str:
        if not isinstance(node, Leaf) or node.text is None:
            self.fault(key, f"`{key}` is {kind_of(node)}, expected is a single text")
        if not re.fullmatch(pattern, node.text, re.ASCII):
            raise UsageError(f"`{node.where}`: `{key}` is {kind_of(node)}, which is not its form", BACK)
        return node.text
