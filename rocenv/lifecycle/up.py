"""Bring an environment up: decide, then use, start, or make its container."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rocenv.engine import Engine
from rocenv.errors import EngineError, ImageError, NameTakenError, UsageError
from rocenv.lifecycle.cdi import with_specs
from rocenv.lifecycle.decided import changes, labelled, moved
from rocenv.lifecycle.equals import as_there
from rocenv.lifecycle.fetch import fetch, sources_must_be
from rocenv.lifecycle.find import elsewhere
from rocenv.lifecycle.held import OFF, planned
from rocenv.lifecycle.mounts import mounts_must_be_safe
from rocenv.lifecycle.packages import must_be_as_locked
from rocenv.lifecycle.volumes import prepare, unready
from rocenv.model.proof import Environment

if TYPE_CHECKING:
    from types import FrameType

    from rocenv.engine.pull import PullEvent
    from rocenv.model.plan import Plan
    from rocenv.model.wish import Profile
    from rocenv.plan import Request

Tell = Callable[[str], None]
Ask = Callable[[str], bool]
Progress = Callable[["PullEvent"], None]
ATTEMPTS = 3  # another `up` of the same name may win, and its environment be removed, between two looks
RUNNING = "running"
# Seconds between looks for a container that has its name already and is not listed yet: it is being made.
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)


def decide(engine: Engine, wished: Profile, request: Request, *, lock: str = OFF) -> Plan:
    """The plan for this machine and this engine. Raises whatever makes that impossible, with the way out.

    `lock`: how the project's lock counts, see `rocenv.lifecycle.held`.

    The engine's answers are awaited only after the host has been read: see `Engine.begin`.
    """
    from rocenv.engine.facts import other_kernel
    from rocenv.host import read_host, with_idle

    host = with_idle(read_host(), wished.gpus)
    if not host.live:
        raise UsageError("ROCENV_HOST names a capture, and no container can be started there", "`unset ROCENV_HOST`")
    facts = engine.facts()
    plan = planned(wished, host, facts, with_specs(request, facts), lock)
    mounts_must_be_safe(plan)
    elsewhere = other_kernel(facts, host) if plan.devices else None
    if elsewhere is not None:
        raise elsewhere
    if plan.image.packages and engine.image(plan.image.reference) is not None:
        must_be_as_locked(engine, plan)
    return plan


class Outcome(NamedTuple):
    """What `up` came to: the environment, and whether it was `created`, `recreated`, `started` or `used`."""

    environment: Environment
    action: str
    plan: Plan  # with the image that it runs from: an equal of the planned one, where that was here already


def up(
    engine: Engine, plan: Plan, *, tell: Tell, ask: Ask | None, progress: Progress, recreate: bool = False
) -> Outcome:
    """Bring the planned environment up, using the one that is there where it is the same.

    `ask` is None where nobody can be asked: what would be lost is then an error that names the way out.
    """
    plan = labelled(plan)
    refused: list[EngineError] = []
    for _ in range(ATTEMPTS):
        found = _there(engine, plan)
        if found:
            plan = as_there(plan, found[0])
            outcome = _again(engine, found[0], plan, tell=tell, ask=ask, progress=progress, recreate=recreate)
            if outcome is not None:
                return outcome
        made = _create(engine, plan, refused, tell=tell, progress=progress)
        if made is not None:
            return Outcome(made[0], "recreated" if found else "created", made[1])
    if refused:
        raise refused[-1]
    raise EngineError(f"`{plan.container}` was made and removed by others meanwhile", "`rocenv ps` shows what is there")


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP end the work as Ctrl-C does: what is half made is undone first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def look(engine: Engine, there: Environment) -> Environment:
    """The environment as the engine has it now, with the labels of its image and its digest, which `up` has no need of.

    Raises ImageError where its main process has ended again at once.
    """
    found = next((one for one in engine.find(project=there.project) if one.id == there.id), None)
    if found is None or found.state != RUNNING:
        raise ImageError(
            f"`{there.container}` was started, and did not stay: its image cannot run `sleep infinity`",
            f"`rocenv logs {there.name}` shows what it said; take an image that holds a shell and coreutils",
        )
    return found._replace(digest=engine.digests([found.id]).get(found.id))


def _again(
    engine: Engine,
    there: Environment,
    plan: Plan,
    *,
    tell: Tell,
    ask: Ask | None,
    progress: Progress,
    recreate: bool,
) -> Outcome | None:
    """Use or start the container that is there; None once it has been removed, to be made anew.

    It stays until what the new one is made of is there, so that a failure does not cost the old one.
    """
    _must_be_own(there, plan)
    if not recreate:
        differences = [] if _same_but_named(engine, there, plan) else changes(there, plan)
        renumbered = moved(there, plan)
        if differences or (renumbered and there.state == RUNNING):
            _agree(there, differences or renumbered, tell=tell, ask=ask)
        elif renumbered:
            tell(f"`{there.container}` was made with other device numbers ({'; '.join(renumbered)}): making it anew")
        elif there.state == RUNNING:
            return Outcome(there, "used", plan)
        elif _start(engine, there, tell):
            return Outcome(there._replace(state=RUNNING), "started", plan)
    sources_must_be(plan)
    fetch(engine, plan, tell=tell, progress=progress)
    engine.remove(there.id)
    return None


def _same_but_named(engine: Engine, there: Environment, plan: Plan) -> bool:
    """Whether a container differs from the plan in its image's name alone: the lock's is the very image it is of."""
    lines = changes(there, plan) if plan.image.ids and plan.image.base is None else []
    if len(lines) != 1 or not lines[0].startswith("image: "):
        return False
    return engine.made_of([there.id]).get(there.id) in plan.image.ids


def _must_be_own(there: Environment, plan: Plan) -> None:
    owner = plan.labels.get("rocenv.owner")
    if there.owner != owner:
        raise EngineError(
            f"`{there.container}` is an environment of another user (uid {there.owner}); it is left alone",
            "`--name OTHER` makes one of your own",
        )
    other = elsewhere(there, plan.labels.get("rocenv.folder", ""))
    if other is not None:
        raise EngineError(
            f"`{there.container}` is the environment of another folder of this name, `{other}`; it is left alone",
            "`--name OTHER` makes one for this folder",
        )


def _agree(there: Environment, differences: Sequence[str], *, tell: Tell, ask: Ask | None) -> None:
    """Have the user agree to lose the container that is there, or raise UsageError."""
    refusal = UsageError(
        f"`{there.container}` was made by another plan ({'; '.join(differences)}); it is left as it is",
        "`--recreate` makes it anew (its caches and /workspace stay), `--name OTHER` makes a second one",
    )
    if ask is None:
        raise refusal
    tell(f"`{there.container}` is there, made by another plan:")
    for line in differences:
        tell(f"  {line}")
    if not ask("Make it anew? What was installed inside is lost; its caches and /workspace stay."):
        raise refusal


def _start(engine: Engine, there: Environment, tell: Tell) -> bool:
    """Start a container that does not run; False where it was left half made and cannot be started."""
    try:
        if there.state == "paused":
            engine.unpause(there.id)
        else:
            engine.start_stopped(there.id)
    except EngineError as error:
        if there.state not in ("created", "dead", "removing"):
            raise
        tell(f"`{there.container}` was left half made ({error.message}): making it anew")
        return False
    return True


def _create(
    engine: Engine, plan: Plan, refused: list[EngineError], *, tell: Tell, progress: Progress
) -> tuple[Environment, Plan] | None:
    """Make and start the plan's container; None where another `up` made one of that name meanwhile.

    None too where the engine made it and could not start it, which may be another's doing: what it said is kept.
    The plan comes back as it was followed: with the image that is here.
    """
    try:
        identity, plan = _started(engine, plan, tell=tell, progress=progress)
    except NameTakenError:
        if _appears(engine, plan):
            return None
        raise
    except EngineError as error:
        if _there(engine, plan):
            refused.append(error)
            return None
        raise
    made = Environment(
        container=plan.container,
        id=identity,
        name=plan.name,
        project=plan.project,
        profile=plan.profile,
        state=RUNNING,
        reference=plan.image.reference,
        digest=None,
        plan=plan.labels.get("rocenv.plan", ""),
        gpus=plan.labels.get("rocenv.gpus", ""),
        owner=plan.labels.get("rocenv.owner"),
        created=None,
        labels=plan.labels,
    )
    return made, plan


def _appears(engine: Engine, plan: Plan) -> bool:
    """Whether the container that has the name is an environment of rocenv's, once the engine lists it."""
    for pause in PAUSES:
        if engine.listed(plan.container):
            break
        time.sleep(pause)
    return bool(_there(engine, plan))


def _started(engine: Engine, plan: Plan, *, tell: Tell, progress: Progress) -> tuple[str, Plan]:
    """The container's id and what it was made by, in the belief that the image is there: else the engine says so."""
    new = unready(engine, plan)
    if new:
        plan = fetch(engine, plan, tell=tell, progress=progress)
        prepare(engine, plan, new, tell)
    try:
        return engine.start(plan), plan
    except ImageError:
        if engine.image(plan.image.given) is not None:
            raise
    plan = fetch(engine, plan, tell=tell, progress=progress)
    return engine.start(plan), plan


def _there(engine: Engine, plan: Plan) -> list[Environment]:
    """The environment of the plan's name, if there is one. The whole project is asked for, as `Engine.begin` did."""
    return [there for there in engine.find(project=plan.project) if there.name == plan.name]
