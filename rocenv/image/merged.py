"""Layers laid over each other, as an engine mounts them: what of the lower ones can still be seen.

Source of the rules: the OCI image specification, "Image Layer Filesystem Changeset".
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from rocenv.image.layer import Found, Layer


def visible(layers: Sequence[Layer]) -> dict[str, Found]:
    """What is found in an image of these layers, the lowest first, by its path."""
    seen: dict[str, Found] = {}
    for layer in layers:
        if seen:
            seen = _beneath(seen, layer)
        seen.update(layer.found)
    return seen


def _beneath(seen: dict[str, Found], layer: Layer) -> dict[str, Found]:
    """What is left of the lower layers under this one.

    A path goes where it is replaced or removed itself, and where a folder above it is removed, emptied (opaque), or
    replaced by what is no folder.
    """
    above = {hash(path) for path in seen} | {hash(folder) for folder in {one for path in seen for one in _above(path)}}
    files = _common(layer.paths, above)
    folders = _common(layer.folders, {hash(path) for path in seen})
    gone: dict[str, bool] = {}

    def hidden(folder: str) -> bool:
        """Whether a folder of the lower layers cannot be seen any more; each is looked at once."""
        if folder not in gone:
            gone[folder] = "" in layer.opaque or any(
                one in layer.opaque or one in layer.removed or hash(one) in files for one in _above(f"{folder}/")
            )
        return gone[folder]

    return {
        path: found
        for path, found in seen.items()
        if path not in layer.removed
        and hash(path) not in files
        and hash(path) not in folders
        and not hidden(path.rpartition("/")[0])
    }


def _common(hashes: array[int], wanted: set[int]) -> set[int]:
    return {one for one in hashes if one in wanted}


def _above(path: str) -> Iterator[str]:
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)
