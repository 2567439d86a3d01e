"""What the last smoke test of a container came to, for `rocenv ps`.

An engine's labels cannot be written after a container is made, so this one fact lies in the user's state folder, in a
file named by the container's id: an id is never given twice, so what is read can be old and cannot be another's.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rocenv.model.proof import ProbeResult

_WEIGHT = ("failed", "error", "stand-in", "passed", "skipped")  # the first that occurs is the verdict


def verdict(results: Iterable[ProbeResult]) -> str | None:
    """What probes came to together; None without any."""
    said = {result.result for result in results}
    return next((result for result in _WEIGHT if result in said), None)


def record(identity: str, results: Iterable[ProbeResult], *, level: str, when: str) -> None:
    """Keep what a container's smoke test came to; a state folder that cannot be written is no reason to fail."""
    proof = {"version": 1, "result": verdict(results), "level": level, "when": when, "driver": _driver()}
    try:
        file = _file(identity)
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(proof), encoding="utf-8")
        fresh.replace(file)
    except (OSError, RuntimeError):  # RuntimeError: this user has no home folder
        return


def recall(identity: str) -> dict[str, Any] | None:
    """The kept proof of a container: `result`, `level`, `when`, `driver`; None where there is none."""
    try:
        file = _file(identity)
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None  # a FIFO would be waited for
    except (OSError, RuntimeError, ValueError):
        return None
    return {key: found.get(key) for key in ("result", "level", "when", "driver")} if isinstance(found, dict) else None


def _driver() -> str | None:
    """The driver under which a test ran: the version of AMD's module, else the kernel that it came with."""
    from rocenv.host.driver import read_driver
    from rocenv.host.source import Root, ThisMachine

    driver = read_driver(Root(ThisMachine()))
    return driver.version or (f"in-tree, Linux {os.uname().release}" if driver.loaded else None)


def forget(identity: str) -> None:
    """Drop the proof of a container that is no more."""
    try:
        _file(identity).unlink(missing_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: this user has no home folder
        return


def _file(identity: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "rocenv" / "proofs" / f"{re.sub('[^0-9a-f]', '', identity)}.json"
