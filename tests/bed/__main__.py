"""`python tests/bed COMMAND`: the same as `python -m bed COMMAND` with tests/ on the path."""

import sys
from pathlib import Path

sys.path[:1] = [str(Path(__file__).resolve().parents[1])]

from bed.command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
