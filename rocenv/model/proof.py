"""What was shown: probes and their results, and the environments that an engine holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LEVELS = ("access", "runtime", "kernel", "framework")  # each one includes those before it
RESULTS = ("passed", "failed", "skipped", "error", "stand-in")


@dataclass(frozen=True, slots=True)
class Probe:
    """One script of smoke/probes/ as its header describes it; `seconds` is its time limit."""

    name: str
    summary: str
    level: str
    needs: tuple[str, ...]
    seconds: float
    path: str
    fallback_for: str | None = None  # the probe whose place this one takes where that one's needs are missing
    source: str | None = None  # a file beside it whose text it is given


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one probe said of one GPU (None: of the container as a whole)."""

    name: str
    level: str
    gpu: int | None  # the planned GPU's index on the host
    result: str
    cause: str | None
    seconds: float
    figures: Mapping[str, object] = field(default_factory=dict)
    ran_on: str | None = None


@dataclass(frozen=True, slots=True)
class Environment:
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
    labels: Mapping[str, str] = field(default_factory=dict)
