"""Environment variables that a text sets: the questions put to the caller's own, and those of files alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocenv.checks.catalogue import fail, info, warn
from rocenv.checks.files.asked import Container, Variable
from rocenv.checks.files.lints import Given, lint
from rocenv.model.check import Finding
from rocenv.rules import override
from rocenv.rules.secrets import is_secret

_OVERRIDE = re.compile(rf"{override.NAME}(?:_[0-9]+)?")
_HIP = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_ROCR = "ROCR_VISIBLE_DEVICES"
_ROCM = re.compile(r"(HSA|HIP|ROCR|ROCM|AMD|MIOPEN|NCCL|RCCL|PYTORCH|TORCH|CUDA|GPU)_")


def override_format(variables: Sequence[Variable], name: str, gfx: str | None) -> Iterator[Finding]:
    """Overrides that ROCm would not take; the id is that of the same question about the caller's own variables."""
    for one in variables:
        value = one.value
        wrong = (
            override.fault(value) if value is not None and "$" not in value and _OVERRIDE.fullmatch(one.name) else None
        )
        if value is None or wrong is None:
            continue
        right = override.mended(value, gfx)
        found = fail(
            f"{one.where}: {name} sets {one.name}={value}",
            f"ROCm does not start with it: {wrong}",
            f"write `{_assigned(one, right)}`",
        )
        yield found._replace(check="env.override-format")


def both_visible(variables: Sequence[Variable], name: str) -> Iterator[Finding]:
    """HIP's list beside ROCr's: it counts within that, from 0."""
    rocr = next((one for one in variables if one.name == _ROCR and one.value), None)
    hip = next((one for one in variables if one.name in _HIP and one.value), None)
    if rocr is None or hip is None or "$" in f"{rocr.value}{hip.value}":
        return
    left = len(str(rocr.value).split(","))
    indices = [word.strip() for word in str(hip.value).split(",")]
    outside = [word for word in indices if word.isdecimal() and int(word) >= left]
    evidence = f"{hip.where}: {name} sets {_ROCR}={rocr.value} and {hip.name}={hip.value}"
    fix = f"remove `{hip.name}`: one variable chooses"
    if outside:
        cause = f"HIP counts within what ROCr leaves, from 0: of {left} there is no {outside[0]}, and so no GPU"
        yield fail(evidence, cause, fix)._replace(check="gpu.visible-env")
    else:
        cause = "HIP counts within what ROCr leaves, from 0: the two together choose other GPUs than they seem to"
        yield warn(evidence, cause, fix)._replace(check="gpu.visible-env")


def _assigned(one: Variable, value: str) -> str:
    return f"{one.name}={value}" if one.listed else f'{one.name}: "{value}"'


@lint(
    "variables",
    severity="fail",
    title="ROCm's variables hold what ROCm can read",
    why="a wrong override stops ROCm's start; two visibility lists count within each other; found under the ids of "
    "the same questions about the caller's own variables (env.override-format, env.override-noop, gpu.visible-env)",
    source="rocm-systems: libhsakmt topology.c; ollama/ollama#6685; mcmonkeyprojects/SwarmUI#565",
)
def variables(asked: Container, given: Given) -> Iterator[Finding]:
    """The form of overrides, what they do on this host, and visibility lists."""
    gpus = given.host.gpus if given.host else ()
    targets = {gpu.gfx for gpu in gpus}
    yield from override_format(asked.variables, asked.name, gpus[0].gfx if len(targets) == 1 else None)
    yield from both_visible(asked.variables, asked.name)
    for one in asked.variables:
        if one.name == override.NAME and one.value is not None and gpus:
            yield from _effect(asked, one, given)


def _effect(asked: Container, one: Variable, given: Given) -> Iterator[Finding]:
    """What an override for all GPUs makes of those of this host."""
    meant = override.meant(one.value or "")
    gpus = given.host.gpus if given.host else ()
    targets = sorted({gpu.gfx for gpu in gpus if gpu.gfx})
    evidence = f"{one.where}: {asked.name} sets {one.name}={one.value}, and the GPUs here are {', '.join(targets)}"
    if meant is None:
        return
    if targets == [meant]:
        found = info(evidence, f"every GPU is {meant} already: it changes nothing, and is better left away")
        yield found._replace(check="env.override-noop")
    elif len(targets) > 1:
        found = warn(
            evidence,
            f"it makes every GPU pass for {meant}, also those that are something else",
            f"write `{one.name}_N` for the one GPU that needs it, N counting the CPU nodes first: one socket, then _1",
        )
        yield found._replace(check="env.override-noop")


@lint(
    "env-quotes",
    severity="warn",
    title="no quotes inside of values",
    why="in NAME=VALUE as one word inner quotes belong to the value; only a shell, or YAML, takes quotes off",
    source="ollama/ollama#6685",
)
def env_quotes(asked: Container, _: Given) -> Iterator[Finding]:
    """Values of ROCm's variables that begin and end with a quote."""
    for one in asked.variables:
        value = one.value or ""
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        if one.listed and quoted and _ROCM.match(one.name) and not _OVERRIDE.fullmatch(one.name):
            yield warn(
                f"{one.where}: {asked.name} sets {one.name}={value}",
                "the quotes are part of the value",
                f"write `{one.name}={value[1:-1]}`",
            )


@lint(
    "secret",
    severity="warn",
    title="no secret stands in the text",
    why="it goes wherever the text goes, into the engine's inspection, and into shell histories and logs",
    source="docker build checks: SecretsUsedInArgOrEnv",
)
def secret(asked: Container, _: Given) -> Iterator[Finding]:
    """Literal tokens; the value is not shown."""
    for one in asked.variables:
        if one.value and "$" not in one.value and is_secret(one.name):
            named = f"`-e {one.name}`" if asked.kind == "argv" else f"`{one.name}:` without a value, or `env_file`"
            yield warn(
                f"{one.where}: {asked.name} sets {one.name} to a literal value",
                "the secret is in the text itself",
                f"{named} takes the caller's own",
            )
