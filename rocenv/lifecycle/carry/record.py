"""rocenv/bundle.json: what a bundle says of itself. It is hostile until it has been held against the bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import rocenv
from rocenv.errors import UsageError

VERSION = 1


class Carried(NamedTuple):
    """One image for one profile: the reference it is planned by, the digest of its config, the name it is loaded under.

    `digest` is the locked one; None for an image that was built on that.
    """

    profile: str
    reference: str
    image: str
    name: str
    digest: str | None = None


class Record(NamedTuple):
    """All images, and the digests of all files but the blobs, whose names are their digests, and this one."""

    images: tuple[Carried, ...]
    files: Mapping[str, str]
    by: str = rocenv.__version__


def record_bytes(images: Sequence[Carried], files: Mapping[str, str]) -> bytes:
    """The record's text."""
    told = {
        "version": VERSION,
        "rocenv": rocenv.__version__,
        "images": [one._asdict() for one in images],
        "files": dict(sorted(files.items())),
    }
    return json.dumps(told, indent=1).encode()


def read_record(data: bytes) -> Record:
    """The record of these bytes. Raises UsageError for what is none, or of a newer rocenv."""
    try:
        told = json.loads(data)
        if told["version"] > VERSION:
            raise UsageError(
                f"it is of version {told['version']}, and this rocenv knows up to {VERSION}", "use a newer rocenv"
            )
        images = tuple(_carried(one) for one in told["images"])
        files = {_text(name): _text(digest) for name, digest in told["files"].items()}
        return Record(images, files, _text(told["rocenv"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"its `bundle.json` cannot be read ({type(error).__name__}: {error})", None) from error


def _carried(told: Mapping[str, object]) -> Carried:
    profile, reference, image, name = (_text(told[key]) for key in ("profile", "reference", "image", "name"))
    return Carried(profile, reference, image, name, None if told["digest"] is None else _text(told["digest"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
