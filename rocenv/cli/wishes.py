"""What the user wishes of a container: the options that `plan`, `up` and `run` share, and what they come to."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import project
from rocenv.errors import UsageError

if TYPE_CHECKING:  # what these bring along is imported while the engine is already being asked
    from rocenv.model.wish import Profile
    from rocenv.plan import Request

ProfileName = Annotated[
    str | None,
    typer.Argument(metavar="[PROFILE]", help="A profile or an environment of rocenv.yaml.", show_default=False),
]
Gpus = Annotated[
    str | None,
    typer.Option(
        "--gpus",
        metavar="WHICH",
        help="all, none, dgpu, apu, count=2, idle, idle=2, numa=0, or GPUs by index (0,2 or 0-3), gfx target, BDF "
        "(BDF/2 for a partition), UUID or render node; commas join them. Default: all discrete GPUs, or all if there "
        "is none.",
    ),
]
Image = Annotated[str | None, typer.Option("--image", metavar="REF", help="This image instead of a chosen one.")]
Name = Annotated[str | None, typer.Option("--name", help="The environment's name; by default the profile's.")]
Env = Annotated[
    list[str] | None,
    typer.Option("-e", "--env", metavar="K[=V]", help="Set a variable; K alone passes the caller's own on, unseen."),
]
EnvFile = Annotated[
    str | None,
    typer.Option(
        "--env-file", metavar="FILE", help="Set the variables of a file of NAME=VALUE lines, without writing a value."
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME[=FILE]",
        help="Mount a file, or the value of the caller's variable NAME, at /run/secrets/NAME.",
    ),
]
Mounts = Annotated[
    list[str] | None,
    typer.Option("--mount", metavar="SRC:DST[:ro]", help="Mount this instead of the profile's mounts."),
]
Ports = Annotated[
    list[str] | None,
    typer.Option("-p", "--port", metavar="HOST:CONTAINER", help="Publish this instead of the profile's."),
]
User = Annotated[str | None, typer.Option("--user", help="Who runs in it: caller, image, root or UID[:GID].")]
ShmSize = Annotated[str | None, typer.Option("--shm-size", metavar="SIZE", help="Size of /dev/shm, as `16g`.")]
Loosen = Annotated[
    list[str] | None,
    typer.Option(
        "--loosen", metavar="WHAT", help="Loosen by name, commas join them: sudo, ptrace, perf, numa, rdma, host-ipc."
    ),
]
Via = Annotated[
    str | None,
    typer.Option(
        "--via",
        metavar="WAY",
        help="How the GPUs come in: devices (the nodes, the default), cdi (by name, see `rocenv cdi`) or "
        "runtime (AMD's container runtime).",
    ),
]
Cpu = Annotated[bool, typer.Option("--cpu", help="Give no GPU at all, on purpose.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse whatever would loosen anything.")]

Locked = Annotated[
    bool, typer.Option("--locked", help="Demand the image of rocenv.lock; without a word, it is taken where it holds.")
]
Frozen = Annotated[
    bool, typer.Option("--frozen", help="The same, and refuse whatever has drifted from rocenv.lock (status 7).")
]
NoLock = Annotated[bool, typer.Option("--no-lock", help="Plan as if there were no rocenv.lock.")]
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")


def read_wishes(
    profile: str | None,
    *,
    gpus: str | None = None,
    image: str | None = None,
    name: str | None = None,
    env: Sequence[str] | None = None,
    env_file: str | None = None,
    mounts: Sequence[str] | None = None,
    ports: Sequence[str] | None = None,
    user: str | None = None,
    shm_size: str | None = None,
    loosen: Sequence[str] | None = None,
    cpu: bool = False,
    strict: bool = False,
    via: str | None = None,
    more: Mapping[str, object] | None = None,
) -> tuple[Profile, Request]:
    """The profile with all layers and flags in it, and what the command line adds. Raises UsageError.

    `more` are other keys of a profile, as a command's own options set them; None leaves one as it is.
    """
    from rocenv.profile import load_profile

    if name is not None and not _NAME.fullmatch(name):
        raise UsageError(f"`{name}` is no name for an environment", "small letters, digits, `_`, `.` and `-`")
    if cpu and gpus not in (None, "none"):
        raise UsageError(f"`--cpu` gives no GPU, and `--gpus {gpus}` asks for some", "leave one of them away")
    wishes = {
        "gpus": gpus,
        "image.reference": image,
        "env": {**_filed(env_file), **_variables(env or ())} or None,
        "mounts": mounts or None,
        "ports": ports or None,
        "user": user,
        "shm_size": shm_size,
        "loosen": [word for one in loosen for word in one.split(",")] if loosen else None,
        "strict": True if strict else None,
        **(more or {}),
    }
    folder = project.folder()
    wished = load_profile(
        profile, project=folder, overrides={key: value for key, value in wishes.items() if value is not None}
    )
    return wished, read_request(name, cpu=cpu)._replace(via=via)


def lock_mode(*, locked: bool, frozen: bool, no_lock: bool) -> str:
    """How the project's lock counts (`rocenv.lifecycle.held`). Raises UsageError for what excludes each other."""
    if no_lock and (locked or frozen):
        raise UsageError(f"`--no-lock` and `--{'frozen' if frozen else 'locked'}` exclude each other", "leave one away")
    return "frozen" if frozen else "locked" if locked else "off" if no_lock else "auto"


def read_request(name: str | None = None, *, cpu: bool = False) -> Request:
    """What the command line adds to any profile: the project that the caller stands in, and an environment's name."""
    from rocenv.plan import Request

    folder = project.folder()
    return Request(
        project=project.name(folder), project_folder=str(folder), name=name, cpu=cpu, home=os.environ.get("HOME")
    )


def _filed(file: str | None) -> dict[str, str]:
    """The variables of a file by their names; from here on they are this process's own, for the engine to take up."""
    if file is None:
        return {}
    from rocenv.lifecycle.hidden import read_env_file

    found = read_env_file(file)
    os.environ.update(found)
    return {name: f"${name}" for name in found}


def _variables(words: Sequence[str]) -> dict[str, str]:
    """`K=V` as it stands; `K` alone as `$K`, which passes the caller's own value by name."""
    pairs = [word.partition("=") for word in words]
    for key, sign, _ in pairs:
        if not sign and any(0xD800 <= ord(letter) <= 0xDFFF for letter in os.environ.get(key, "")):  # noqa: PLR2004
            raise UsageError(f"`-e {key}`: the value of {key} here is no UTF-8 text", f"`-e {key}=…` sets another one")
    return {key: value if sign else f"${key}" for key, sign, value in pairs}
