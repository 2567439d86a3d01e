"""CDI specifications as files: where they go, and written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocenv.errors import UsageError
from rocenv.lifecycle.written import written
from rocenv.rules.cdi import KIND

if TYPE_CHECKING:
    from rocenv.model.plan import EngineFacts
    from rocenv.plan import Request

NAME = "rocenv.json"
SYSTEM = f"/etc/cdi/{NAME}"
_LARGEST = 1 << 20


def with_specs(request: Request, facts: EngineFacts, host: str | None = None) -> Request:
    """The request with the specifications of the host (a capture's path), where GPUs are to come in by CDI."""
    if request.via != "cdi":
        return request
    from rocenv.host import read_specs

    return request._replace(specs=read_specs(host, facts.cdi_folders or ()))


def own_file() -> str:
    """The specification in the caller's own folder."""
    from rocenv.host.cdi import own_folder

    return f"{own_folder()}/{NAME}"


def text_of(spec: dict[str, Any]) -> str:
    """A specification as the text of its file."""
    return json.dumps(spec, indent=2) + "\n"


def write(file: str, spec: dict[str, Any]) -> bool:
    """Write a specification; False where the file holds the very same already, and is left as it is.

    Its folder is made where it is missing. Raises UsageError where something else is in the file's place, or another
    file of that folder gives the same devices: engines take neither of the two then.
    """
    path = Path(os.path.abspath(file))  # noqa: PTH100 (links are not followed)
    if path.suffix not in (".json", ".yaml"):
        raise UsageError(f"`{file}` would be read by no engine", "a name that ends in `.json`")
    data = text_of(spec).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        there = _there(path)
    except OSError as error:
        raise _closed(file, error) from error
    if there == data and not path.is_symlink():
        return False
    if there is not None and KIND.encode() not in there and there.strip():
        raise UsageError(f"`{file}` is there, and is no CDI specification of {KIND}", "name another file")
    _must_be_alone(path, spec)
    if not os.access(path.parent, os.W_OK, effective_ids=True):
        raise _closed(file, PermissionError(13, "Permission denied"))
    with written(path) as stream:
        os.fchmod(stream.fileno(), 0o644)  # rootless engines read it too, whatever root's umask is
        stream.write(data)
    return True


def _there(path: Path) -> bytes | None:
    """What is in the file's place; None where nothing is."""
    try:
        if not path.is_file():
            if path.exists():
                raise UsageError(f"`{path}` is no regular file", f"`ls -ld {path}` shows what it is")
            return None
        with path.open("rb") as stream:
            return stream.read(_LARGEST)
    except FileNotFoundError:
        return None


def _must_be_alone(path: Path, spec: dict[str, Any]) -> None:
    """Refuse what would make every device of two files one that engines cannot resolve."""
    from rocenv.host.cdi import KINDS, parse

    names = {one["name"] for one in spec["devices"]}
    for other in sorted(path.parent.iterdir()):
        if other.name == path.name or other.suffix not in KINDS or other.name.startswith("."):
            continue
        try:
            data = other.read_bytes()[:_LARGEST]
        except OSError:
            continue
        if KIND.encode() not in data:
            continue
        found = parse(str(other), data)
        if found.kind == KIND and names.intersection(found.devices):
            raise UsageError(
                f"`{other}` gives {KIND} devices of the same names: of two files in one folder engines take neither",
                f"`rocenv cdi generate --output={other}` writes in its place",
            )


def _closed(file: str, error: OSError) -> UsageError:
    hint = "`rocenv cdi generate --user` writes to your own folder"
    if isinstance(error, PermissionError):
        hint = f"`sudo rocenv cdi generate --output={file}`"
    return UsageError(f"`{file}` cannot be written: {error.strerror}", hint)
