"""What an image is made of, streamed: continued where a connection broke, and verified before its end is believed."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rocenv.engine.registry.contents import parsed
from rocenv.engine.registry.line import headed
from rocenv.engine.registry.records import Descriptor, Found, RegistryError
from rocenv.engine.registry.refusals import NOT_FOUND, OK
from rocenv.engine.registry.session import Session

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

_CONFIG_LIMIT = 8 << 20  # bytes; a config holds the history of its layers
_PATIENCE, _LEAST = 60.0, 1 << 16  # so many seconds without so many bytes, and the connection is given up
_PIECE = 1 << 18  # bytes
_TURNS = 5  # connections without progress, with longer and longer pauses in between
_PAUSE = 1.0  # seconds
_PARTIAL = 206


def blob(found: Found, descriptor: Descriptor) -> Iterator[bytes]:
    """The bytes of a layer, or of anything that a manifest describes, as they come.

    Raises RegistryError: before the last piece is given, where all of them are not what the digest says.
    """
    hashed = hashlib.new(descriptor.digest.partition(":")[0])
    position, held, turns = 0, b"", 0
    while True:
        before, broken = position, None
        try:
            for piece in _from(found.session, descriptor, position):
                if held:
                    yield held
                held = piece
                hashed.update(piece)
                position += len(piece)
        except RegistryError as error:
            if error.state != "unreachable":
                raise
            broken = error
        if position >= descriptor.size:
            break
        turns = 0 if position - before >= _LEAST else turns + 1
        if turns >= _TURNS:
            raise broken or _bad(found, descriptor, f"breaks off after {position} of {descriptor.size} bytes")
        if turns:
            time.sleep(_PAUSE * turns)
    if position != descriptor.size or hashed.hexdigest() != descriptor.digest.partition(":")[2]:
        raise _bad(found, descriptor, "is not what its digest says")
    yield held


def read_config(found: Found) -> dict[str, Any]:
    """The image's config: its `config` (environment, user, entry point), `rootfs`, `history`, `architecture`."""
    if found.manifest.config.size > _CONFIG_LIMIT:
        raise _bad(found, found.manifest.config, f"has more than {_CONFIG_LIMIT} bytes")
    return parsed(b"".join(blob(found, found.manifest.config)))


def _from(session: Session, descriptor: Descriptor, position: int) -> Iterator[bytes]:
    """The pieces of a blob from a byte on, by one connection, until it ends or brings too little."""
    with session.stream(f"blobs/{descriptor.digest}", position) as answer:
        skip = _to_skip(session, answer, position)
        waited, since = 0.0, 0
        while True:
            began = time.monotonic()  # how long the caller takes for a piece does not count
            piece = answer.read1(_PIECE)
            if not piece:
                return
            waited, since = waited + time.monotonic() - began, since + len(piece)
            if since >= _LEAST:
                waited, since = 0.0, 0
            elif waited > _PATIENCE:
                raise TimeoutError
            kept = piece[skip:]
            skip = max(0, skip - len(piece))
            position += len(kept)
            if position > descriptor.size:
                raise RegistryError("bad", f"{session.place.host} answers more of {descriptor.digest} than there is")
            if kept:
                yield kept


def _to_skip(session: Session, answer: BaseHTTPResponse, position: int) -> int:
    """How many bytes of an answer are known: none, or all before where a range was asked for and not given."""
    headers: Mapping[str, str] = answer.headers
    if answer.status == _PARTIAL:
        start = re.match(r"bytes (\d+)-", headers.get("content-range", ""))
        if start is None or int(start[1]) != position:
            raise RegistryError("bad", f"{session.place.host} answers another range than it was asked for")
        return 0
    if answer.status == NOT_FOUND:
        said = f"{session.place.host} has the image's manifest, and not all that it is made of (blob unknown)"
        raise RegistryError("bad", said, "pull it from another place; it was pushed half, or deleted in part")
    if answer.status != OK:
        raise session.refusal(headed(answer, "", answer.read1(4096)))
    return position


def _bad(found: Found, descriptor: Descriptor, what: str) -> RegistryError:
    return RegistryError(
        "bad",
        f"{found.place.host}: {descriptor.digest} of `{found.place.repository}` {what}",
        "try again; a broken mirror or proxy may stand in between",
    )
