"""How a rule on containers becomes checks of the doctor: one for compose files, one for command lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rocenv.checks.catalogue import Answer, check, ok
from rocenv.checks.facts import Facts
from rocenv.checks.files import argv_reading, compose_reading
from rocenv.checks.files.asked import Container
from rocenv.errors import UsageError
from rocenv.model.check import Finding
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts

READS = {
    "compose": "the compose file (`--compose`), and the host's device nodes where it has GPUs",
    "argv": "the command line (`--argv`), and the host's device nodes where it has GPUs",
    "dockerfile": "the Dockerfile (`--dockerfile`)",
}


@dataclass(frozen=True, slots=True)
class Given:
    """What a rule may know beside the text: a host that has GPUs, and an engine that was asked."""

    host: Host | None = None
    engine: EngineFacts | None = None


Rule = Callable[[Container, Given], Iterator[Finding]]


def lint(
    name: str, *, severity: str, title: str, why: str, source: str, kinds: Sequence[str] = ("compose", "argv")
) -> Callable[[Rule], Rule]:
    """Register a rule as the check `KIND.name` of each kind of text."""

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            check(
                id=f"{kind}.{name}",
                layer="files",
                severity=severity,
                title=title,
                reads=READS[kind],
                why=why,
                source=source,
                after=(f"{kind}.readable",),
            )(_question(kind, rule))
        return rule

    return register


def given(facts: Facts) -> Given:
    """The facts beside a text. A host without any GPU says nothing of a file that may be meant for another one."""
    host, engine = facts.host, facts.engine
    here = host is not None and bool(host.gpus or host.environment == "wsl2")
    return Given(host if here else None, None if engine is None or engine.assumed else engine)


def containers(kind: str, name: str, text: str) -> tuple[Container, ...]:
    """The containers of a text. Raises UsageError for one that cannot be read."""
    if kind == "compose":
        return compose_reading.containers(text, name)
    return argv_reading.containers(text, name)


def _question(kind: str, rule: Rule) -> Callable[[Facts], Answer]:
    def ask(facts: Facts) -> Answer:
        found: list[Finding] = []
        documents = facts.texts(kind)
        for document in documents:
            try:
                asked = containers(kind, document.name, document.text)
            except UsageError:
                continue  # `KIND.readable` tells it
            beside = given(facts)
            found += [finding for one in asked for finding in rule(one, beside)]
        return found or ok(", ".join(document.name for document in documents))

    return ask
