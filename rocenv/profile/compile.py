"""Compile the built-in profiles (`profiles/*.yaml`) to the JSON that is read: `python -m rocenv.profile.compile`."""

from __future__ import annotations

import sys

from rocenv.errors import UsageError
from rocenv.profile.compiled import FILE, text
from rocenv.resources import data_folder


def main() -> None:
    """Write the file if its text has changed, and name it then."""
    folder = data_folder("profiles")
    path, now = folder / FILE, text(folder)
    if not path.exists() or path.read_text(encoding="utf-8") != now:
        path.write_text(now, encoding="utf-8")
        print(f"wrote {path}")  # noqa: T201


if __name__ == "__main__":
    try:
        main()
    except UsageError as error:
        sys.exit(f"error: {error.message}\n\nhint: {error.hint}")
