"""The disk that an engine's volume takes, where this user may look at it."""

from __future__ import annotations

import os

_MOST = 200_000  # files: counting more takes longer than anybody waits


def held(folder: str) -> int | None:
    """The bytes of the files in a folder; None where it may not be read, or holds more than can be counted soon."""
    total, seen, todo = 0, 0, [folder]
    try:
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
            if seen > _MOST:
                return None
    except OSError:
        return None
    return total
