"""The daemon's stream of a pull, as the engine's API documents it, read as events."""

from __future__ import annotations

from typing import Any

import pytest

from rocenv.engine.pull import PullError, PullEvent, events


def test_layers_and_their_bytes() -> None:
    stream: list[dict[str, Any]] = [
        {"status": "Pulling from rocm/pytorch", "id": "latest"},
        {"status": "Pulling fs layer", "progressDetail": {}, "id": "a1"},
        {"status": "Downloading", "progressDetail": {"current": 10, "total": 40}, "progress": "[=> ]", "id": "a1"},
        {"status": "Pull complete", "progressDetail": {}, "id": "a1"},
        {"status": "Digest: sha256:00"},
    ]
    assert list(events(stream)) == [
        PullEvent("", "Pulling from rocm/pytorch"),
        PullEvent("a1", "Pulling fs layer"),
        PullEvent("a1", "Downloading", 10, 40),
        PullEvent("a1", "Pull complete"),
        PullEvent("", "Digest: sha256:00"),
    ]


def test_an_error_in_the_stream_is_raised() -> None:
    with pytest.raises(PullError, match="no space left on device"):
        list(events([{"errorDetail": {"message": "x"}, "error": "write /x: no space left on device"}]))


def test_numbers_that_are_none_are_unknown() -> None:
    detail = {"current": -1, "total": "many"}
    assert list(events([{"status": "Extracting", "id": "a", "progressDetail": detail}])) == [
        PullEvent("a", "Extracting")
    ]
