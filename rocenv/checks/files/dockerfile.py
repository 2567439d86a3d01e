"""Dockerfiles as a whole: whether they can be read, and what their stages come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rocenv.catalog.references import Reference
from rocenv.checks.catalogue import Answer, check, fail, info, ok, warn
from rocenv.checks.facts import Facts
from rocenv.checks.files.dockerfile_reading import Dockerfile, Stage, read
from rocenv.checks.files.lints import READS
from rocenv.errors import UsageError
from rocenv.model.check import Finding

Rule = Callable[[Dockerfile], Iterator[Finding]]
# Images whose user space is NVIDIA's.
_CUDA = re.compile(
    r"(docker\.io/)?(nvidia/(cuda|opengl|cudagl)|nvcr\.io/)|(docker\.io/)?pytorch/pytorch(:|@|$)|.*[:-]cu(da)?1[0-9]"
)
_ROCM = re.compile(r"(docker\.io/)?(rocm/|vllm/vllm-openai-rocm|vllm/vllm-omni-rocm|lmsysorg/sglang:.*rocm)|.*rocm")
_NOT_AMD64 = re.compile(r"linux/(?!amd64)[a-z0-9/]+")


def lint(name: str, *, severity: str, title: str, why: str, source: str) -> Callable[[Rule], Rule]:
    """Register a rule on a whole Dockerfile as the check `dockerfile.name`."""

    def register(rule: Rule) -> Rule:
        def ask(facts: Facts) -> Answer:
            documents = facts.texts("dockerfile")
            found = [finding for document in documents for finding in _answers(rule, document.text, document.name)]
            return found or ok(", ".join(document.name for document in documents))

        check(
            id=f"dockerfile.{name}",
            layer="files",
            severity=severity,
            title=title,
            reads=READS["dockerfile"],
            why=why,
            source=source,
            after=("dockerfile.readable",),
        )(ask)
        return rule

    return register


def _answers(rule: Rule, text: str, name: str) -> Iterator[Finding]:
    try:
        file = read(text, name)
    except UsageError:
        return  # `dockerfile.readable` tells it
    yield from rule(file)


def is_rocm(file: Dockerfile, stage: Stage) -> bool:
    """True for a stage that comes from an image with ROCm in it."""
    return _ROCM.match(file.root(stage).text) is not None


@check(
    id="dockerfile.readable",
    layer="files",
    severity="fail",
    title="the Dockerfile can be read",
    reads=READS["dockerfile"],
    why="docker refuses unknown instructions, a file without FROM, and documents that nothing ends",
    source="the Dockerfile reference",
)
def readable(facts: Facts) -> Answer:
    """Each file as docker would read it."""
    found: list[Finding] = []
    counted: list[str] = []
    for document in facts.texts("dockerfile"):
        try:
            file = read(document.text, document.name)
            counted.append(f"{document.name}: from {', '.join(stage.base.text for stage in file.stages)}")
        except UsageError as error:
            place, _, said = error.message.removeprefix("`").partition("`")
            found.append(fail(place, said.lstrip(": "), error.hint or "mend it there"))
    return found or ok("; ".join(counted))


@lint(
    "cuda-base",
    severity="fail",
    title="no stage comes from an image of NVIDIA's",
    why="its user space is CUDA's: nothing in it finds an AMD GPU",
    source="YanWenKun/ComfyUI-Docker#187",
)
def cuda_base(file: Dockerfile) -> Iterator[Finding]:
    """The last stage, which is what is built, fails; a base that an ARG chooses may be another one."""
    for stage in file.stages:
        root = file.root(stage)
        if stage.base is not root or not _CUDA.match(root.text):
            continue
        evidence = f"{root.where}: FROM {root.text}"
        cause = "that image holds NVIDIA's CUDA: nothing in it finds an AMD GPU"
        fix = "write `FROM rocm/pytorch:TAG`, of which `rocenv plan pytorch` names one that fits this host"
        built = file.root(file.stages[-1]) is root
        yield fail(evidence, cause, fix) if built and "$" not in stage.written else warn(evidence, cause, fix)


@lint(
    "platform",
    severity="fail",
    title="ROCm's images are built for amd64",
    why="there are none for another architecture",
    source="containers/ramalama#2048",
)
def platform(file: Dockerfile) -> Iterator[Finding]:
    """A platform that ROCm's images are not for."""
    for stage in file.stages:
        if stage.platform and is_rocm(file, stage) and _NOT_AMD64.fullmatch(stage.platform):
            yield fail(
                f"{stage.base.where}: FROM --platform={stage.platform} {stage.base.text}",
                "ROCm's images are for linux/amd64 alone",
                "write `--platform=linux/amd64`, or leave it away",
            )


@lint(
    "moving-tag",
    severity="info",
    title="the base is named by a tag that stays",
    why="`latest` moves: groups, Python and ROCm change below the same file",
    source="ROCm/rocm-libraries#6563, ROCm/ROCm#1631",
)
def moving_tag(file: Dockerfile) -> Iterator[Finding]:
    """ROCm's images without a tag, or by one that moves."""
    for stage in file.stages:
        if file.root(stage) is not stage.base or not is_rocm(file, stage) or "$" in stage.base.text:
            continue
        try:
            reference = Reference.parse(stage.base.text)
        except ValueError:
            continue
        if reference.digest is None and reference.tag in ("latest", "latest-release", "latest-base", "nightly", "main"):
            yield info(
                f"{stage.base.where}: FROM {stage.base.text}",
                f"the tag `{reference.tag}` moves: what is built from it next month has another ROCm, Python or group",
            )
