"""The runner against probes that misbehave. They run as plain processes here: tests/smoke/test_in_container.py has the
same on a real engine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from smoke.local import Local

from rocenv.errors import EngineError
from rocenv.model.plan import GpuRef
from rocenv.model.proof import LEVELS, Probe, ProbeResult
from rocenv.smoke import run_probes
from rocenv.smoke.judge import Said, judge
from rocenv.smoke.runner import MOST_OUTPUT, run_probe

GPU = GpuRef(0, "gfx942", "0000:0c:00.0", 0, None, "/dev/dri/renderD128", "AMD Instinct MI300X")
GOOD = """echo '{"result": "passed", "gpu": {"bdf": "0000:0c:00.0"}}'"""


class Shell(Local):
    """Runs the supervisor in a given shell in place of `sh`."""

    def __init__(self, shell: str) -> None:
        super().__init__()
        self.shell = [shell] if shell != "busybox" else ["busybox", "sh"]

    def exec_argv(self, container: str, command: Any, **options: Any) -> list[str]:
        argv = super().exec_argv(container, command, **options)
        at = argv.index("sh")
        return [*argv[:at], *self.shell, *argv[at + 1 :]]


def engines() -> list[Any]:
    return [pytest.param(Shell(name), id=name) for name in ("bash", "dash", "busybox") if shutil.which(name)]


@pytest.fixture(params=engines())
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Local:
    """Each shell that an image may have; temporary folders go to a place that can be looked at afterwards."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    chosen: Local = request.param
    return chosen


@pytest.fixture
def run(engine: Local, tmp_path: Path) -> Any:
    """Run a probe's text and return what it left; afterwards nothing of it may be left."""

    def run(text: str, *, seconds: float = 20, needs: tuple[str, ...] = (), kind: str = "sh", **options: Any) -> Said:
        file = tmp_path / f"probe.{kind}"
        file.write_text(text)
        probe = Probe("probe", "", "kernel", needs, seconds, str(file))
        said = run_probe(engine, "here", probe, [GPU], stand_in=bool(options.get("stand_in")))
        assert list((tmp_path / "tmp").iterdir()) == [], "the probe's folder is still there"
        return said

    return run


def judged(said: Said, seconds: float = 20) -> list[tuple[str, str | None]]:
    probe = Probe("probe", "", "kernel", (), seconds, "probe.sh")
    return [(r.result, None if r.cause is None else r.cause) for r in judge(probe, said, [GPU], stand_in=False)]


def test_good_probe_passes(run: Any) -> None:
    assert judged(run(GOOD)) == [("passed", None)]


def test_probe_is_told_what_was_planned(run: Any) -> None:
    said = run('echo "$ROCENV_NODES|$ROCENV_TARGETS|$ROCENV_STAND_IN|$LC_ALL"')
    assert said.stdout.strip() == "/dev/dri/renderD128|gfx942||C"
    assert run("echo $ROCENV_STAND_IN", stand_in=True).stdout.strip() == "1"


def test_text_arrives_as_it_is(run: Any) -> None:
    odd = "tab\there 'quotes' \"double\" back\\slash $HOME `date` %s éß"
    assert run(f"cat <<'END'\n{odd}\nEND\n").stdout.strip() == odd


def test_probe_has_nothing_to_read_and_a_folder_of_its_own(run: Any) -> None:
    said = run('cat; pwd; [ "$PWD" = "$TMPDIR" ] && : >left && echo own')
    assert said.stdout.split()[1] == "own"


def test_status_and_talk_come_through(run: Any) -> None:
    said = run("echo oh >&2; exit 3")
    assert (said.ended, said.status, said.stderr.strip()) == ("end", 3, "oh")
    assert judged(said) == [("error", "no answer: it ended with status 3 and `oh`")]


def test_no_output(run: Any) -> None:
    assert judged(run("true")) == [("error", "no answer: it ended with status 0")]


def test_output_without_an_end_of_line(run: Any) -> None:
    assert judged(run('printf \'%s\' \'{"result": "passed", "gpu": {"bdf": "0000:0c:00.0"}}\'')) == [("passed", None)]


def test_binary_output(run: Any) -> None:
    [(result, cause)] = judged(run("head -c 5000 /dev/urandom"))
    assert result == "error"
    assert str(cause).startswith(("malformed answer", "no answer"))
    assert len(str(cause)) < 400


def test_flood_is_cut_off_and_does_not_fill_memory(run: Any) -> None:
    said = run(f"{GOOD}; yes 0123456789012345678901234567890123456789 | head -c 100000000")
    assert said.ended == "flood"
    assert len(said.stdout) <= MOST_OUTPUT
    assert judged(said)[0][0] == "error"


def test_flood_of_talk_is_no_answer_and_harmless(run: Any) -> None:
    said = run(f"yes | head -c 20000000 >&2; echo last words >&2; {GOOD}")
    assert judged(said) == [("passed", None)]
    assert len(said.stderr) <= 1 << 16
    assert said.stderr.endswith("last words\n")


def test_hang_is_ended_at_its_limit(run: Any) -> None:
    said = run("trap '' TERM INT HUP; echo $$ >&2; while :; do sleep 1000; done", seconds=1)
    assert judged(said, seconds=1) == [("failed", "hung: no end within 1 s")]
    assert gone(int(said.stderr.split()[0]))


def test_hang_after_an_answer_keeps_the_answer(run: Any) -> None:
    said = run(f"{GOOD}; sleep 1000", seconds=1)
    assert judged(said, seconds=1)[0] == ("failed", "hung: no end within 1 s")
    assert judged(said, seconds=1)[1] == ("passed", None)


def test_child_that_stays_is_ended_and_holds_nobody_up(run: Any) -> None:
    said = run(f"sleep 1000 & echo $! >&2; {GOOD}")
    assert judged(said) == [("passed", None)]
    assert said.seconds < 20
    assert gone(int(said.stderr.split()[0]))


def test_daemon_in_a_session_of_its_own_is_ended(run: Any) -> None:
    said = run(f"setsid sh -c 'echo $$ >&2; : >up; exec sleep 1000' & while [ ! -e up ]; do :; done; {GOOD}")
    assert judged(said) == [("passed", None)]
    assert gone(int(said.stderr.split()[0]))


@pytest.mark.parametrize(("name", "number"), [("SIGSEGV", 11), ("SIGABRT", 6), ("SIGKILL", 9)])
def test_death_by_signal_is_a_result(run: Any, name: str, number: int) -> None:
    assert judged(run(f"kill -{number} $$")) == [("failed", f"killed: {name} ended the probe")]


def test_overrides_in_effect_are_told(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "10.3.0")
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION_1", "11.0.0")
    assert set(run(GOOD).overrides) == {"10.3.0", "11.0.0"}
    monkeypatch.delenv("HSA_OVERRIDE_GFX_VERSION_1")
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "9.0.10")
    said = run("echo $ROCENV_TARGETS")
    assert said.overrides == ("9.0.10",)
    assert said.stdout.split() == ["gfx942", "gfx90a"], "code for what the GPU looks like is built too"


def test_python_probe_runs_where_there_is_python(run: Any) -> None:
    said = run(
        "import sys\nprint(sys.argv, file=sys.stderr)\n" + f"print('''{GOOD[6:-1]}''')", kind="py", needs=("python",)
    )
    assert judged(said) == [("passed", None)]


def test_python_that_raises_is_told_by_its_last_line(run: Any) -> None:
    said = run("raise ValueError('odd')", kind="py", needs=("python",))
    assert judged(said) == [("error", "no answer: it ended with status 1 and `ValueError: odd`")]


def test_what_the_image_lacks_is_named(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("head", "mktemp", "rm", "grep", "sleep", "sh", "bash", "dash", "busybox", "env", "sed", "tr"):
        found = shutil.which(tool)
        if found:
            (tools / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    said = run(GOOD, needs=("hipcc",))
    assert (said.ended, said.missing) == ("missing", "hipcc")
    assert judged(said)[0][1] == "no compiler: hipcc is neither on PATH nor in /opt/rocm"


def test_command_that_cannot_be_started_is_the_engines(tmp_path: Path) -> None:
    probe = Probe("probe", "", "kernel", (), 5, str(tmp_path / "probe.sh"))
    Path(probe.path).write_text(GOOD)
    with pytest.raises(EngineError, match="no-such-engine"):
        run_probe(Local("no-such-engine"), "here", probe, [GPU], stand_in=False)


def test_engine_that_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    probe = Probe("probe", "", "kernel", (), 5, str(tmp_path / "probe.sh"))
    Path(probe.path).write_text(GOOD)
    refusing = Local("sh", "-c", "echo 'Error: No such container: here' >&2; exit 1", "--")
    said = run_probe(refusing, "here", probe, [GPU], stand_in=False)
    assert judged(said) == [("error", "engine gave up: Error: No such container: here")]


def test_engine_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocenv.smoke.runner.GRACE", 0.2)
    probe = Probe("probe", "", "kernel", (), 0.2, str(tmp_path / "probe.sh"))
    Path(probe.path).write_text(GOOD)
    said = run_probe(Local("sh", "-c", "exec sleep 1000", "--"), "here", probe, [GPU], stand_in=False)
    assert judged(said, seconds=0.2) == [("failed", "hung: no end within 0.2 s")]


def test_nothing_is_left_when_rocenv_itself_is_killed(tmp_path: Path) -> None:
    """SIGKILL leaves nobody to clean up: the stream that ends is what ends the probe."""
    (tmp_path / "probe.sh").write_text(
        "sleep 1000 & setsid sleep 1000 & echo $! >ids; echo $$ >>ids; cp ids $IDS; sleep 1000"
    )
    ids = tmp_path / "ids"
    script = (
        "import sys\nfrom smoke.local import Local\nfrom rocenv.model.proof import Probe\n"
        "from rocenv.smoke.runner import run_probe\n"
        "run_probe(Local(), 'here', Probe('p', '', 'kernel', (), 900, sys.argv[1]), [], stand_in=False)\n"
    )
    environment = {**os.environ, "IDS": str(ids), "PYTHONPATH": os.pathsep.join(sys.path)}
    rocenv = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "probe.sh")], env=environment)
    numbers = [int(word) for word in waited(lambda: ids.read_text().split() if ids.exists() else [], 2)]
    rocenv.send_signal(signal.SIGKILL)
    rocenv.wait()
    assert all(gone(number) for number in numbers)


def waited(ask: Any, count: int) -> list[str]:
    """What `ask` answers once it has `count` words, asked until then."""
    deadline = time.monotonic() + 60
    while len(ask()) < count:
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
    answer: list[str] = ask()
    return answer


def gone(number: int) -> bool:
    """Whether a process ends soon: it is no more, or nobody's zombie."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in ("Z", "X"):
            return True
        time.sleep(0.02)
    return False


# The order of levels, with the real probes.


def told(engine: Local, level: str, gpus: list[GpuRef] | None = None, **options: Any) -> list[ProbeResult]:
    heard: list[ProbeResult] = []
    chosen = [GPU] if gpus is None else gpus
    results = run_probes(engine, "here", chosen, level=level, stand_in=False, tell=heard.append, **options)
    assert heard == results
    return results


def test_first_failing_level_stops_those_above() -> None:
    nowhere = GpuRef(0, "gfx942", "0000:0c:00.0", 0, None, "/dev/dri/renderD999", "AMD Instinct MI300X")
    results = told(Local(), "framework", [nowhere])
    assert {(r.level, r.result) for r in results if r.level != "access"} == {(level, "skipped") for level in LEVELS[1:]}
    assert ("access", "failed", 0) in {(r.level, r.result, r.gpu) for r in results}
    assert {r.cause for r in results if r.result == "skipped"} == {"stopped: the access level failed"}


def test_what_does_not_stand_on_a_failed_level_still_runs() -> None:
    """The libraries of an image say nothing of its framework, which may bring its own."""
    results = told(Local(), "framework", probes=["rocblas", "torch_matmul"])
    assert [(r.name, r.result) for r in results if r.level == "libraries"] == [("rocblas", "failed")]
    assert not any(str(r.cause).startswith("stopped") for r in results)


def test_environment_without_gpus_has_nothing_to_prove() -> None:
    results = told(Local("false"), "kernel", [], quick=True)
    assert [(r.name, r.result) for r in results] == [
        ("access", "skipped"),
        ("runtime", "skipped"),
        ("vector_add", "skipped"),
    ]
