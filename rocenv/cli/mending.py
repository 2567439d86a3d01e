"""`rocenv doctor --fix`: what is safe to mend, as this user, and can be undone. Shown first; the rest is told."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocenv import process
from rocenv.cli import console
from rocenv.errors import HostError, UsageError

if TYPE_CHECKING:
    from rocenv.checks.facts import Facts
    from rocenv.model.check import Finding

_SECONDS = 60.0
_BAD = ("fail", "warn")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can be mended here: what, how it is undone, and the doing."""

    what: str
    undo: str
    do: Callable[[], None]


class Mended(NamedTuple):
    """What came of a step: done or not, and why not."""

    what: str
    undo: str
    done: bool
    why: str | None = None


def mend(facts: Facts, findings: Sequence[Finding], *, dry_run: bool) -> list[Mended]:
    """Show the steps, then take each. What needs root, a reboot or a decision is named and not done.

    A step that fails is told, and does not keep the others from being taken.
    """
    steps = [step for finding in findings if finding.verdict in _BAD for step in steps_for(finding, facts)]
    unique = list({step.what: step for step in steps}.values())
    bad = [finding for finding in findings if finding.verdict in _BAD and finding.fix]
    for finding in [finding for finding in bad if not steps_for(finding, facts)]:
        console.say(f"not done for you: {finding.check}: {finding.fix}")
    if not unique:
        console.say("there is nothing that could be mended from here")
        return []
    for step in unique:
        console.say(f"{'would' if dry_run else 'will'} {step.what} (undo: {step.undo})")
    return [Mended(step.what, step.undo, done=False) if dry_run else _taken(step) for step in unique]


def _taken(step: Step) -> Mended:
    """A step taken, and told."""
    try:
        step.do()
    except UsageError as error:
        console.warn(f"not done: {step.what}: {error.message}; {error.hint}")
        return Mended(step.what, step.undo, done=False, why=f"{error.message}; {error.hint}")
    console.say(f"done: {step.what}")
    return Mended(step.what, step.undo, done=True)


def steps_for(finding: Finding, facts: Facts) -> list[Step]:
    """The steps that mend a finding from here; none where that is not safe or not possible."""
    maker = _MAKERS.get(finding.check)
    return maker(facts) if maker is not None else []


def _compose(facts: Facts) -> list[Step]:
    """A compose file with what is wrong in it mended; the file as it was stays beside it."""
    from rocenv.checks.files.rewrite import mended

    if facts.host is None:
        return []
    found = []
    for document in facts.documents:
        if document.kind == "compose":
            new = mended(document.text, document.name, facts.host)
            if new.text != document.text:
                found.append(_rewriting(document.name, new.text, new.done))
    return found


def _rewriting(name: str, text: str, done: Sequence[str]) -> Step:
    backup = f"{name}.rocenv-backup"
    undo = f"mv {shlex.quote(backup)} {shlex.quote(name)}"
    return Step(f"mend `{name}`: {'; '.join(done)}", undo, lambda: _rewrite(name, text, backup))


def _rewrite(name: str, text: str, backup: str) -> None:
    """Put a new text in a file's place; the old one keeps its permissions beside it. Raises UsageError."""
    import tempfile

    path, kept = Path(name), Path(backup)
    if path.is_symlink():
        raise UsageError(f"`{name}` is a link to `{path.resolve()}`", "name the file itself")
    if kept.exists() or kept.is_symlink():
        raise UsageError(f"`{backup}` is there already: it may hold what you want to keep", f"move `{backup}` away")
    try:
        # A name that nobody can foresee: a link that lay in wait there would be written through.
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                os.fchmod(descriptor, path.stat().st_mode & 0o777)
                stream.write(text)
            os.link(path, kept)
            Path(draft).replace(path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        why = f"`{name}` cannot be written: {error.strerror}"
        raise UsageError(why, "make the file and its folder your own") from error


def _cdi(facts: Facts) -> list[Step]:
    """A specification in the user's own folder made anew: by AMD's tool where that is here, else by rocenv."""
    from rocenv.host.cdi import own_folder

    specs = [spec.file for spec in (facts.health.cdi if facts.health else ()) if spec.file.startswith(own_folder())]
    undo = "none: it is made from the devices alone"
    if shutil.which("amd-ctk"):
        return [_run(["amd-ctk", "cdi", "generate", f"--output={file}"], f"make `{file}` anew", undo) for file in specs]
    return [Step(f"make `{file}` anew", undo, partial(_respecify, file)) for file in specs]


def _respecify(file: str) -> None:
    """Write a specification as `rocenv cdi generate` does. Raises UsageError."""
    from rocenv.host import read_host
    from rocenv.lifecycle.cdi import write
    from rocenv.render.cdi import specification

    try:
        write(file, specification(read_host()))
    except HostError as error:
        raise UsageError(error.message, error.hint) from error


def _containers(facts: Facts) -> list[Step]:
    """Environments with nodes of another boot are started again, or removed where that would not help."""
    engine = facts.engine_health
    if engine is None:
        return []
    from rocenv.checks.engine.gives import renewal, stale_containers

    undo = "there is nothing to undo: `rocenv up` starts or makes it again, its volumes stay"
    commands = [renewal(engine.kind, gone, name) for name, gone in stale_containers(facts).items()]
    return [_run(command.split(), f"run `{command}`", undo) for command in commands]


def _caches(facts: Facts) -> list[Step]:
    """Folders of the caller's own that lack the permission to write."""
    host, health = facts.host, facts.health
    if host is None or health is None:
        return []
    own = [one.path for one in health.caches if not one.writable and one.owner == host.caller.uid]
    return [_opened(Path(path)) for path in own]


def _opened(path: Path) -> Step:
    mode = path.stat().st_mode & 0o777
    undo = f"chmod {mode:o} {shlex.quote(str(path))}"

    def do() -> None:
        try:
            path.chmod(mode | 0o700)
        except OSError as error:
            raise UsageError(
                f"`{path}` cannot be changed: {error.strerror}", f"`ls -ld {path}` shows whose it is"
            ) from error

    return Step(f"let you write to `{path}`", undo, do)


def _run(argv: list[str], what: str, undo: str) -> Step:
    def do() -> None:
        try:
            done = process.run(argv, seconds=_SECONDS)
        except process.ProgramMissingError:
            raise UsageError(f"there is no `{argv[0]}` on PATH", f"install it, then run `{shlex.join(argv)}`") from None
        except process.GivenUpError as error:
            raise UsageError(str(error), f"run `{shlex.join(argv)}` by hand") from None
        if done.status != 0:
            raise UsageError(f"`{shlex.join(argv)}` failed: {done.stderr.strip()[-300:]}", "run it by hand")

    return Step(what, undo, do)


_MAKERS: dict[str, Callable[[Facts], list[Step]]] = {
    "compose.group-names": _compose,
    "compose.device-exists": _compose,
    "compose.gpu-driver": _compose,
    "engine.cdi-fresh": _cdi,
    "container.devnum": _containers,
    "env.cache-writable": _caches,
}
