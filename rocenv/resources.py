"""Where rocenv's own data lies: beside the package in a checkout, inside it in a wheel."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder `profiles` or `dockerfiles`, wherever this installation keeps it."""
    packed = PACKAGE / "data" / name
    return packed if packed.is_dir() else PACKAGE.parent / name
