"""What the cases' commands are in rocenv: each runs the product's own functions and says what came of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from cases import answers
from cases.fake_registry import registry
from cases.state import build

from rocenv.catalog import images
from rocenv.catalog.references import Reference
from rocenv.checks.facts import Facts
from rocenv.checks.files.rewrite import mended
from rocenv.checks.run import exit_code, run
from rocenv.engine import Engine
from rocenv.engine.resolve import look_up
from rocenv.engine.words import explain
from rocenv.errors import RocenvError
from rocenv.host import examine, read_host
from rocenv.lifecycle.build import built
from rocenv.lifecycle.prune import leftovers
from rocenv.model.health import Asked, Document, ImageView
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts
from rocenv.model.wish import ImageWish
from rocenv.plan import Request, make_plan
from rocenv.profile import load_profile
from rocenv.render.argv import run_argv
from rocenv.render.build_argv import BUILDX, Options, build_argv, proxies_of
from rocenv.report.host import host_json
from rocenv.rules.fit import demand, judge
from rocenv.rules.rank import rank


@dataclass(frozen=True)
class Outcome:
    """What a command came to: verdicts of checks, all words of messages and hints, a command line, facts."""

    exit: int = 0
    argv: Sequence[str] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    messages: str = ""
    fixes: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    fixed: str = ""
    choice: str | None = None
    dockerfile: str = ""

    @property
    def env(self) -> list[str]:
        return [word.removeprefix("--env=") for word in self.argv if word.startswith("--env=")]


def plan(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv run --print …`: the plan, as the command line that it comes to."""
    repro = case["repro"]
    state = repro.get("state") or {}
    words = shlex.split(repro["command"].partition(" -- ")[0])[2:]
    if "--allow-override" in words:  # rocenv has none: the user types what the doctor names
        words.remove("--allow-override")
        named = re.findall(r"-e (HSA_OVERRIDE\w+=[\d.]+)", doctor(case, folder).fixes)
        words += [f"--env={pair}" for pair in named]
    name, wishes, kind = _wishes(words)
    if "gpu" in state.get("project", {}):
        wishes["gpus"] = state["project"]["gpu"]
    engine = answers.engine(state)
    return planned(_host(state, folder), engine._replace(kind=kind or engine.kind), name, wishes, folder)


def _wishes(words: Sequence[str]) -> tuple[str, dict[str, Any], str | None]:
    """What the options of `rocenv run` say: the profile, what is laid over it, and the engine."""
    name, kind = "pytorch", None
    wishes: dict[str, Any] = {}
    options = iter(words)
    for word in options:
        if word in ("--print", "--me"):
            continue
        if word == "--multinode":
            wishes["loosen"] = ["rdma"]
        elif word.startswith("--env="):
            key, _, value = word[6:].partition("=")
            wishes.setdefault("env", {})[key] = value
        else:
            name, kind = _valued(word, next(options), wishes) or (name, kind)
    return name, wishes, kind


def _valued(word: str, value: str, wishes: dict[str, Any]) -> tuple[str, str | None] | None:
    """An option with its value, laid into the wishes; a profile or an engine is given back."""
    match word:
        case "--image":
            wishes["image.reference"] = value
        case "--mount":
            wishes["mounts"] = [value.replace("$HOME", "/home/u")]
        case "--gpus" | "--user":
            wishes[word[2:]] = value
        case "--profile" if value == "hpc":  # no profile of rocenv's: what it is meant for is named
            wishes["loosen"] = ["numa"]
        case "--profile":
            return value, None
        case "--engine":
            return "pytorch", value
        case _:
            raise NotImplementedError(word)
    return None


def planned(host: Host, engine: EngineFacts, name: str, wishes: Mapping[str, object], folder: Path) -> Outcome:
    """The plan of a profile with these wishes; what it refuses is a message with a hint and an exit code."""
    try:
        profile = load_profile(name, project=folder, overrides=wishes)
        made = make_plan(profile, host, engine, Request("case", "/home/u/case", home="/home/u"))
    except RocenvError as error:
        return Outcome(exit=error.code, messages=f"{error.message}\n{error.hint}", fixes=str(error.hint))
    said = "\n".join([*made.warnings, *(f"{one.choice}: {one.value}: {one.why}" for one in made.reasons)])
    return Outcome(argv=run_argv(made), messages=said)


def dockerfile(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv dockerfile --pip PACKAGE --from IMAGE`, and `rocenv build --print`: the text and the builder's words."""
    state, words = case["repro"].get("state") or {}, shlex.split(case["repro"]["command"])
    named = dict(pairwise(words))
    wishes = {"image.reference": named.get("--from"), "build.packages.pip": [named.get("--pip", "einops")]}
    given = {key: value for key, value in wishes.items() if value is not None}
    profile = load_profile("pytorch", project=folder, overrides=given)
    request = Request("case", str(folder), cpu=True, home="/home/u")
    made = built(make_plan(profile, _host({}, folder), EngineFacts("docker"), request), profile, str(folder))
    proxies = proxies_of(state.get("env") or {})
    argv = build_argv("docker", BUILDX, made.image.reference, ".", Options(), proxies=tuple(proxies))
    return Outcome(argv=argv, dockerfile=made.dockerfile or "")


def detect(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv gpus|facts`: the JSON of `rocenv detect`."""
    found = host_json(_host(case["repro"].get("state") or {}, folder))
    return Outcome(facts=found)


def doctor(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv doctor …`, and what is the doctor's in rocenv: lint, explain, image, pull, test and ci-check."""
    findings = run(facts_of(case, folder))
    worst: dict[str, str] = {}
    for one in findings:
        worst[one.check] = min(worst.get(one.check, one.verdict), one.verdict, key=_ORDER.index)
    told = [one for one in findings if one.verdict not in ("ok", "skip")]
    every = "\n".join(f"{one.evidence}\n{one.cause}\n{one.fix}" for one in findings)
    fixes = "\n".join(f"{one.fix} {one.needs} {one.verify}" for one in told if one.fix)
    compose = (case["repro"].get("state") or {}).get("compose")
    fixed = ""
    if compose is not None:
        host = _host(case["repro"]["state"], folder)
        fixed = mended(compose, "compose.yaml", host).text
    return Outcome(exit=exit_code(findings), verdicts=worst, messages=every, fixes=fixes, fixed=fixed)


_ORDER = ("fail", "warn", "info", "ok", "skip")
_KINDS = ("compose", "dockerfile", "argv")


def facts_of(case: Mapping[str, Any], folder: Path) -> Facts:
    """All that a case says, as the doctor takes it."""
    repro = case["repro"]
    state = repro.get("state") or {}
    words = shlex.split(repro["command"])
    host, health = examine(str(build(dict(state), folder / "host")))
    return Facts(
        host=answers.host(state, host),
        health=answers.health(state, health),
        engine=answers.engine(state) if answers.says_engine(state) else None,
        engine_health=answers.engine_health(state),
        image=answers.image(state, _reference(words)),
        asked=_asked(words, state),
        env=state.get("env"),
        packages=answers.packages(state),
        documents=(*_documents(state), *_explained(words)),
        smoke=answers.smoke(state),
        cluster=answers.cluster(state),
        log=repro.get("stderr"),
    )


def resolve(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv image resolve REF`: the doctor's word on an image that a registry was asked for."""
    reference = case["repro"]["command"].rpartition(" ")[2]
    with registry(case["repro"]["fake_registry"]) as address:
        asked = reference.replace("ghcr.io", address)
        known = ImageView(asked)
        config = {"Mirrors": [f"http://{address}"]}
        view = look_up(known, Reference.parse(asked), config, "x86_64")
    findings = run(Facts(image=view), only=["image.resolve"])
    messages = "\n".join(f"{one.evidence}\n{one.cause}\n{one.fix}" for one in findings)
    return Outcome(exit=exit_code(findings), messages=messages)


def without_network(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv run --offline --image X` of an image that is not here: what a pull without a network comes to."""
    said = 'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host'
    image = case["repro"]["command"].rpartition(" ")[2]
    error = explain(said, engine="docker", image=image)
    return Outcome(exit=error.code, messages=f"{error.message} {error.hint}")


def clean(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv clean --print`: what `rocenv prune --volumes` asks an engine, by one that writes it down."""
    program = folder / "docker"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {shlex.quote(str(folder / "asked"))}\n')
    program.chmod(0o755)
    leftovers(Engine("docker", str(program)), older=timedelta(0), volumes=True)
    words = (folder / "asked").read_text().splitlines()
    options = [part for word in words for part in re.sub(r"(owner=)[0-9]+$", r"\1", word).split("=", 1)]
    return Outcome(argv=[*words, *options])


def choose(case: Mapping[str, Any], folder: Path) -> Outcome:
    """`rocenv image --for pytorch`: of the tags that a case names, the best."""
    tags = case["repro"].get("catalog", [])
    state = case["repro"]["state"]
    host, engine = _host(state, folder), answers.engine(state)
    if not tags:
        return planned(host, engine, "pytorch", {}, folder)
    gfx = [gpu.gfx for gpu in host.gpus if gpu.gfx]
    wanted = demand(ImageWish(family="rocm/pytorch"), gfx, host, gpus=True)
    known = [images.describe(Reference.parse(f"rocm/pytorch:{tag}")) for tag in tags]
    verdicts = [judge(one, wanted) for one in known if one is not None]
    best = max((one for one in verdicts if one.refusal is None), key=rank)
    return Outcome(choice=best.image.reference.tag)


def _documents(state: Mapping[str, Any]) -> tuple[Document, ...]:
    return tuple(Document(kind, kind, state[kind]) for kind in _KINDS if kind in state)


def _explained(words: Sequence[str]) -> tuple[Document, ...]:
    """`rocenv explain -- docker run …`."""
    if words[1] != "explain" or "--" not in words:
        return ()
    return (Document("argv", "argv", shlex.join(words[words.index("--") + 1 :])),)


def _reference(words: Sequence[str]) -> str | None:
    """The image that a command names."""
    if "--image" in words:
        return words[words.index("--image") + 1]
    return words[2] if words[1] == "pull" else None


def _asked(words: Sequence[str], state: Mapping[str, Any]) -> Asked:
    """What a doctor's options say that is wanted."""
    given = dict(pairwise(words))
    memory = given.get("--want-gpu-mem")
    return Asked(
        profile=given.get("--profile"),
        gpus=given.get("--gpus", "auto"),
        loosen=("numa",) if given.get("--profile") == "hpc" else (),
        partition=given.get("--expect-partition"),
        gpu_memory=int(memory) << 30 if memory else None,
    )


def _host(state: Mapping[str, Any], folder: Path) -> Host:
    return read_host(str(build(dict(state), folder / "host")))
