"""Environment variables of the container: whose value counts, and which are passed by name so that none is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rocenv.model.plan import Reason
from rocenv.model.wish import Profile
from rocenv.plan.access import Access
from rocenv.plan.storage import Storage
from rocenv.rules.secrets import is_secret


class Environment(NamedTuple):
    """Variables with their values, and those that are passed by name alone."""

    values: Mapping[str, str]
    names: tuple[str, ...]
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...]


def environment(profile: Profile, given: Access, stored: Storage) -> Environment:
    """The variables: rocenv's own, then those of the caches, then the profile's, later ones over earlier.

    Where a visibility variable makes a subset it is the only one: HIP counts within ROCR's list, so two would differ.
    """
    own = {"USER": "rocenv", "LOGNAME": "rocenv"} if given.user not in (None, "0:0") else {}
    chooser = dict(given.env)
    dropped = [key for key in profile.env if chooser and key.endswith("_VISIBLE_DEVICES")]
    wished = {key: value for key, value in profile.env.items() if key not in dropped}
    by_name = tuple(sorted(key for key, value in wished.items() if value == f"${key}"))
    literal = {key: value for key, value in wished.items() if key not in by_name}
    reasons = [_reason(profile, key, value) for key, value in literal.items()]
    reasons += [
        Reason(f"env {key}", "the caller's own", "passed by name: its value is written nowhere") for key in by_name
    ]
    if own:
        reasons.append(Reason("env USER", "rocenv", "the image knows no name for this uid, and programs ask for one"))
    warnings = [f"{key} of the profile is dropped: {next(iter(chooser))} alone chooses GPUs here" for key in dropped]
    warnings += [f"{_exposed(key)}" for key in literal if is_secret(key)]
    return Environment({**own, **stored.env, **literal, **chooser}, by_name, tuple(reasons), tuple(warnings))


def _reason(profile: Profile, key: str, value: str) -> Reason:
    shown = "(not shown)" if is_secret(key) else value
    return Reason(f"env {key}", shown, f"set by {profile.origins.get(f'env.{key}', 'the profile')}")


def _exposed(key: str) -> str:
    return f"the value of {key} would stand in the command line: `-e {key}` passes the caller's own by name"
