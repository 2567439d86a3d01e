"""A Plan as the engine's command line: what `plan` shows is, word for word, what `up` runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from rocenv.model.plan import Mount, Plan
from rocenv.report.text import size_words

# The main process of an environment only waits: `up` starts it, `exec` and `shell` work beside it.
WAIT = ("sleep", "infinity")


def run_argv(
    plan: Plan,
    *,
    detach: bool = True,
    remove: bool = False,
    interactive: bool = False,
    tty: bool = False,
    command: Sequence[str] = (),
) -> list[str]:
    """The whole command line; `command` in place of waiting. The image's own entry point is never used."""
    switches = {"--detach": detach, "--rm": remove, "--interactive": interactive, "--tty": tty}
    program, *arguments = command or WAIT
    return [
        plan.engine.kind,
        "run",
        *(switch for switch, wanted in switches.items() if wanted),
        f"--name={plan.container}",
        "--init",
        *_reach(plan),
        *_confinement(plan),
        *(f"--env={key}={value}" for key, value in plan.env.items()),
        *(f"--env={key}" for key in plan.env_names),
        *(_mount(mount) for mount in plan.mounts),
        *(f"--publish={port}" for port in plan.ports),
        f"--workdir={plan.workdir}",
        *(f"--label={key}={value}" for key, value in plan.labels.items()),
        f"--entrypoint={program}",
        plan.image.given,
        *arguments,
    ]


def shell_text(argv: Sequence[str]) -> str:
    """A command line to read and to copy: quoted for the shell, one option a line."""
    lines: list[str] = []
    words = iter(argv)
    lines.append(" ".join(shlex.quote(word) for word in (next(words), next(words))))
    rest: list[str] = []
    for word in words:
        if rest or not word.startswith("-"):
            rest.append(shlex.quote(word))
        else:
            lines.append(shlex.quote(word))
    return " \\\n  ".join([*lines, " ".join(rest)])


def _reach(plan: Plan) -> Iterable[str]:
    """Devices, groups by number, and who runs."""
    if plan.runtime is not None:
        yield f"--runtime={plan.runtime}"
    yield from (f"--device={name}" for name in plan.cdi)
    yield from (f"--device={path}" for path in plan.devices if path not in plan.injected)
    if plan.keep_groups:
        yield "--group-add=keep-groups"
    else:
        yield from (f"--group-add={gid}" for gid in plan.groups)
    if plan.user is not None:
        yield f"--user={plan.user}"
    if plan.userns is not None:
        yield f"--userns={plan.userns}"
    yield from (f"--uidmap={row}" for row in plan.uidmap)
    yield from (f"--gidmap={row}" for row in plan.gidmap)


def _confinement(plan: Plan) -> Iterable[str]:
    yield from (f"--security-opt={option}" for option in plan.security)
    yield from (f"--cap-add={name}" for name in plan.cap_add)
    if plan.ipc is not None:
        yield f"--ipc={plan.ipc}"
    if plan.shm_size is not None:
        yield f"--shm-size={size_words(plan.shm_size)}"
    yield from (f"--ulimit={limit}" for limit in plan.ulimits)


def _mount(mount: Mount) -> str:
    """A mount as one word. --mount refuses a source that is missing, where --volume would make a folder of root's."""
    if "," in mount.source + mount.target or '"' in mount.source + mount.target:
        return f"--volume={mount.source}:{mount.target}{':ro' if mount.read_only else ''}"
    words = f"--mount=type={mount.kind},source={mount.source},target={mount.target}"
    return f"{words},readonly" if mount.read_only else words
