"""A newer Docker in the bed for as long as a test wants it, and rootful podman: what their tests share."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bed import engines, images, life, space
from bed.place import Bed

if TYPE_CHECKING:
    from conftest import TestBed

BED = Bed("test")
LISTENING = Path(__file__).with_name("listening.py")
STAND_IN_RUNTIME = Path(__file__).with_name("standin_runtime.py")


class Newer(NamedTuple):
    """A running daemon: its folder (with `cdi`, where it looks for specifications), and its programs."""

    folder: Path
    programs: Path
    address: str

    def seen_from(self, bed: TestBed) -> TestBed:
        """The bed with this engine for its engine."""
        path = f"{self.programs}:{space.PATH}"
        return replace(bed, variables={"DOCKER_HOST": self.address, "PATH": path})


@contextmanager
def dockerd(suite: str, settings: dict[str, Any], *, amd: bool = False) -> Iterator[Newer]:
    """The Docker of a Debian suite with these settings and the small image, as long as it is wanted.

    `amd`: with a runtime of that name, which stands in for AMD's.
    """
    programs = engines.unpacked(suite)
    folder = Path(tempfile.mkdtemp(prefix="rocenv-new-"))  # a short path: it holds sockets
    folder.chmod(0o755)
    (folder / "cdi").mkdir()
    runtime = folder / "amd-stand-in"
    words = f'{sys.executable} -I -S {STAND_IN_RUNTIME} {BED.run}/bin/runc "$@"'
    runtime.write_text(f"#!/bin/sh\nexec {words}\n")
    runtime.chmod(0o755)
    more = {"runtimes": {"amd": {"path": str(runtime)}}} if amd else {}
    (folder / "daemon.json").write_text(json.dumps({"cdi-spec-dirs": [f"{folder}/cdi"], **more, **settings}))
    environment = space.environment(BED, {"PATH": f"{BED.run}/bin:{programs}:{space.PATH}"})
    argv = life.argv(BED, [sys.executable, str(LISTENING), str(folder), BED.cgroup], as_root=True)
    child = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    address = child.stdout.readline().strip()
    try:
        # A connection waits until the daemon takes it: no sleep, no second try.
        load = f"docker save {images.SMALL} | {programs}/docker --host {address} load"
        done = life.run(BED, ["sh", "-c", load], as_root=True)
        assert done.returncode == 0, done.stderr + (folder / "log").read_text()
        yield Newer(folder, programs, address)
    finally:
        life.run(BED, ["sh", "-c", f"kill $(cat {folder}/pid)"], as_root=True)
        child.wait()
        child.stdout.close()
        shutil.rmtree(folder)
