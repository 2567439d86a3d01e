"""The folder that a build may copy from: where it lies, and a digest of what is in it, for the image's name."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rocenv.errors import UsageError

if TYPE_CHECKING:
    from rocenv.model.recipe import Source

MOST_FILES, MOST_BYTES = 20_000, 2 << 30  # more is no context of a build, but a data set that got into one
_NEVER = ".git"  # its files change with every command of git's, and no image needs them


def folder_of(context: str, project: str) -> Path:
    """The folder that a profile names, which lies in the project's. Raises UsageError for another."""
    root = Path(project).resolve()
    found = (root / context).resolve()
    if not found.is_relative_to(root):
        raise UsageError(f"`build.context`: `{context}` lies outside of the project's folder, {root}", "name one in it")
    if not found.is_dir():
        raise UsageError(f"`build.context`: there is no folder `{found}`", "`build: {context: .}` is the project's own")
    return found


def must_hold(folder: Path, source: Source) -> None:
    """Raise UsageError where the project to compile, or a file of it, is not in the folder."""
    root = folder / source.folder
    for name in source.files or ("CMakeLists.txt",):
        if not (root / name).is_file():
            hint = (
                "`build: {source: {files: [FILE]}}` names what hipcc compiles" if not source.files else f"`ls {root}`"
            )
            raise UsageError(f"`build.source`: there is no file `{root / name}` to compile", hint)


def digest(folder: Path) -> str:
    """A digest of all that a build may copy: names, execute bits and contents, without what .dockerignore leaves out.

    Raises UsageError for a folder that holds more than a build should, or what cannot be read.
    """
    whole, files, size = hashlib.sha256(), 0, 0
    try:
        for path, name in _files(folder, _ignored(folder)):
            files += 1
            size += 0 if path.is_symlink() else path.stat().st_size
            if files > MOST_FILES or size > MOST_BYTES:
                raise UsageError(
                    f"`{folder}` holds more than {MOST_FILES} files or {MOST_BYTES >> 30} GiB to build from",
                    "leave out what no step needs: `.dockerignore`, or a smaller `build.context`",
                )
            whole.update(f"{name}\0{_kind(path)}\0".encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(
            f"`{error.filename or folder}` cannot be read: {error.strerror}", "name it in `.dockerignore`"
        ) from error
    return whole.hexdigest()


def _kind(path: Path) -> str:
    if path.is_symlink():
        return f"link {os.readlink(path)}"  # noqa: PTH115
    executable = bool(path.stat().st_mode & 0o111)
    with path.open("rb") as stream:
        content = hashlib.sha256()
        while part := stream.read(1 << 20):
            content.update(part)
    return f"file {executable} {content.hexdigest()}"


def _files(folder: Path, ignored: list[tuple[re.Pattern[str], bool]]) -> Iterator[tuple[Path, str]]:
    """The files and links below a folder, in the order of their names."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != _NEVER)
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]  # noqa: PTH114, PTH118
        for name in sorted((*names, *links)):
            path = Path(root, name)
            relative = path.relative_to(folder).as_posix()
            if (path.is_symlink() or path.is_file()) and not _leaves_out(ignored, relative):
                yield path, relative


def _ignored(folder: Path) -> list[tuple[re.Pattern[str], bool]]:
    """The patterns of .dockerignore, each with whether it leaves out (the last that fits counts)."""
    try:
        lines = (folder / ".dockerignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in (line.strip() for line in lines):
        if line and not line.startswith("#"):
            text = line.lstrip("!").strip().strip("/")
            found.append((re.compile(_expression(text)), not line.startswith("!")))
    return found


def _leaves_out(ignored: list[tuple[re.Pattern[str], bool]], name: str) -> bool:
    """Whether a file is left out: by its own name, or with a folder that it lies in."""
    left = False
    for pattern, leaves in ignored:
        if pattern.fullmatch(name):
            left = leaves
    return left


def _expression(pattern: str) -> str:
    """A pattern of .dockerignore as a regular expression: `**` is any path, `*` a part of a name."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./"))
    return "".join(signs.get(part) or re.escape(part) for part in parts) + "(?:/.*)?"
