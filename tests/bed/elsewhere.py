"""A second, real dockerd in the bed, which may take itself for another machine: another host name, another kernel.

It has a UTS namespace of its own, where it is `gpu-box`; with `--uname-2.6` setarch gives it a personality by which
uname answers 2.6. It listens on a socket of the bed's network and runs in a network of its own, so that its bridge is
none of the first one's.
Arguments: a folder for its sockets and logs, the address (`127.0.0.1`) or path to listen on, the folder for its data,
and setarch's flags. Prints the address.
"""

from __future__ import annotations

import os
import platform
import socket
import sys

NAME = "gpu-box"
# dockerd refuses kernels before 3.10 unless told otherwise.
_START = f"""hostname {NAME}; export LISTEN_PID=$$ DOCKER_NOWARN_KERNEL_VERSION=1
folder=$0 data=$1; shift
exec setarch "$@" dockerd --config-file "$folder/daemon.json" --data-root "$data" --exec-root "$folder/exec" \\
  --pidfile "$folder/pid" --host fd:// --bridge=none --iptables=false --ip6tables=false \\
  --log-level error 2> "$folder/log" """


def main() -> None:
    folder, place, data, *flags = sys.argv[1:]
    line = socket.socket(socket.AF_UNIX if place.startswith("/") else socket.AF_INET, socket.SOCK_STREAM)
    line.bind(place if place.startswith("/") else (place, 0))
    line.listen()
    address = f"unix://{place}" if place.startswith("/") else f"tcp://{place}:{line.getsockname()[1]}"
    if place.startswith("/"):
        os.chmod(place, 0o666)  # anybody in the bed may ask it
    with open(f"{folder}/daemon.json", "w") as settings:
        settings.write("{}")
    print(address, flush=True)
    os.dup2(os.dup(line.fileno()), 3)  # where an activated service looks for its socket, inheritable in any case
    os.environ["LISTEN_FDS"] = "1"
    os.execvp("unshare", ["unshare", "--uts", "--net", "sh", "-c", _START, folder, data, platform.machine(), *flags])


if __name__ == "__main__":
    main()
