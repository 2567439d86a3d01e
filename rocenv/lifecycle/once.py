"""A one-off container, for `run`: all made ready, then the engine's own command line takes over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rocenv.engine import Engine
from rocenv.errors import UsageError
from rocenv.lifecycle import hidden
from rocenv.lifecycle.fetch import fetch
from rocenv.lifecycle.volumes import prepare, unready

if TYPE_CHECKING:
    from rocenv.engine.pull import PullEvent
    from rocenv.lifecycle.hidden import Secret
    from rocenv.model.plan import Plan


def named_once(plan: Plan) -> Plan:
    """The plan with a name of its own, so that others of the profile can run beside it.

    Home folder and caches stay the profile's.
    """
    import secrets

    name = f"{plan.name}-run-{secrets.token_hex(4)}"
    return plan._replace(name=name, labels={**plan.labels, "rocenv.name": name, "rocenv.once": "1"})


def once_argv(
    engine: Engine,
    plan: Plan,
    command: Sequence[str],
    *,
    tell: Callable[[str], None],
    progress: Callable[[PullEvent], None],
    interactive: bool,
    tty: bool,
    secrets: Sequence[Secret] = (),
) -> list[str]:
    """Make all ready for a one-off container, and return the command line that runs it and removes it afterwards."""
    from rocenv.render.argv import run_argv

    plan = hidden.given(named_once(plan), secrets)
    plan = fetch(engine, plan, tell=tell, progress=progress)
    prepare(engine, plan, unready(engine, plan), tell)
    with suppress(OSError, UsageError):  # without it `prune` cannot tell whether this one is abandoned
        hidden.hold(plan.container)
    if secrets:
        hidden.sweep(engine)
        hidden.write(plan.container, secrets)
    return run_argv(plan, detach=False, remove=True, interactive=interactive, tty=tty, command=command)
