"""`./dev demo`: the real `rocenv up pytorch` on the bed's host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bed import life, space
from bed.place import Bed, BedError, say

BED = Bed("demo")
ROCENV = Path(sys.prefix) / "bin" / "rocenv"
# Half of what lets a probe run on the CPU; the image's label is the other. Set here and nowhere else.
STAND_IN = {"ROCENV_STAND_IN": "1"}
HELLO = '''\
"""What a project might start with: which GPUs does PyTorch see here?"""

import torch

print("torch", torch.__version__, "for HIP", torch.version.hip)
print("GPUs:", [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())])
'''
NEXT = """
That was `rocenv up pytorch` on a host made of files: four MI300X in sysfs and device nodes of their own, no driver.
/workspace is {project}. The registry of the demo holds the image of `pytorch`, and no other.
Go on with
  ./dev demo shell                  a shell in the container
  ./dev demo rocenv detect          any other command of rocenv on that host: plan pytorch, ps, exec, test …
  ./dev demo down                   remove all of it: container, engine, registry, images and that /workspace"""
WORDS = """
In the demo, `rocenv …` is `./dev demo rocenv …`; `./dev demo rocenv up pytorch --recreate` makes the container anew."""


def demo(arguments: Sequence[str]) -> int:
    """Run the demo, or one command in it; `down` is the command line's."""
    match list(arguments):
        case []:
            return _main_job()
        case ["shell", *rest]:
            _rocenv(["shell", *rest])
        case ["rocenv", *rest]:
            _rocenv(rest)
        case [word, *_]:
            raise BedError(f"`./dev demo {word}`: it takes nothing, `shell`, `rocenv ARGS…` or `down`")
    return 0


def _main_job() -> int:
    """Bring the bed up and run the main job in a small project, as the bed's user."""
    _must_be_whole()
    life.up(BED)
    _write_project()
    say("on that host, in a small project: $ rocenv up pytorch\n")
    command = life.argv(BED, [str(ROCENV), "up", "pytorch"], as_root=False, folder=BED.project)
    status = subprocess.run(command, env=space.environment(BED, STAND_IN), check=False).returncode
    print(WORDS if status else NEXT.format(project=BED.project), file=sys.stderr)
    return status


def _rocenv(arguments: Sequence[str]) -> None:
    """Go on as rocenv in the demo's project."""
    if not space.is_up(BED):
        raise BedError("the demo is not up: `./dev demo` starts it")
    _must_be_whole()
    _write_project()
    life.become(BED, [str(ROCENV), *arguments], folder=BED.project, environment=STAND_IN)


def _must_be_whole() -> None:
    """A bed whose checkout was removed goes on without its files: nothing can be done in it but to end it."""
    if space.is_up(BED) and not BED.home.is_dir():
        raise BedError("the demo's files are gone while its engine runs: `./dev demo down` ends it")


def _write_project() -> None:
    """The project folder with one script, both the user's; what the user changed there stays."""
    BED.project.mkdir(exist_ok=True)
    script = BED.project / "hello.py"
    if not script.exists():
        script.write_text(HELLO)
    for path in (BED.project, script):
        os.chown(path, *life.user())
