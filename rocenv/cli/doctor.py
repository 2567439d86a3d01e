"""`rocenv doctor`: what keeps this machine, or a profile on it, from running ROCm containers, and what mends it.

Annotations are evaluated here, for Typer compiles those that are texts one by one, twice.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import console
from rocenv.errors import UsageError

if TYPE_CHECKING:
    from rocenv.checks.facts import Facts
    from rocenv.cli.mending import Mended
    from rocenv.model.check import Finding
    from rocenv.model.health import Document


def command(
    profile: Annotated[
        str | None, typer.Argument(metavar="[PROFILE]", help="Also this profile, its image and its GPUs.")
    ] = None,
    *,
    host: Annotated[
        str | None, typer.Option("--host", metavar="PATH", help="A capture instead of this machine.")
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker or podman.")] = None,
    image: Annotated[str | None, typer.Option("--image", metavar="REF", help="Also this image, before a pull.")] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", metavar="GFX", help="Judge images for this target instead."),
    ] = None,
    compose: Annotated[str | None, typer.Option("--compose", metavar="FILE", help="Read a compose file.")] = None,
    dockerfile: Annotated[str | None, typer.Option("--dockerfile", metavar="FILE", help="Read a Dockerfile.")] = None,
    argv: Annotated[
        str | None, typer.Option("--argv", metavar="LINE", help="Read a command line: 'docker run …'.")
    ] = None,
    inside: Annotated[
        str | None, typer.Option("--in", metavar="ENV", help="Also look from inside a running environment.")
    ] = None,
    venv: Annotated[
        str | None, typer.Option("--venv", metavar="FOLDER", help="Also a Python environment's ROCm packages.")
    ] = None,
    symptom: Annotated[
        str | None,
        typer.Option("--symptom", metavar="TEXT", help="An error text (`-`: a log on stdin): what it points to first."),
    ] = None,
    partition: Annotated[
        str | None, typer.Option("--expect-partition", metavar="MODE", help="The compute mode that GPUs should have.")
    ] = None,
    gpu_memory: Annotated[
        int | None, typer.Option("--want-gpu-mem", metavar="GIB", min=1, help="Memory an integrated GPU should have.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="What would be loosened or not isolated fails.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe, as this user; show it first.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --fix: show alone.")] = False,
    about: Annotated[str | None, typer.Option("--about", metavar="CHECK", help="Tell about one check.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List every check.")] = False,
    save: Annotated[
        str | None, typer.Option("--save", metavar="FILE", help="Write a bundle for a bug report, without secrets.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", "--verbose", help="Show the checks too that are well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> int:
    """Name the cause, and the one command that mends it.

    Without a profile: can this machine run any ROCm container. Ends with 0, or with the code of what fails first:
    host 3, engine 4, image 5, environment and files 2.
    """
    if list_all or about is not None:
        return _catalogue(about, as_json=as_json)
    if dry_run and not fix:
        raise UsageError("`--dry-run` goes with `--fix`", "`rocenv doctor --fix --dry-run`")
    if inside is not None and host is not None:
        raise UsageError(
            "`--in` looks into a container of this machine, and `--host` names a capture", "leave one away"
        )
    from rocenv.cli.examined import Wanted, gather

    _tell_of_tables()
    facts = gather(
        Wanted(
            host=host, engine=engine, profile=profile, image=image, gpus=gpu or (), compose=compose,
            dockerfile=dockerfile, argv=argv, venv=venv, symptom=symptom, partition=partition, gpu_memory=gpu_memory,
            strict=strict,
        )
    )  # fmt: skip
    findings = _examined(facts, inside, engine)
    if save is not None:
        _save(save, host, facts, findings)
    return _told(facts, findings, fix=fix, dry_run=dry_run, every=every, as_json=as_json)


def _tell_of_tables() -> None:
    """Warn of a catalog's table in a configuration folder that is not sound: whatever chooses an image ends with it."""
    from rocenv.catalog import table

    for name in table.NAMES if table.folders() else ():
        try:
            table.origin(name)
        except UsageError as error:
            console.warn(f"{error.message}: `up` and `plan` end with it ({error.hint})")


def _examined(facts: "Facts", inside: str | None, engine: str | None) -> list["Finding"]:
    """The findings of all checks, those that a symptom points to first; then those from inside an environment."""
    from rocenv.checks.run import run

    found = run(facts, first=_pointed(facts.log, facts.documents) if facts.log is not None else ())
    if inside is None:
        return found
    from rocenv.cli.within import look_inside

    return [*found, *look_inside(inside, facts, engine)]


def _told(
    facts: "Facts", findings: Sequence["Finding"], *, fix: bool, dry_run: bool, every: bool, as_json: bool
) -> int:  # fmt: skip
    """Show the findings, mend what is to be mended, and give the exit code."""
    from rocenv.checks.run import exit_code, verdict
    from rocenv.report.doctor import doctor_json, doctor_text

    worst = verdict(findings)
    if not as_json:
        from rocenv.checks.symptoms import pointed

        asked = pointed(facts.log) if facts.log is not None else ()
        console.data(doctor_text(findings, worst, every=every, asked=asked))
    mended: list[Mended] = []
    if fix:
        from rocenv.cli.mending import mend

        mended = mend(facts, findings, dry_run=dry_run)
    if as_json:
        steps = {"steps": [step._asdict() for step in mended]} if fix else {}
        console.data_json({**doctor_json(findings, worst), **steps})
    failed = any(step.why is not None for step in mended)
    return exit_code(findings) or (UsageError.code if failed else 0)


_NAMED_BY = {"compose": "--compose FILE", "argv": "--argv 'docker run …'", "dockerfile": "--dockerfile FILE"}


def _pointed(log: str, documents: "Sequence[Document]") -> tuple[str, ...]:
    """The checks that an error text points to, told line by line; and what they would have to be given to read."""
    from rocenv.checks.symptoms import matched, pointed

    for line, checks in dict(matched(log)).items():
        console.say(f"`{line}` points to {', '.join(checks)}")
    first = pointed(log)
    if not first:
        console.warn("no check is known for that text; all are run in their order")
    given = {document.kind for document in documents}
    unread = [name for name in first if (kind := name.partition(".")[0]) in _NAMED_BY and kind not in given]
    if unread:
        flags = dict.fromkeys(_NAMED_BY[name.partition(".")[0]] for name in unread)
        said = " or ".join(f"`{flag}`" for flag in flags)
        console.say(f"{said} lets it read what was run; `rocenv doctor --about {unread[0]}` tells what is looked for")
    return first


def _catalogue(about: str | None, *, as_json: bool) -> int:
    from rocenv.checks.catalogue import catalogue
    from rocenv.checks.run import one
    from rocenv.report import doctor as report

    if about is not None:
        check = one(about)
        if as_json:
            console.data_json(report.about_json(check))
        else:
            console.data(report.about_text(check))
        return 0
    checks = [entry.check for entry in catalogue().values()]
    if as_json:
        console.data_json(report.list_json(checks))
    else:
        console.data(report.list_text(checks))
    return 0


def _save(file: str, host: str | None, facts: "Facts", findings: Sequence["Finding"]) -> None:
    from rocenv.checks.run import verdict
    from rocenv.lifecycle.bundle import Bundle, save_bundle
    from rocenv.report.doctor import doctor_json

    bundle = Bundle(facts.engine, facts.engine_health, facts.env)
    saved = save_bundle(file, host, bundle, doctor_json(findings, verdict(findings)))
    console.say(f"{saved.file}: {saved.files} files, without names, addresses and secrets; `--host {file}` reads it")
