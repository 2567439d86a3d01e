"""`rocenv bundle save` that is ended while the engine is writing: no file, no half of one, no process left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from rocenv.lock.text import lock_text
from rocenv.model.lock import Lock, Locked, LockedImage

DIGEST = f"sha256:{'a' * 64}"
# Says what `docker` would; of an image that it is to save it begins to write, tells so, and goes on for ever.
DOCKER = """\
#!/bin/sh
case "$1" in
  info) echo '{"ServerVersion": "28.0.0", "ClientInfo": {"Version": "28.0.0"}}' ;;
  image) echo '[{"Id": "sha256:0", "Config": {}}]' ;;
  save) cat begun; echo $$ > started; exec sleep 1000 ;;
esac
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left(tmp_path: Path, number: signal.Signals) -> None:
    program, project = tmp_path / "bin" / "docker", tmp_path / "project"
    program.parent.mkdir()
    project.mkdir()
    program.write_text(DOCKER)
    program.chmod(0o755)
    (project / "rocenv.yaml").write_text("extends: hip\nimage: {reference: 'example.org/x:1'}\n")
    locked = Locked("hip", {"image.reference": "example.org/x:1"}, LockedImage("example.org/x:1", DIGEST))
    (project / "rocenv.lock").write_text(lock_text(Lock({"hip": locked})))
    layer = tarfile.TarInfo("0/layer.tar")
    layer.size = 1 << 30
    (project / "begun").write_bytes(layer.tobuf() + bytes(3 << 20))
    os.mkfifo(project / "started")
    told = os.open(project / "started", os.O_RDWR)
    before = sorted(one.name for one in project.iterdir())
    with subprocess.Popen(
        [sys.executable, "-m", "rocenv", "bundle", "save", "b.tar", "--offline"], cwd=project, stderr=subprocess.PIPE,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(tmp_path)},
    ) as rocenv:  # fmt: skip
        assert select.select([told], [], [], 60)[0]
        engine = int(os.read(told, 64))
        assert any(one.name.startswith(".b.tar.") for one in project.iterdir())
        rocenv.send_signal(number)
        _, said = rocenv.communicate(timeout=60)
    assert rocenv.returncode == 130, said
    assert sorted(one.name for one in project.iterdir()) == before
    os.close(told)
    with pytest.raises(ProcessLookupError):
        os.kill(engine, 0)
