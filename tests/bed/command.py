"""The bed's command line, called by `./dev`: up, stop, down, run, demo, push."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bed import demo, images, life
from bed.place import NAMES, Bed, BedError, say

USAGE = """usage: python tests/bed COMMAND
  up NAME           start the bed NAME (demo or test), with its images
  run NAME ARG...   run a command in it, as its user
  root NAME ARG...  run a command in it, as root
  stop NAME         end it, and keep the images for the next time
  down              end every bed of this checkout and remove all that they left
  demo [shell|rocenv ARG...|down]"""


def main(arguments: Sequence[str]) -> int:
    """Run one command; a fault of the bed's is told in words and ends with 1."""
    try:
        return _dispatch(list(arguments))
    except BedError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _dispatch(arguments: list[str]) -> int:
    match arguments:
        case ["push", reference, everything]:
            images.push_here(reference, everything)
        case ["up", name] if name in NAMES:
            life.up(Bed(name))
        case ["run", name, _, *_] if name in NAMES:
            life.become(Bed(name), arguments[2:], as_root=False)
        case ["root", name, _, *_] if name in NAMES:
            life.become(Bed(name), arguments[2:], as_root=True)
        case ["stop", name] if name in NAMES:
            life.stop(Bed(name))
        case ["down"] | ["demo", "down"]:
            life.down()
        case ["demo", *rest]:
            return demo.demo(rest)
        case _:
            print(USAGE, file=sys.stderr)
            return 2
    return 0
