"""What was shown: probes and their results, and the environments that an engine holds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})

LEVELS = ("access", "runtime", "kernel", "compile", "libraries", "framework")  # each one includes those before it
GROUND = ("access", "runtime", "kernel")  # where one of these fails, all above it can only fail too
RESULTS = ("passed", "failed", "skipped", "error", "stand-in")


class Probe(NamedTuple):
    """One script of smoke/probes/ as its header describes it; `seconds` is its time limit."""

    name: str
    summary: str
    level: str
    needs: tuple[str, ...]
    seconds: float
    path: str
    fallback_for: str | None = None  # the probe whose place this one takes where that one's needs are missing
    source: str | None = None  # a file beside it whose text it is given
    quick: bool = False  # one of the few that `up` runs; an image that lacks what it needs has failed it
    of_container: bool = False  # it speaks for the container and names no GPU


class ProbeResult(NamedTuple):
    """What one probe said of one GPU (None: of the container as a whole)."""

    name: str
    level: str
    gpu: int | None  # the planned GPU's index on the host
    result: str
    cause: str | None
    seconds: float
    figures: Mapping[str, object] = _NOTHING
    ran_on: str | None = None


class Environment(NamedTuple):
    """A container of rocenv's as the engine holds it: everything here is read from its labels and its state."""

    container: str
    id: str
    name: str
    project: str
    profile: str
    state: str  # running | exited | created …
    reference: str
    digest: str | None
    plan: str  # the hash in the label rocenv.plan
    gpus: str
    owner: str | None
    created: str | None
    labels: Mapping[str, str] = _NOTHING
