"""The table of choices: for each host and profile the image that is chosen and why, or what refuses them all.

    python tests/golden/table.py            show what differs from the tables that are there
    python tests/golden/table.py --accept   the same, and write it: only after each line was thought about

`hosts.csv` holds the described hosts of tests/hosts, `captures.csv` those that ROCENV_CAPTURES names. They are kept for
review by people: their heads say when and by which rules that was done.
"""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

if __name__ == "__main__":  # as a command it is not pytest that finds its neighbours
    sys.path.insert(0, str(Path(__file__).parents[1]))

from hosts import builder

from rocenv.errors import ImageError, RocenvError
from rocenv.host import read_host
from rocenv.model.choice import Explained
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts
from rocenv.model.wish import Profile
from rocenv.plan.explain import explain
from rocenv.profile import load_profile
from rocenv.resources import data_folder

FOLDER = Path(__file__).parent
CAPTURES = Path(os.environ.get("ROCENV_CAPTURES") or FOLDER.parents[1] / "../shared/hosts")
TABLES = ("hosts", "captures")
HEAD = ["host", "profile", "image", "why"]
DOCKER = EngineFacts("docker", assumed=True)


def rows(table: str) -> Iterator[list[str]]:
    """The table as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        for name in builder.names() if table == "hosts" else captures():
            yield from of_host(name, described(name, Path(folder)) if table == "hosts" else captured(name))


def of_host(name: str, host: Host) -> list[list[str]]:
    """A host's rows: what each built-in profile comes to."""
    return [[name, wished.name, *answer(wished, host)] for wished in _profiles()]


def answer(wished: Profile, host: Host) -> tuple[str, str]:
    """The image and why, or the exit code and what is the matter, with what is left.

    What stands in brackets, names and numbers of the host, is left out: the choice does not hang on it.
    """
    try:
        told = explain(wished, host, DOCKER)
    except RocenvError as error:
        return f"exit {error.code}", _bare(error.message)
    if told.chosen is None:
        return f"exit {ImageError.code}", _bare(_nothing(told))
    best = told.candidates[0]
    return told.chosen.reference, _bare("; ".join((*best.speaks_for, *(f"but {one}" for one in best.against))))


def stored(table: str) -> list[list[str]]:
    """The reviewed table, without its head."""
    lines = (FOLDER / f"{table}.csv").read_text(encoding="utf-8").splitlines()
    found = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert found[0] == HEAD
    return found[1:]


def text(found: Iterable[list[str]]) -> str:
    """Rows as lines of CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(found)
    return out.getvalue()


def difference(table: str) -> list[str]:
    """What changed in a table, line by line."""
    old, new = text(stored(table)).splitlines(), text(rows(table)).splitlines()
    return list(difflib.unified_diff(old, new, "reviewed", "now", lineterm="", n=0))


def main(accept: bool) -> int:
    """Print the differences; write the tables where they are accepted."""
    changed = False
    for table in TABLES:
        if table == "captures" and not any(CAPTURES.glob("*.tar.gz")):
            print(f"# no captures in {CAPTURES}: their table stays as it is")
            continue
        lines = difference(table)
        changed |= bool(lines)
        print("\n".join([f"# {table}.csv: {len(lines)} lines of difference", *lines]))
        if lines and accept:
            path = FOLDER / f"{table}.csv"
            head = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
            path.write_text("\n".join([*head, text([HEAD, *rows(table)])]), encoding="utf-8")
    if changed:
        print("# written" if accept else "# nothing was written: --accept does, after review")
    return 0


def described(name: str, folder: Path) -> Host:
    """A host of tests/hosts, built in a folder."""
    return read_host(str(builder.build(builder.describe(name), folder / name)))


def captures() -> list[str]:
    """The names of the captures that are there."""
    return sorted(path.name.removesuffix(".tar.gz") for path in CAPTURES.glob("*.tar.gz"))


def captured(name: str) -> Host:
    """A captured host."""
    return read_host(str(CAPTURES / f"{name}.tar.gz"))


@cache
def _profiles() -> tuple[Profile, ...]:
    """The built-in profiles, with no layer of this machine over them."""
    names = sorted(path.stem for path in data_folder("profiles").glob("*.yaml"))
    with tempfile.TemporaryDirectory() as nowhere:
        return tuple(load_profile(name, project=Path(nowhere), overrides={}) for name in names)


def _bare(text: str) -> str:
    return re.sub(r" \([^()]*\)", "", text)


def _nothing(told: Explained) -> str:
    message = told.error.message if told.error else ""
    left = ", ".join(f"{one.kind}{f' {one.gpus}' if one.gpus else ''}: {one.reference}" for one in told.alternatives)
    return message + (f" | left: {left}" if left else "")


if __name__ == "__main__":
    sys.exit(main("--accept" in sys.argv[1:]))
