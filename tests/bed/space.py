"""The namespaces of a bed: start process 1 of them, enter them, end them.

Mounts, network, and processes of a bed live in namespaces of its own; ending their process 1 ends all of it at once,
whatever state it is in, and nothing of it can be seen or reached from outside but the socket in the bed's run folder.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bed import host
from bed.place import IMAGES, Bed, BedError, remove_cgroups, remove_tree, say

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HERE = Path(__file__).resolve().parent
# The group of the engine's socket. It has no name, and the bed's user is in it: as `docker` on a real machine.
SOCKET_GID = 2375
START_SECONDS = 90
# Of the caller's environment nothing reaches the bed but what a terminal needs.
KEPT = ("TERM", "COLORTERM", "LANG", "LC_ALL", "COLUMNS", "LINES", "NO_COLOR", "TZ")


def _process_one(bed: Bed) -> list[str]:
    """The command line of the bed's process 1; the run folder at its end tells this bed from any other."""
    return ["/bin/sh", str(HERE / "inside.sh"), str(bed.run)]


def _keeper(bed: Bed) -> list[str]:
    """The command line of the process that holds the bed's namespaces and waits for process 1."""
    return ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *_process_one(bed)]


def _find(argv: list[str]) -> int | None:
    """The process with exactly this command line, or None.

    Nothing is remembered in a file that a crash or a reboot would make wrong.
    """
    wanted = b"".join(word.encode() + b"\0" for word in argv)
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == wanted:
                return int(path.parent.name)
    return None


def is_up(bed: Bed) -> bool:
    """True when the bed's engine has answered and its process 1 still runs."""
    return (bed.run / "ready").exists() and _find(_keeper(bed)) is not None


def start(bed: Bed) -> None:
    """Start the bed; nothing happens when it is up. What a dead one left in /run is cleared first."""
    if is_up(bed):
        return
    end(bed)
    bed.run.mkdir(mode=0o755)
    _write_runtime(bed)
    say(f"starting the host `{bed.name}` and its Docker")
    environment = {
        "PATH": PATH,
        "FOLDER": str(bed.folder),
        "IMAGES": str(IMAGES),
        "HOST": str(host.build(bed)),
        "NODES": str(host.write_nodes(bed)),
        "CGROUP": bed.cgroup,
        "SOCKET_GID": str(SOCKET_GID),
        "BUSYBOX": shutil.which("busybox", path=PATH) or "busybox",
    }
    with (bed.run / "bed.log").open("wb") as log:
        process = subprocess.Popen(
            _keeper(bed), env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    _wait_until_ready(bed, process)


def _wait_until_ready(bed: Bed, process: subprocess.Popen[bytes]) -> None:
    """Return when the engine has answered; end the bed and show its logs when it has not."""
    deadline = time.monotonic() + START_SECONDS
    while not (bed.run / "ready").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            logs = [f"--- {path.name}\n{_tail(path)}" for path in sorted(bed.run.glob("*.log"))]
            end(bed)
            raise BedError("\n".join(["the bed's engine did not start", *logs]))
        time.sleep(0.05)


def _tail(path: Path) -> str:
    """The last lines of a log."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-20:])


def _write_runtime(bed: Bed) -> None:
    """Put a `runc` before the real one on the engine's PATH, so that the bed's runtime has the name it has anywhere."""
    runc = shutil.which("runc", path=PATH)
    if runc is None:
        raise BedError("`runc` is not installed")
    script = bed.run / "bin" / "runc"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", str(HERE / "runtime.py"), runc])} "$@"\n'
    )
    script.chmod(0o755)


def end(bed: Bed) -> None:
    """End the bed at once and clear its run folder and cgroups; its data in `.testbed/` stays.

    The kernel ends every process of the bed before process 1 is gone, and the keeper goes after it.
    """
    keeper = _find(_keeper(bed))
    if keeper is not None:
        one = _find(_process_one(bed))
        os.kill(keeper if one is None else one, signal.SIGKILL)
        while _find(_keeper(bed)) == keeper:
            time.sleep(0.02)
    remove_tree(bed.run)
    remove_cgroups(bed)


def entering(bed: Bed, argv: Sequence[str], *, user: tuple[int, int] | None, folder: Path) -> list[str]:
    """The command line that runs `argv` in the bed, in `folder`, as `user` (uid and gid) or else as root.

    The user is in the group of the engine's socket and in none of the nodes' groups. It may search folders that are
    closed to it (the checkout may lie in root's home), by that one capability; it cannot write there.
    """
    pid = _find(_keeper(bed))
    if pid is None:
        raise BedError(f"the bed `{bed.name}` is not up")
    spaces = f"/proc/{pid}/ns"
    enter = ["nsenter", f"--mount={spaces}/mnt", f"--net={spaces}/net", f"--pid={spaces}/pid_for_children"]
    become = []
    if user is not None:
        become = ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", f"--groups={SOCKET_GID}"]
        become += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return [*enter, "--", *become, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(folder), *argv]


def environment(bed: Bed, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command in the bed: that of a fresh login, and `extra`."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {"PATH": PATH, "HOME": str(bed.home), "PYTHONDONTWRITEBYTECODE": "1", **kept, **extra}
