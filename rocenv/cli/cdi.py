"""`rocenv cdi`: specifications by which engines give GPUs by name, written, listed and checked."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rocenv.cli import console
from rocenv.errors import HostError, UsageError

if TYPE_CHECKING:
    from rocenv.model.health import CdiSpec
    from rocenv.model.host import Host
    from rocenv.report.cdi import Fault, Row

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    help="Write, list and check CDI specifications: `--device amd.com/gpu=…` of Docker 25, podman 4.1 and newer.",
    no_args_is_help=True,
)
From = Annotated[
    str | None,
    typer.Option("--host", metavar="PATH", help="Read a capture (folder or .tar.gz) instead of this machine."),
]
Folders = Annotated[
    list[str] | None,
    typer.Option("--folder", metavar="DIR", help="Look here too: a folder that an engine's settings name."),
]
Json = Annotated[bool, typer.Option("--json", help="The answer as JSON.")]


@app.command()
def generate(
    *,
    host: From = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to this file; without a word, to stdout."),
    ] = None,
    user: Annotated[bool, typer.Option("--user", help="Write to your own folder, ~/.config/cdi.")] = False,
    system: Annotated[bool, typer.Option("--system", help="Write to /etc/cdi, where every engine looks.")] = False,
    additional_gids: Annotated[
        bool,
        typer.Option(
            "--additional-gids",
            help="Name the nodes' groups for the engine to add (CDI 0.7; Docker 26 and 28 add none).",
        ),
    ] = False,
    print_units: Annotated[
        bool, typer.Option("--print-units", help="Show the systemd units that keep the file fresh, and write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a specification of the GPUs here: by index, UUID and BDF, `all`, and partitions one by one.

    Indices count as AMD's own tool counts, by the bus; names by BDF mean the same GPU after a reboot.
    """
    from rocenv.host import read_host
    from rocenv.lifecycle import cdi as files
    from rocenv.render.cdi import left_out, specification

    if sum((output is not None, user, system)) > 1:
        raise UsageError("`--output`, `--user` and `--system` exclude each other", "leave all but one away")
    file = files.own_file() if user else files.SYSTEM if system else output
    if print_units:
        _units(file or files.SYSTEM, user=user, as_json=as_json)
        return
    seen = read_host(host)
    if not seen.live and (user or system):
        raise UsageError("the capture of another host would become this one's", "`--output FILE` writes elsewhere")
    spec = specification(seen, additional_gids=additional_gids)
    left = left_out(seen)
    for name, why in left:
        console.warn(f"GPU {name} is left out: {why}")
    changed = files.write(file, spec) if file is not None else None
    if as_json:
        gone = [{"bdf": name, "why": why} for name, why in left]
        console.data_json(
            {"version": 1, "status": "ok", "file": file, "changed": changed, "left_out": gone, "specification": spec}
        )
    elif file is None:
        console.data(files.text_of(spec).rstrip())
    else:
        console.data(file)
        console.say(_told(spec, changed=bool(changed), user=user))


def _told(spec: dict[str, Any], *, changed: bool, user: bool) -> str:
    count = len(spec["devices"])
    done = "written" if changed else "as it was: nothing has changed"
    reads = "\nread by rootless Docker 29.2 and newer; others look in /etc/cdi (`--system`)" if user else ""
    return f"{count} names, CDI {spec['cdiVersion']}: {done}{reads}"


def _units(file: str, *, user: bool, as_json: bool) -> None:
    from rocenv.render.cdi import UNIT, units

    program = shutil.which(sys.argv[0]) or shutil.which("rocenv") or "rocenv"
    program = os.path.abspath(program)  # noqa: PTH100 (a link stays one)
    texts = units(program, os.path.abspath(file), user=user)  # noqa: PTH100
    folder = "~/.config/systemd/user" if user else "/etc/systemd/system"
    if as_json:
        console.data_json({"version": 1, "status": "ok", "folder": folder, "units": texts})
        return
    console.data("\n".join(f"# {folder}/{name}\n{text}" for name, text in texts.items()).rstrip())
    console.say(f"then: `systemctl {'--user ' if user else ''}enable --now {UNIT}.path {UNIT}.service`")
    if not user and os.stat(program).st_uid != 0:  # noqa: PTH116
        console.warn(f"`{program}` is not root's, and root would run it: install rocenv for the system first")


@app.command("list")
def list_devices(host: From = None, folder: Folders = None, *, as_json: Json = False) -> None:
    """List the devices of every specification: the GPU that each is now, and the file that it comes from."""
    from rocenv.report.cdi import list_json, list_text

    seen, specs = _read(host, folder, closed=False)
    rows = _rows(specs, seen)
    if as_json:
        console.data_json(list_json(rows))
    elif rows:
        console.data(list_text(rows))
    else:
        console.say("there is no CDI specification of amd.com/gpu; `rocenv cdi generate` makes one")


@app.command()
def check(host: From = None, folder: Folders = None, *, as_json: Json = False) -> int:
    """Check the specifications against the host: nodes that are gone or moved, and files that contradict each other.

    Ends with 3 where something is wrong, and names the one command that mends it.
    """
    from rocenv.report.cdi import check_json, check_text

    seen, specs = _read(host, folder, closed=True)
    faults = _faults(specs, seen)
    files = [spec.file for spec in specs]
    if as_json:
        console.data_json(check_json(faults, files))
    else:
        console.data(check_text(faults, files))
    return HostError.code if faults else 0


def _read(path: str | None, more: list[str] | None, *, closed: bool) -> tuple[Host, tuple[CdiSpec, ...]]:
    from rocenv.host import read_host, read_specs

    return read_host(path), read_specs(path, [os.path.abspath(one) for one in more or ()], closed=closed)  # noqa: PTH100


def _rows(specs: tuple[CdiSpec, ...], host: Host) -> list[Row]:
    from rocenv.report.cdi import Row
    from rocenv.rules.cdi import KIND, folders, found, stale

    seen = found(specs, folders(specs))
    shadowed = {(one.name, one.spec.file) for one in seen.shadowed}
    rows = []
    for spec in specs:
        for name, nodes in spec.devices.items() if spec.kind == KIND else ():
            old = stale(spec._replace(devices={name: nodes}), host)
            conflict = spec.file in seen.conflicts.get(name, ())
            state = (
                "conflict" if conflict else "shadowed" if (name, spec.file) in shadowed else "stale" if old else "ok"
            )
            paths = tuple(node.path for node in nodes)
            gpus = tuple(gpu.index for gpu in host.gpus if gpu.render_node in paths)
            rows.append(Row(f"{KIND}={name}", spec.file, paths, gpus, state))
    return rows


def _faults(specs: tuple[CdiSpec, ...], host: Host) -> list[Fault]:
    from rocenv.report.cdi import Fault
    from rocenv.rules.cdi import folders, found, generating, leaving_one, stale

    faults = [Fault(one.file, "unreadable", (one.problem,), generating(one.file)) for one in specs if one.problem]
    conflicts: dict[tuple[str, ...], list[str]] = {}
    for name, files in found(specs, folders(specs)).conflicts.items():
        conflicts.setdefault(files, []).append(name)
    for files, names in conflicts.items():
        what = f"{', '.join(names)}: also in {', '.join(files[1:])}; engines take none of them"
        faults.append(Fault(files[0], "conflict", (what,), leaving_one(files)))
    contradicting = {file for files in conflicts for file in files}  # one of them will be made anew anyway
    for spec in specs:
        lines = () if spec.problem or spec.file in contradicting else tuple(stale(spec, host))
        if lines:
            faults.append(Fault(spec.file, "stale", lines, generating(spec.file)))
    return faults
