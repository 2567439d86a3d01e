"""A pull through the docker SDK: the one way to get each layer's progress as data instead of terminal codes.

Imported by a pull alone: the SDK takes longer to import than all else that rocenv does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SILENCE = 600  # seconds without a word from the daemon after which a pull is given up


@dataclass(frozen=True, slots=True)
class PullEvent:
    """What the daemon says of one layer (`layer`: its short id), or of the whole pull (`layer` empty); bytes."""

    layer: str
    status: str  # Waiting, Downloading, Extracting, Pull complete, Already exists …
    current: int | None = None
    total: int | None = None


class PullError(Exception):
    """The daemon or its registry refused; the text is theirs."""


def pull(reference: str, endpoint: str, progress: Callable[[PullEvent], None]) -> bool:
    """Pull `reference`, telling `progress` all that happens; False, and nothing done, where the SDK is no way in.

    The SDK speaks to local sockets; ssh and TLS endpoints are left to the engine's own client. Leaving early, as by an
    interrupt, closes the connection, upon which the daemon gives up the pull.
    """
    if not endpoint.startswith("unix://"):
        return False
    import docker
    import requests

    try:
        with contextlib.closing(docker.APIClient(base_url=endpoint, version="auto", timeout=SILENCE)) as client:
            for event in events(client.pull(reference, stream=True, decode=True)):
                progress(event)
    except docker.errors.APIError as error:
        raise PullError(str(error.explanation or error)) from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise PullError(str(error)) from None
    return True


def events(stream: Iterable[Mapping[str, Any]]) -> Iterable[PullEvent]:
    """The daemon's stream as events; its `error` raises PullError."""
    for line in stream:
        if "error" in line:
            raise PullError(str(line["error"]))
        detail = line.get("progressDetail") or {}
        status = str(line.get("status", ""))
        # "Pulling from rocm/pytorch" bears the tag as its id: that is no layer.
        layer = "" if status.startswith("Pulling from") else str(line.get("id", ""))
        yield PullEvent(layer, status, _count(detail.get("current")), _count(detail.get("total")))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
