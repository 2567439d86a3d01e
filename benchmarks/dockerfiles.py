"""Milliseconds that 1,000 Dockerfiles take in one process, each of another profile; loading Jinja is not counted."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from render.recipes import dockerfile, packages

dockerfile(packages=packages(apt=("git",), pip=("einops",)))
begin = time.perf_counter()
for number in range(1000):
    dockerfile(packages=packages(apt=("git",), pip=(f"einops=={number}",)))
print(round((time.perf_counter() - begin) * 1000, 1))
