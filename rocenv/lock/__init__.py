"""`rocenv.lock` as text and as a record, and how two of them differ. Pure: files are read and written elsewhere."""

from __future__ import annotations
