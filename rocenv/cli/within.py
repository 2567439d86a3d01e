"""`rocenv doctor --in ENV`: access seen from inside a container, as its user, by one `exec`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocenv import process
from rocenv.checks.facts import Facts
from rocenv.checks.run import run
from rocenv.cli import project
from rocenv.cli.examined import environment
from rocenv.engine import open_engine
from rocenv.errors import EngineError

if TYPE_CHECKING:
    from rocenv.model.check import Finding
    from rocenv.model.host import Host
    from rocenv.model.proof import Environment

PATIENCE = 30.0
# What can be told from inside; all else is the host's.
CHECKS = (
    "kfd.present", "kfd.topology", "groups.session", "userns.device-gid", "kfd.open", "kfd.access", "render.open",
    "render.access", "render.topology-match", "env.override-format", "env.override-noop", "gpu.visible-env",
    "env.ld-library-path", "container.shm", "seccomp.mempolicy", "image.group-gid",
)  # fmt: skip


def look_inside(name: str, facts: Facts, kind: str | None) -> list[Finding]:
    """The findings of access from within an environment, each told as such. Raises EngineError."""
    from rocenv.host.inside import SCRIPT, read_inside
    from rocenv.lifecycle.find import pick, running

    engine = open_engine(kind)
    folder = project.folder()
    there = running(pick(engine, project.name(folder), str(folder), name))
    argv = engine.exec_argv(there.container, ["sh", "-s"], interactive=True, tty=False)
    try:
        done = process.run(argv, seconds=PATIENCE, data=SCRIPT.read_bytes())
    except process.GivenUpError as error:
        raise EngineError(
            f"nothing came back from inside `{there.container}`, a node may hang there: {error}",
            "`sudo reboot` where a process is stuck in the driver (`rocenv doctor` tells)",
        ) from None
    if done.status != 0 or "end:" not in done.stdout:
        raise EngineError(
            f"`{there.container}` could not be looked into: {done.stderr.strip()[-300:] or 'no answer'}",
            "the image needs a POSIX shell (`sh`) for that",
        )
    seen = read_inside(done.stdout, facts.need_host())
    within = Facts(host=_given(seen.host, there), health=seen.health, env=environment(seen.env), image=seen.image)
    found = run(within, only=CHECKS)
    wanted = [one for one in found if one.check in CHECKS]
    return [one._replace(evidence=f"inside {there.container}: {one.evidence}") for one in wanted]


def _given(host: Host, there: Environment) -> Host:
    """The GPUs that matter in there: those that the plan gave it, and whatever else has its node in there."""
    from rocenv.smoke.planned import planned_gpus

    planned = {(gpu.bdf, gpu.partition) for gpu in planned_gpus(there.gpus, there.container)}
    kept = tuple(
        gpu for gpu in host.gpus if gpu.render_node_exists or (gpu.bdf, gpu.partition.index) in planned or not planned
    )
    return host._replace(gpus=kept)
