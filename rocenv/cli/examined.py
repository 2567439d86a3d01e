"""All that the doctor may look at, gathered: host, engine, image, profile, documents. What is not had is told why."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rocenv.checks.facts import Facts
from rocenv.cli import project
from rocenv.errors import RocenvError, UsageError
from rocenv.host import examine, examine_bundle
from rocenv.model.health import Asked, Document, EngineHealth
from rocenv.rules.engines import absent

if TYPE_CHECKING:
    from rocenv.engine.engine import Engine
    from rocenv.engine.health import Examination
    from rocenv.model.health import Health, ImageView
    from rocenv.model.host import Host

_DOCUMENT_BYTES = 4 << 20  # a compose file of megabytes is no compose file
_LOG_BYTES = 4 << 20  # from each end of a log
_LOG_READ = 4 << 30  # what is read of one in all, for the one that never ends
BUNDLE = "doctor.json"  # rocenv.lifecycle.bundle writes it
# Variables that ROCm, its libraries and torch read; no others are looked at, or saved.
_VARIABLES = re.compile(
    r"(ROCR|HIP|HSA|ROCM|AMD|MIOPEN|PYTORCH_ROCM|TRITON)_\w+|CUDA_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL"
    r"|LD_LIBRARY_PATH|VIRTUAL_ENV"
)


class Wanted(NamedTuple):
    """What the command line asks to be examined."""

    host: str | None = None
    engine: str | None = None
    profile: str | None = None
    image: str | None = None
    gpus: Sequence[str] = ()
    compose: str | None = None
    dockerfile: str | None = None
    argv: str | None = None
    venv: str | None = None
    symptom: str | None = None
    partition: str | None = None
    gpu_memory: int | None = None  # GiB
    strict: bool = False


def gather(wanted: Wanted) -> Facts:
    """The facts. Raises UsageError for a capture, file or profile that cannot be read."""
    documents = _documents(wanted)
    log = _symptom(wanted.symptom)
    captured = wanted.host or os.environ.get("ROCENV_HOST")
    engine, absent = (None, None) if captured else _engine(wanted.engine)
    examination = _begun(engine)
    try:
        host, health, beside = _host(captured)
        found, seen = examination.findings() if examination else (None, absent)
    finally:
        if examination:
            examination.close()
    facts = Facts(
        host=host,
        health=health,
        engine=found,
        engine_health=seen,
        asked=_asked(wanted),
        env=None if captured else environment(os.environ),
        packages=_packages(wanted.venv) if wanted.venv else None,
        documents=documents,
        log=log,
        missing=_missing(captured, seen),
    )
    if beside is not None:
        facts = _bundled(facts, beside)
    if wanted.gpus and wanted.image is not None and not captured and wanted.profile is None:
        facts = _elsewhere(facts, host)
    if wanted.profile is not None:
        facts = _planned(facts, wanted)
    reference = wanted.image if wanted.image is not None else facts.plan.image.reference if facts.plan else None
    if reference is None:
        return facts
    return facts._replace(image=_image(reference, engine if facts.engine else None, host))


def _elsewhere(facts: Facts, host: Host) -> Facts:
    """Without what this machine lacks for GPUs, where one that is not here is named: it is not what is judged."""
    from rocenv.checks.words import gpus_of, on_wsl

    if gpus_of(host) or on_wsl(host):
        return facts
    why = "`--gpu` names a GPU of another machine, and this one has none"
    left = facts._replace(host=None, health=None, missing={**facts.missing, "host": why, "health": why})
    if facts.engine is not None:
        return left
    return left._replace(engine_health=None, missing={**left.missing, "engine": why, "engine_health": why})


def _host(captured: str | None) -> tuple[Host, Health, bytes | None]:
    """The host: this machine, or a capture with what `doctor --save` put beside it."""
    if captured:
        return examine_bundle(captured, BUNDLE)
    return *examine(), None


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Those variables that ROCm reads."""
    return {name: value for name, value in variables.items() if _VARIABLES.fullmatch(name)}


def _engine(kind: str | None) -> tuple[Engine | None, EngineHealth | None]:
    """The engine, or what is to be said where there is none."""
    if kind not in (None, "docker", "podman"):
        raise UsageError(f"there is no engine `{kind}`", "`--engine docker` or `--engine podman`")
    if not any(_on_path(name) for name in ((kind,) if kind else ("docker", "podman"))):
        message, hint = absent(kind)
        return None, EngineHealth(kind or "docker", said=message, hint=hint)
    from rocenv.engine import open_engine

    return open_engine(kind), None


def _on_path(name: str) -> bool:
    """True where there is such a program: asked here, for the engine's own modules cost more than the question."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(f"{folder}/{name}", os.X_OK) for folder in folders)


def _begun(engine: Engine | None) -> Examination | None:
    if engine is None:
        return None
    from rocenv.engine.health import Examination

    return Examination(engine)


def _missing(captured: str | None, seen: EngineHealth | None) -> dict[str, str]:
    if captured:
        why = "a capture has no engine to ask"
        return {"engine": why, "engine_health": why, "env": "a capture has no shell of yours to read"}
    said = seen.said if seen else None
    return {"engine": f"the engine did not answer: {said}" if said else "the engine did not answer"}


def _asked(wanted: Wanted) -> Asked:
    targets = tuple(word for part in wanted.gpus for word in part.split(",") if word)
    wrong = [word for word in targets if not re.fullmatch(r"gfx[0-9a-f]{3,5}", word)]
    if wrong:
        raise UsageError(f"`{wrong[0]}` is no gfx target", "write it as `--gpu gfx942`; commas join several")
    memory = None if wanted.gpu_memory is None else wanted.gpu_memory << 30
    return Asked(
        profile=wanted.profile, targets=targets, partition=wanted.partition, gpu_memory=memory, strict=wanted.strict
    )


def _documents(wanted: Wanted) -> tuple[Document, ...]:
    found = [
        Document(kind, name, _text(name))
        for kind, name in (("compose", wanted.compose), ("dockerfile", wanted.dockerfile))
        if name is not None
    ]
    if wanted.argv is not None:
        found.append(Document("argv", "argv", wanted.argv[:_DOCUMENT_BYTES]))
    return tuple(found)


def _text(name: str) -> str:
    """A file's text, bounded. Raises UsageError."""
    try:
        with Path(name).open("rb") as stream:
            data = stream.read(_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"`{name}` cannot be read: {error.strerror}", "name a file that is there") from error
    if len(data) > _DOCUMENT_BYTES:
        most = _DOCUMENT_BYTES >> 20
        raise UsageError(f"`{name}` is larger than {most} MiB", "name the file itself, not what it builds")
    return data.decode(errors="replace")


def _symptom(symptom: str | None) -> str | None:
    """The error text, or both ends of the log on stdin: causes stand at its beginning, what failed at its end."""
    if symptom != "-":
        return symptom
    if sys.stdin is None:
        raise UsageError("`--symptom -` reads a log on stdin, which is closed", "`docker logs NAME 2>&1 | rocenv …`")
    stream = sys.stdin.buffer
    head, tail, size = stream.read(_LOG_BYTES), b"", _LOG_BYTES
    while size < _LOG_READ and (part := stream.read(_LOG_BYTES)):
        tail, size = (tail + part)[-_LOG_BYTES:], size + len(part)
    return (head + (b"\n" if tail else b"") + tail).decode(errors="replace")


def _packages(venv: str) -> dict[str, str]:
    """The distributions in a Python environment, by name. Raises UsageError where there is none."""
    from importlib import metadata

    folders = [str(path) for path in Path(venv).glob("lib/python*/site-packages")]
    if not folders:
        raise UsageError(f"`{venv}` is no Python environment: it has no lib/python*/site-packages", "`--venv .venv`")
    found = metadata.distributions(path=folders)
    return {str(one.metadata["Name"]).lower().replace("_", "-"): one.version for one in found if one.metadata["Name"]}


def _planned(facts: Facts, wanted: Wanted) -> Facts:
    """The profile planned on this host, or the error that stands in the way."""
    from rocenv.model.plan import EngineFacts
    from rocenv.plan import Request, make_plan
    from rocenv.profile import load_profile

    folder = project.folder()
    overrides: dict[str, Any] = {"image.reference": wanted.image} if wanted.image else {}
    profile = load_profile(wanted.profile, project=folder, overrides=overrides)
    asked = facts.asked._replace(profile=profile.name, gpus=profile.gpus, loosen=profile.loosen)
    facts = facts._replace(asked=asked)
    engine = facts.engine or EngineFacts(wanted.engine or "docker", assumed=True)
    request = Request(project.name(folder), str(folder), home=os.environ.get("HOME"))
    try:
        return facts._replace(plan=make_plan(profile, facts.need_host(), engine, request))
    except RocenvError as error:
        return facts._replace(plan_error=error)


def _image(reference: str, engine: Engine | None, host: Host) -> ImageView:
    from rocenv.engine.resolve import view
    from rocenv.lifecycle.audit import informed

    return informed(view(reference, engine, host.machine))


def _bundled(facts: Facts, beside: bytes) -> Facts:
    """What `doctor --save` put beside the capture: the engine's own facts."""
    from rocenv.lifecycle.bundle import read_bundle

    bundle = read_bundle(beside)
    if bundle is None:
        return facts
    return facts._replace(engine=bundle.engine, engine_health=bundle.health, env=bundle.env)
