"""Puts one text to the lints, and gives what they find; and a host to lint for."""

from __future__ import annotations

import re

from plan.made import gpu, host, node

from rocenv.checks.catalogue import catalogue
from rocenv.checks.facts import Facts
from rocenv.checks.run import run
from rocenv.model.check import Finding
from rocenv.model.health import Document
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts

NAMES = {"compose": "compose.yaml", "dockerfile": "Dockerfile", "argv": "argv"}
# Nodes of group 992, which is `render` there; `video` is 985; two GPUs.
HOST = host(
    [gpu(0), gpu(1)],
    devices=[node("/dev/kfd", 992), node("/dev/dri/renderD128", 992), node("/dev/dri/renderD129", 992)],
    group_render=992,
    group_video=985,
)
ONE = host(
    [gpu(0)],
    devices=[node("/dev/kfd", 992), node("/dev/dri/renderD128", 992)],
    group_render=992,
    group_video=985,
)


def lint(kind: str, text: str, *, where: Host | None = None, engine: EngineFacts | None = None) -> list[Finding]:
    """What the lints of files say of a text, but for `ok` and `skip`."""
    facts = Facts(host=where, engine=engine, documents=(Document(kind, NAMES[kind], text),))
    return [one for one in run(facts) if one.layer == "files" and one.verdict not in ("ok", "skip")]


def told(findings: list[Finding]) -> list[str]:
    """`check verdict line` of each finding; line 0 where the whole text is meant."""
    lines = [re.match(r"[\w.]+:(\d+)", one.evidence) for one in findings]
    return [
        f"{one.check} {one.verdict} {line.group(1) if line else 0}" for one, line in zip(findings, lines, strict=True)
    ]


def ids(kind: str) -> set[str]:
    """The checks of a kind of text."""
    return {name for name in catalogue() if name.startswith(f"{kind}.")}
