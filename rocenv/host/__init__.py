"""Reading a host: its GPUs, driver, ROCm, access and environment, from files alone; no process is started.

`Host` holds what was seen and no opinions. Whatever is unreadable costs its own fact and is named in `problems`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocenv.host.source import LARGE, Root, ThisMachine
from rocenv.model.host import Host, Link

if TYPE_CHECKING:
    from rocenv.host.save import Saved
    from rocenv.host.shapes import Source
    from rocenv.host.usage import Using
    from rocenv.model.health import CdiSpec, Health


def read_host(path: str | None = None, *, chips: bool = False) -> Host:
    """The host at `path`, a capture's folder or .tar.gz; without one that of $ROCENV_HOST, else this machine.

    `chips`: look up in pci.ids, for people, what devices without a name of their own are.
    Raises UsageError for what is no capture.
    """
    from rocenv.host.read import read

    source = open_source(path)
    return read(Root(source), chips=chips)


def examine(path: str | None = None) -> tuple[Host, Health]:
    """A host as `read_host` has it, and what the doctor looks at beyond it; live, its device nodes are opened."""
    from rocenv.host.health import read_health
    from rocenv.host.read import read

    root = Root(open_source(path))
    host = read(root)
    return host, read_health(root, host)


def examine_bundle(path: str, name: str) -> tuple[Host, Health, bytes | None]:
    """The same of a capture, and what `save_capture` put beside it under that name, None where there is nothing."""
    from rocenv.host.health import read_health
    from rocenv.host.read import read

    root = Root(open_source(path))
    host = read(root)
    return host, read_health(root, host), root.data(f"/captures/{name}", LARGE, quiet=True)


def read_specs(path: str | None = None, more: Sequence[str] = (), *, closed: bool = False) -> tuple[CdiSpec, ...]:
    """The CDI specifications of a host for AMD's GPUs: see rocenv.host.cdi."""
    from rocenv.host import cdi

    return cdi.read_specs(Root(open_source(path)), more, closed=closed)


def read_usage(path: str | None = None) -> tuple[Host, tuple[Using, ...], Mapping[int, int | None]]:
    """A host, the processes on its GPUs, and the bytes in use on each GPU's card, by the GPU's index."""
    from rocenv.host import usage
    from rocenv.host.read import read

    root = Root(open_source(path))
    host = read(root)
    return host, usage.using(root), {gpu.index: usage.vram_used(root, gpu) for gpu in host.gpus}


def with_idle(host: Host, words: str, path: str | None = None) -> Host:
    """The host with what nobody uses of it at this moment, where a selection of GPUs asks for that."""
    if "idle" not in words:
        return host
    from rocenv.host.usage import idle

    return host._replace(idle=idle(Root(open_source(path)), host))


def read_links(path: str | None = None) -> tuple[Link, ...]:
    """Every io_link of every GPU of a host: thousands of files on a large one, so only where it is asked for."""
    from rocenv.host.topology import links, read_topology

    source = open_source(path)
    root = Root(source)
    return links(root, read_topology(root))


def save_capture(
    file: str, path: str | None = None, *, anonymous: bool, beside: Mapping[str, bytes] | None = None
) -> Saved:
    """Write what `read_host` reads of a host to `file`, a .tar.gz without personal details; see rocenv.host.save."""
    from rocenv.host.save import save

    return save(open_source(path), file, anonymous=anonymous, beside=beside)


def open_source(path: str | None = None) -> Source:
    """Where a host's facts come from: see `read_host`."""
    where = path or os.environ.get("ROCENV_HOST")
    if not where:
        return ThisMachine()
    from rocenv.host.capture import open_capture

    return open_capture(where)
