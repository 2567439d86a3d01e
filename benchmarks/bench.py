"""The speed figures: everything that is compared is measured side by side in one run, and reported as ratios.

    ./dev bench [audit] [start] [detect] [engine] [--rounds N] [--json FILE]

Units, measured in the same run: P is a bare `python -c pass`, T a two-command Typer program that does nothing.
`detect` lays a host of 63 partitions over /sys in a mount namespace of its own (root); `engine` runs in the test bed.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
ROCENV = [str(Path(PYTHON).with_name("rocenv"))]  # as people call it
BED = CHECKOUT / "tests" / "bed"
SMALL_IMAGE = "rocenv/small:1"  # the bed keeps it in its registry
PARTITIONED_HOST = "mi300x-cpx"

TYPER_PROGRAM = """
import typer

app = typer.Typer()


@app.command()
def one() -> None:
    pass


@app.command()
def two() -> None:
    pass


app()
"""


@dataclass(frozen=True)
class Case:
    """A command to be timed, and what puts things back afterwards (not timed)."""

    name: str
    argv: Sequence[str]
    after: Sequence[str] = ()
    codes: Sequence[int] = (0,)  # exit statuses that are an answer


@dataclass(frozen=True)
class Limit:
    """A figure to reach: the median of `case` is at most the sum of factor × median over `terms`."""

    case: str
    terms: dict[str, float]

    def judge(self, medians: dict[str, float]) -> dict[str, object]:
        allowed = sum(factor * medians[name] for name, factor in self.terms.items())
        rule = " + ".join(f"{factor:g} {name}" for name, factor in self.terms.items())
        share = medians[self.case] / allowed
        return {"case": self.case, "limit": rule, "share_of_limit": round(share, 3), "ok": share <= 1}


@dataclass
class Report:
    inside: bool  # already in the place where the group is measured
    medians: dict[str, float] = field(default_factory=dict)
    limits: list[dict[str, object]] = field(default_factory=list)


def spend(argv: Sequence[str], codes: Sequence[int] = (0,)) -> float:
    """Seconds that one run of `argv` takes; a run that fails ends the benchmark, for its time means nothing."""
    start = time.perf_counter()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in codes:
        sys.exit(f"error: `{' '.join(argv)}` ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return seconds


def medians(cases: Sequence[Case], rounds: int) -> dict[str, float]:
    """Milliseconds of each case: the median of `rounds`, all cases in turn in each, after one round to warm up."""
    taken: dict[str, list[float]] = {case.name: [] for case in cases}
    for turn in range(rounds + 1):
        for case in cases:
            seconds = spend(case.argv, case.codes)
            if turn:
                taken[case.name].append(seconds)
            if case.after:
                spend(case.after)
    return {name: round(statistics.median(values) * 1000, 2) for name, values in taken.items()}


def units(folder: Path) -> list[Case]:
    program = folder / "typer_program.py"
    program.write_text(TYPER_PROGRAM)
    return [Case("P", [PYTHON, "-c", "pass"]), Case("T", [PYTHON, str(program), "one"])]


def measure(report: Report, cases: Sequence[Case], limits: Sequence[Limit], rounds: int) -> None:
    found = medians(cases, rounds)
    report.medians.update(found)
    report.limits += [limit.judge(found) for limit in limits]


def start(report: Report, rounds: int, folder: Path) -> None:
    cases = [*units(folder), Case("rocenv --version", [*ROCENV, "--version"])]
    measure(report, cases, [Limit("rocenv --version", {"P": 2.5})], rounds)


def inside(group: str, rounds: int, folder: Path, enter: Sequence[str]) -> dict[str, Any]:
    """Measure a group in another place: `enter` is the command line that goes there and runs what follows."""
    result = folder / "inside.json"
    folder.chmod(0o777)  # the measuring process may be another user there
    argv = [*enter, PYTHON, __file__, group, "--inside", "--rounds", str(rounds), "--json", str(result)]
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    answer: dict[str, Any] = json.loads(result.read_text())
    return answer


def take_over(report: Report, answer: dict[str, Any], place: str) -> None:
    report.medians.update({f"{name} ({place})": value for name, value in answer["medians_ms"].items()})
    report.limits += answer["limits"]


def detect(report: Report, rounds: int, folder: Path) -> None:
    """`detect --json` of 63 partitions, in a mount namespace where that host's tree lies over /sys."""
    if not report.inside:
        tree = folder / PARTITIONED_HOST
        build = [PYTHON, str(CHECKOUT / "tests" / "hosts" / "builder.py"), PARTITIONED_HOST, str(tree)]
        subprocess.run(build, check=True)
        over = 'mount --make-rprivate / && mount --rbind "$1" /sys && shift && exec "$@"'
        enter = ["unshare", "-m", "sh", "-c", over, "-", str(tree / "root" / "sys")]
        take_over(report, inside("detect", rounds, folder, enter), "detect")
        return
    # No engine is on that PATH; the tree has no nodes in /dev, so that the doctor fails, with 3, as it should.
    alone = ["env", "PATH=/nonexistent", *ROCENV, "doctor", "--json"]
    cases = [
        *units(folder),
        Case("rocenv detect --json", [*ROCENV, "detect", "--json"]),
        Case("rocenv doctor --json", alone, codes=(0, 3)),
    ]
    limits = [
        Limit("rocenv detect --json", {"T": 1, "P": 3}),
        Limit("rocenv doctor --json", {"rocenv detect --json": 1.5}),
    ]
    ramalama = CHECKOUT / ".testbed" / "ramalama" / "bin" / "ramalama"
    if ramalama.is_file():
        # 0.25 gives up on the CPU nodes of that tree, with 22: what it takes until then counts, in its favour.
        cases.append(Case("ramalama info", [str(ramalama), "info"], codes=(0, 22)))
        limits.append(Limit("rocenv detect --json", {"ramalama info": 0.5}))
    measure(report, cases, limits, rounds)


def engine(report: Report, rounds: int, folder: Path) -> None:
    """`up`, `exec` and the doctor against the engine's own commands with the same words, in the test bed."""
    if not report.inside:
        subprocess.run([PYTHON, str(BED), "up", "test"], check=True)
        try:
            take_over(report, inside("engine", rounds, folder, [PYTHON, str(BED), "run", "test"]), "engine")
        finally:
            subprocess.run([PYTHON, str(BED), "stop", "test"], check=True)
        return
    os.chdir(folder)
    wish = ["hip", "--image", SMALL_IMAGE]
    up = [*ROCENV, "up", *wish, "--no-test", "--name"]
    spend(["docker", "pull", SMALL_IMAGE])
    spend([*up, "there"])
    planned = subprocess.run([*ROCENV, "plan", *wish, "--name", "docker", "--json"], capture_output=True, check=True)
    plan = json.loads(planned.stdout)
    made = {name: plan["container"].removesuffix("docker") + name for name in ("docker", "rocenv", "there")}
    cases = [
        *units(folder),
        Case("docker run", plan["argv"], after=["docker", "rm", "-f", made["docker"]]),
        Case("rocenv up", [*up, "rocenv"], after=["docker", "rm", "-f", made["rocenv"]]),
        Case("docker exec", ["docker", "exec", made["there"], "true"]),
        Case("rocenv exec", [*ROCENV, "exec", "there", "--", "true"]),
        Case("docker info", ["docker", "info", "--format", "{{json .}}"]),
        Case("rocenv detect --json", [*ROCENV, "detect", "--json"]),
        Case("rocenv doctor --json", [*ROCENV, "doctor", "--json"], codes=(0, 3, 4)),
    ]
    limits = [
        Limit("rocenv up", {"docker run": 1, "T": 1, "P": 6}),
        Limit("rocenv exec", {"docker exec": 1, "T": 1, "P": 2}),
        Limit("rocenv doctor --json", {"rocenv detect --json": 1.5, "docker info": 1, "P": 6}),
    ]
    measure(report, cases, limits, rounds)
    spend([*ROCENV, "down", "--volumes"])


def audit(report: Report, rounds: int, folder: Path) -> None:
    """`rocenv audit` of a saved image against reading and decompressing its layers alone: benchmarks/audit.py."""
    result = folder / "audit.json"
    argv = [PYTHON, str(CHECKOUT / "benchmarks" / "audit.py"), "--rounds", str(min(rounds, 5)), "--json", str(result)]
    subprocess.run(
        argv, stdout=subprocess.DEVNULL, check=False
    )  # it ends with an error where a figure is over its limit
    answer = json.loads(result.read_text())
    for name, case in answer["cases"].items():
        report.medians[f"reading alone ({name})"] = case["alone_s"] * 1000
        report.medians[f"rocenv audit ({name})"] = case["audit_s"] * 1000
    report.limits += answer["limits"]


def build(report: Report, rounds: int, folder: Path) -> None:
    """1,000 Dockerfiles in one process; in the test bed, a second build beside docker's own with all in its cache."""
    if not report.inside:
        script = CHECKOUT / "benchmarks" / "dockerfiles.py"
        taken = [float(subprocess.check_output([PYTHON, str(script)])) for _ in range(min(rounds, 5))]
        report.medians |= {"1,000 Dockerfiles": round(statistics.median(taken), 2), "a second": 1000.0}
        report.limits.append(Limit("1,000 Dockerfiles", {"a second": 1}).judge(report.medians))
        subprocess.run([PYTHON, str(BED), "up", "test"], check=True)
        try:
            take_over(report, inside("build", rounds, folder, [PYTHON, str(BED), "run", "test"]), "build")
        finally:
            subprocess.run([PYTHON, str(BED), "stop", "test"], check=True)
        return
    os.chdir(folder)
    os.environ["PATH"] = f"/usr/bin:/bin:{os.environ['PATH']}"  # Debian's own docker client has BuildKit in it
    (folder / "rocenv.yaml").write_text(
        f"extends: hip\nimage: {{reference: '{SMALL_IMAGE}'}}\nbuild: {{template: on-image}}\n"
    )
    spend(["docker", "pull", SMALL_IMAGE])
    spend([*ROCENV, "build"])
    spend([*ROCENV, "dockerfile", "-o", "Dockerfile"])
    os.environ["DOCKER_BUILDKIT"] = "1"
    cases = [
        *units(folder),
        Case("docker build again", ["docker", "build", "--tag=bench:1", "."]),
        Case("rocenv build again", [*ROCENV, "build"]),
    ]
    measure(report, cases, [Limit("rocenv build again", {"docker build again": 1.3})], rounds)


GROUPS = {"audit": audit, "start": start, "detect": detect, "engine": engine, "build": build}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    report = Report(inside=options.inside)
    if not report.inside:
        compileall.compile_dir(CHECKOUT / "rocenv", quiet=1)  # as an installation does; here nothing else may have
    for name in options.groups or GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            GROUPS[name](report, options.rounds, Path(folder))
    answer = {"version": 1, "medians_ms": report.medians, "limits": report.limits}
    text = json.dumps(answer, indent=2)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    if not report.inside and not all(limit["ok"] for limit in report.limits):
        sys.exit("error: a figure is over its limit")


if __name__ == "__main__":
    main()
