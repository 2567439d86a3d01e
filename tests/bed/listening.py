"""A dockerd of whatever is first on PATH, which can be asked from the moment that this prints its address.

It runs in a network of its own, so that its bridge is none of the bed's.
Arguments: a folder for its socket and data, which holds `daemon.json`, and the name of the cgroup for its containers.
"""

from __future__ import annotations

import os
import socket
import sys

_START = """folder=$0 cgroup=$1
export LISTEN_PID=$$
exec dockerd --config-file "$folder/daemon.json" --data-root "$folder/data" --exec-root "$folder/exec" \\
  --pidfile "$folder/pid" --host fd:// --bridge=none --iptables=false --ip6tables=false \\
  --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$cgroup" --log-level error 2> "$folder/log" """


def main() -> None:
    folder, cgroup = sys.argv[1:]
    line = socket.socket(socket.AF_UNIX)
    line.bind(f"{folder}/docker.sock")
    os.chmod(f"{folder}/docker.sock", 0o666)  # anybody in the bed may ask it
    line.listen()
    print(f"unix://{folder}/docker.sock", flush=True)
    os.dup2(os.dup(line.fileno()), 3)  # where an activated service looks for its socket, inheritable in any case
    os.environ["LISTEN_FDS"] = "1"
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", _START, folder, cgroup])


main()
