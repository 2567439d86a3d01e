"""Compile the built-in profiles (`profiles/*.yaml`) to the JSON that is read: `python -m rocenv.profile.compile`."""

from __future__ import annotations

from rocenv.catalog.compile import renew, run
from rocenv.profile.compiled import FILE, text
from rocenv.resources import data_folder


def main() -> None:
    """Write the file if its text has changed, and name it then."""
    folder = data_folder("profiles")
    renew(folder / FILE, text(folder))


if __name__ == "__main__":
    run(main)
