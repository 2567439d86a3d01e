"""Whether a container is what its labels say: anybody can write labels, so none is believed before it is looked at."""

from __future__ import annotations

import os
import re

from rocenv.model.proof import Environment

_WORD = re.compile(r"[a-z0-9][a-z0-9_.-]{0,127}")
_OWNER = re.compile(r"[0-9]{1,10}")


def own(there: Environment) -> bool:
    """True for a container that rocenv made for this user: its labels have rocenv's form, and its name is theirs."""
    labels = there.labels
    if there.owner != str(os.getuid()) or not _OWNER.fullmatch(there.owner):
        return False
    if there.name in ("", "audit"):  # of a moment's work: it has the name that the engine gave it
        return labels.get("rocenv.once") == "1"
    named = _WORD.fullmatch(there.name) and _WORD.fullmatch(there.project)
    return bool(named) and there.container == f"rocenv-{there.project}-{there.name}"
