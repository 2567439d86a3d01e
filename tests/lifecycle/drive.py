"""Runs one life-cycle verb in a process of its own, for tests that kill it: `python drive.py up|again|start|down PLAN`.

PLAN is the plan's fields as JSON; what is said goes to stderr.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing

from rocenv.engine import open_engine
from rocenv.lifecycle.down import down
from rocenv.lifecycle.start import stale, start
from rocenv.lifecycle.up import terminable, up
from rocenv.model.plan import EngineFacts, ImageChoice, Mount, Plan


def say(text: str) -> None:
    print(text, file=sys.stderr)


def main(verb: str, text: str) -> None:
    fields = json.loads(text)
    fields["engine"] = EngineFacts("docker")
    fields["image"] = ImageChoice(fields["image"], "flag")
    fields["mounts"] = tuple(Mount(*mount) for mount in fields["mounts"])
    plan = Plan(**fields)
    with closing(open_engine("docker")) as engine, terminable():
        engine.begin(plan.project)
        if verb in ("up", "again"):
            up(engine, plan, tell=say, ask=None, progress=lambda _: None, recreate=verb == "again")
        elif verb == "start":
            [there] = engine.find(project=plan.project)
            if there.state != "running" and not stale(there):
                start(engine, there)
        else:
            found = engine.find(project=plan.project)
            down(engine, found, volumes=engine.mounted([there.id for there in found]), tell=say)


main(*sys.argv[1:])
