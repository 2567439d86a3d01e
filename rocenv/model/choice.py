"""The choice of an image told in full: which one, what speaks for and against each, and what else is left."""

from collections.abc import Mapping
from typing import NamedTuple

from rocenv.model.plan import GpuRef, Refusal

SELECTION, COMMUNITY, OVERRIDE, UNTESTED = "selection", "community", "override", "untested"


class Alternative(NamedTuple):
    """One way that is left: an image, with the GPUs that it serves in the words of `--gpus` (None: all chosen)."""

    kind: str  # selection | community | override | untested
    gpus: str | None
    reference: str
    why: str
    flags: str  # what `rocenv up PROFILE` wants in addition
    env: Mapping[str, str] = {}  # what has to be opted into
    known_to_work: bool = True


class Chosen(NamedTuple):
    """The image that `up` takes. `opt_in`: what has to be asked for by name before it is, with `env`; never unasked."""

    reference: str
    why: tuple[str, ...]
    env: Mapping[str, str] = {}
    opt_in: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """An image that fits. `score`: see `rules.rank.score`."""

    reference: str
    score: int
    speaks_for: tuple[str, ...]
    against: tuple[str, ...]


class Fault(NamedTuple):
    """What `up` says where nothing fits."""

    message: str
    hint: str | None


class Explained(NamedTuple):
    """The whole choice; `error` where nothing fits."""

    profile: str
    gpus: tuple[GpuRef, ...]
    driver: str | None
    chosen: Chosen | None
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    alternatives: tuple[Alternative, ...]
    warnings: tuple[str, ...]
    equals: tuple[str, ...] = ()  # those among which it decides which one the engine has
    error: Fault | None = None
