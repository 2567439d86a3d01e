"""Where rocenv's own data lies: beside the package in a checkout, inside it in a wheel; and where people lay theirs."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
SYSTEM = Path("/etc/rocenv")


def data_folder(name: str) -> Path:
    """The folder `profiles` or `dockerfiles`, wherever this installation keeps it."""
    packed = PACKAGE / "data" / name
    return packed if packed.is_dir() else PACKAGE.parent / name


def user_folder() -> Path | None:
    """The folder of the user's own settings; None for a user without a home."""
    base, home = os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")
    if base and base.startswith("/"):
        return Path(base) / "rocenv"
    return Path(home) / ".config" / "rocenv" if home else None
