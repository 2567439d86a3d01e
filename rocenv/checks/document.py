"""Write docs/checks.md from the catalogue: `python -m rocenv.checks.document > docs/checks.md`."""

from __future__ import annotations

from rocenv.checks.catalogue import catalogue
from rocenv.report.doctor import list_markdown


def document() -> str:
    """The whole page."""
    return list_markdown([entry.check for entry in catalogue().values()])


if __name__ == "__main__":
    print(document(), end="")  # noqa: T201
