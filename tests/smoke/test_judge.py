"""The judge believes no probe: each row is something a probe may say, and the verdict it must get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocenv.model.plan import GpuRef
from rocenv.model.proof import Probe, ProbeResult
from rocenv.report.proof import BLAME, blame
from rocenv.smoke.judge import Said, judge

PROBE = Probe("runtime", "", "runtime", (), 30.0, "runtime.py", quick=True)
UUIDS = ("GPU-00000000000000aa", "GPU-00000000000000bb")
A = GpuRef(0, "gfx942", "0000:0c:00.0", 0, UUIDS[0], "/dev/dri/renderD128", "AMD Instinct MI300X")
B = GpuRef(1, "gfx942", "0000:22:00.0", 0, UUIDS[1], "/dev/dri/renderD136", "AMD Instinct MI300X")
SEEN_A = {"bdf": "0000:0c:00.0", "uuid": UUIDS[0], "gfx": "gfx942", "name": "AMD Instinct MI300X"}
SEEN_B = {"bdf": "0000:22:00.0", "uuid": UUIDS[1], "gfx": "gfx942", "name": "AMD Instinct MI300X"}


def passed(gpu: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"result": "passed", **({} if gpu is None else {"gpu": gpu}), **more}


def verdicts(*lines: Any, gpus: tuple[GpuRef, ...] = (A, B), stand_in: bool = False, **said: Any) -> list[ProbeResult]:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return judge(PROBE, Said(**{**END, "stdout": text, **said}), gpus, stand_in=stand_in)


END: dict[str, Any] = {"ended": "end", "status": 0, "stdout": "", "stderr": "", "seconds": 1.5}


def short(results: list[ProbeResult]) -> list[tuple[int | None, str, str | None]]:
    return [(r.gpu, r.result, None if r.cause is None else r.cause.partition(":")[0]) for r in results]


def test_planned_gpus_pass() -> None:
    results = verdicts(passed(SEEN_A, seconds=0.25, figures={"elements": 3}), passed(SEEN_B))
    assert short(results) == [(0, "passed", None), (1, "passed", None)]
    assert [result.seconds for result in results] == [0.25, 1.5]
    assert results[0].figures == {"elements": 3}
    assert results[0].ran_on == "AMD Instinct MI300X gfx942 0000:0c:00.0"


def test_addresses_match_in_any_case_and_without_their_function() -> None:
    upper = {**SEEN_A, "bdf": "0000:0C:00.1", "uuid": None}
    assert short(verdicts(passed(upper), gpus=(A,))) == [(0, "passed", None)]


def test_features_of_a_target_are_no_other_target() -> None:
    assert short(verdicts(passed({**SEEN_A, "gfx": "gfx942:sramecc+:xnack-"}), gpus=(A,))) == [(0, "passed", None)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([passed(SEEN_A)], [(0, "passed", None), (1, "failed", "missing GPU")]),
        (
            [passed(SEEN_A), passed(SEEN_B), passed({**SEEN_A, "bdf": "0000:43:00.0", "uuid": None})],
            [(None, "failed", "extra GPU"), (0, "passed", None), (1, "passed", None)],
        ),
        (
            [passed(SEEN_A), passed({**SEEN_B, "bdf": "0000:43:00.0", "uuid": "GPU-00000000000000cc"})],
            [(None, "failed", "extra GPU"), (0, "passed", None), (1, "failed", "missing GPU")],
        ),
        (
            [passed(SEEN_A), passed({**SEEN_B, "uuid": "GPU-00000000000000cc"})],
            [(0, "passed", None), (1, "failed", "other GPU")],
        ),
        ([passed({**SEEN_A, "gfx": "gfx90a"}), passed(SEEN_B)], [(0, "failed", "wrong gfx"), (1, "passed", None)]),
        (
            [passed(SEEN_B), passed(SEEN_A)],
            [(None, "failed", "other order"), (0, "passed", None), (1, "passed", None)],
        ),
        (
            [passed(SEEN_A, ran_on="CPU"), passed(SEEN_B)],
            [(0, "failed", "ran on the CPU"), (1, "passed", None)],
        ),
        ([passed(ran_on="CPU")], [(None, "failed", "ran on the CPU")]),
        (
            [passed(SEEN_A), passed(SEEN_A)],
            [(None, "failed", "extra GPU"), (0, "passed", None), (1, "failed", "missing GPU")],
        ),
        (
            [passed(SEEN_A), {"result": "failed", "gpu": SEEN_B, "cause": "wrong numbers: 1 of 2"}],
            [(0, "passed", None), (1, "failed", "wrong numbers")],
        ),
        ([{"result": "failed", "cause": "no GPU seen: none"}], [(None, "failed", "no GPU seen")]),
        (
            [passed(figures={"hidden": []})],
            [(None, "passed", None), (0, "failed", "missing GPU"), (1, "failed", "missing GPU")],
        ),
        ([{"result": "failed"}], [(None, "failed", "no cause given")]),
        ([{"result": "skipped", "cause": "not here: x"}], [(None, "skipped", "not here")]),
        ([{"result": "stand-in"}], [(0, "error", "malformed answer"), (1, "error", "malformed answer")]),
        ([{"result": "splendid"}], [(0, "error", "malformed answer"), (1, "error", "malformed answer")]),
        (['{"result": "passed", '], [(0, "error", "malformed answer"), (1, "error", "malformed answer")]),
        (["all is well"], [(0, "error", "malformed answer"), (1, "error", "malformed answer")]),
        (["\x00\x7fELF\x02\ufffd\ufffd"], [(0, "error", "malformed answer"), (1, "error", "malformed answer")]),
        (
            ["MIOpen(HIP): Warning", passed(SEEN_A), passed(SEEN_B), "bye"],
            [(0, "passed", None), (1, "passed", None)],
        ),
        (
            [passed(SEEN_A), passed(SEEN_B), "{broken"],
            [(None, "error", "malformed answer"), (0, "passed", None), (1, "passed", None)],
        ),
    ],
)
def test_what_is_said(lines: list[Any], expected: list[tuple[int | None, str, str | None]]) -> None:
    assert short(verdicts(*lines)) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"status": 1, "stderr": "Traceback …\nNameError: x"}, "no answer: it ended with status 1 and `NameError: x`"),
        ({"ended": "limit", "status": 137}, "hung: no end within 30 s"),
        ({"ended": "flood", "status": None}, "too much output: it was cut off"),
        ({"status": 139}, "killed: SIGSEGV ended the probe"),
        ({"status": 134}, "killed: SIGABRT ended the probe"),
        ({"status": 255}, "killed: signal 127 ended the probe"),
        ({"ended": "missing", "status": None, "missing": "python"}, "no Python: "),
        ({"ended": "missing", "status": None, "missing": "torch"}, "no torch: "),
        ({"ended": "missing", "status": None, "missing": "hipcc"}, "no compiler: "),
        (
            {"ended": "cut", "status": None, "stderr": 'exec failed: exec: "sh": executable file not found in $PATH'},
            "no shell: ",
        ),
        ({"ended": "cut", "status": None, "stderr": "Error: No such container: x"}, "engine gave up: Error: No such"),
        ({"ended": "cut", "status": None}, "engine gave up: without a word"),
    ],
)
def test_how_it_ended(said: dict[str, Any], expected: str) -> None:
    results = verdicts(**said)
    assert [result.gpu for result in results] == [0, 1]
    assert all(str(result.cause).startswith(expected) for result in results), results
    assert {result.result for result in results} == {
        "failed" if "hung" in expected or "killed" in expected else "error"
    }


def test_what_is_not_there_is_skipped_where_it_is_not_one_of_the_few() -> None:
    said = Said("missing", None, "", "", 0.1, missing="hipcc")
    results = judge(PROBE._replace(quick=False), said, [A, B], stand_in=False)
    assert [(r.gpu, r.result) for r in results] == [(0, "skipped"), (1, "skipped")]
    assert str(results[0].cause).startswith("no compiler: ")


def test_one_that_speaks_for_the_container_need_not_name_a_gpu() -> None:
    said = Said("end", 0, '{"result": "passed"}', "", 0.1)
    assert short(judge(PROBE._replace(of_container=True), said, [A, B], stand_in=False)) == [(None, "passed", None)]
    assert (0, "failed", "missing GPU") in short(judge(PROBE, said, [A, B], stand_in=False))


def test_an_end_hits_only_those_that_were_not_spoken_of() -> None:
    assert short(verdicts(passed(SEEN_A), ended="limit", status=137)) == [(0, "passed", None), (1, "failed", "hung")]
    both = verdicts(passed(SEEN_A), passed(SEEN_B), status=134)
    assert short(both) == [(None, "failed", "killed"), (0, "passed", None), (1, "passed", None)]


def test_status_that_contradicts_the_answer() -> None:
    results = verdicts(passed(SEEN_A), passed(SEEN_B), status=3)
    assert short(results) == [(None, "error", "crashed"), (0, "passed", None), (1, "passed", None)]
    told = verdicts(passed(SEEN_A), {"result": "failed", "gpu": SEEN_B, "cause": "wrong numbers: x"}, status=1)
    assert short(told) == [(0, "passed", None), (1, "failed", "wrong numbers")]


def test_partitions_share_an_address_and_are_told_apart_by_order_or_uuid() -> None:
    parts = tuple(
        GpuRef(i, "gfx942", "0000:0c:00.0", i, None, f"/dev/dri/renderD{128 + i}", "MI300X") for i in range(3)
    )
    seen = [{"bdf": f"0000:0c:00.{i}", "gfx": "gfx942"} for i in range(3)]  # old kernels number them in the function
    assert short(verdicts(*map(passed, seen), gpus=parts)) == [(i, "passed", None) for i in range(3)]
    assert short(verdicts(passed(seen[0]), gpus=parts[:2])) == [(0, "passed", None), (1, "failed", "missing GPU")]
    own = tuple(GpuRef(i, "gfx942", "0000:0c:00.0", i, UUIDS[i], None, "MI300X") for i in range(2))
    swapped = [{"bdf": "0000:0c:00.0", "gfx": "gfx942", "uuid": UUIDS[i]} for i in (1, 0)]
    assert short(verdicts(*map(passed, swapped), gpus=own))[0] == (None, "failed", "other order")


def test_asked_for_order_is_no_fault() -> None:
    assert short(verdicts(passed(SEEN_B), passed(SEEN_A), gpus=(B, A))) == [(0, "passed", None), (1, "passed", None)]
    assert short(verdicts(passed(SEEN_A), passed(SEEN_B), gpus=(B, A))) == [(0, "passed", None), (1, "passed", None)]


def test_override_explains_another_target_and_only_that_one() -> None:
    planned = GpuRef(0, "gfx1031", "0000:0c:00.0", 0, None, None, "RX 6700 XT")
    seen = {"bdf": "0000:0c:00.0", "gfx": "gfx1030"}
    [result] = verdicts(passed(seen), gpus=(planned,), overrides=("10.3.0",))
    assert (result.result, result.figures) == ("passed", {"override": "gfx1031 is run as gfx1030"})
    assert short(verdicts(passed(seen), gpus=(planned,), overrides=("11.0.0", "10.3", "x")))[0][2] == "wrong gfx"
    hexadecimal = GpuRef(0, "gfx908", "0000:0c:00.0", 0, None, None, "MI100")
    [result] = verdicts(passed({**seen, "gfx": "gfx90a"}), gpus=(hexadecimal,), overrides=("9.0.10",))
    assert result.result == "passed"


def test_nodes_are_matched_by_their_path() -> None:
    node = {"render_node": "/dev/dri/renderD136"}
    results = verdicts(
        {"result": "failed", "gpu": node, "cause": "no permission: EACCES", "ran_on": "/dev/dri/renderD136"}
    )
    assert short(results) == [(0, "failed", "missing GPU"), (1, "failed", "no permission")]


def test_stand_in_is_never_passed() -> None:
    cpu = passed(ran_on="CPU")
    assert short(verdicts(cpu, stand_in=True)) == [(None, "stand-in", None)]
    [result] = verdicts(cpu, stand_in=True)
    assert result.ran_on == "CPU (stand-in)"
    wrong = {"result": "failed", "cause": "wrong numbers: 3", "ran_on": "CPU"}
    assert short(verdicts(wrong, stand_in=True)) == [(None, "failed", "wrong numbers")]


def test_stand_in_counts_targets_where_sysfs_shows_more_than_was_planned() -> None:
    four = [passed({"gfx": gfx}, ran_on="CPU") for gfx in ("gfx90a", "gfx942", "gfx942", "gfx942")]
    assert short(verdicts(*four, stand_in=True)) == [(0, "stand-in", None), (1, "stand-in", None)]
    assert short(verdicts(*four[:2], stand_in=True)) == [(0, "stand-in", None), (1, "failed", "missing GPU")]


def test_real_gpu_in_a_stand_in_passes_as_what_it_is() -> None:
    assert short(verdicts(passed(SEEN_A), passed(SEEN_B), stand_in=True)) == [(0, "passed", None), (1, "passed", None)]


@pytest.mark.parametrize(
    "figures",
    ['{"x": NaN}', '{"x": 1e999}', '{"x": [[[1]]]}', '{"x": {"y": {"z": 1}}}', "[1]", '"text"', "null"],
)
def test_figures_are_plain_and_finite(figures: str) -> None:
    [result] = verdicts(f'{{"result": "failed", "cause": "x: y", "figures": {figures}}}', gpus=())
    assert json.loads(json.dumps(dict(result.figures), allow_nan=False)) in ({}, {"x": None})


def test_seconds_and_words_are_bounded() -> None:
    line = {"result": "failed", "cause": "wrong\nnumbers: " + "x" * 5000, "seconds": -1}
    [result] = verdicts(line, gpus=())
    assert result.seconds == 1.5
    assert str(result.cause).startswith("wrong numbers: xxx")
    assert len(str(result.cause)) < 400
    [huge] = verdicts('{"result": "failed", "cause": "x: \\ud800", "seconds": 1' + "0" * 400 + "}", gpus=())
    assert huge.seconds == 1.5
    str(huge.cause).encode()


def test_deep_nesting_is_malformed_and_no_crash() -> None:
    assert short(verdicts('{"result": ' + "[" * 100_000, gpus=(A,))) == [(0, "error", "malformed answer")]


@pytest.mark.parametrize(
    ("level", "cause", "layer"),
    [
        ("access", "no permission: EACCES", "engine"),
        ("access", "denied by the host: EACCES", "host"),
        ("access", "device not allowed: EPERM", "engine"),
        ("access", "node missing: ENOENT", "engine"),
        ("access", "driver does not answer: ENODEV", "host"),
        ("access", "hung: no end", "host"),
        ("runtime", "the ROCm runtime does not start: 0x1008", "host"),
        ("runtime", "missing GPU: x", "engine"),
        ("runtime", "no Python: none", "image"),
        ("kernel", "no code for this GPU: 209", "image"),
        ("kernel", "wrong numbers: 1 of 9", "GPU"),
        ("kernel", "hung: no end", "GPU"),
        ("kernel", "killed: SIGSEGV", None),
        ("kernel", "compiler failed: x", "image"),
        ("framework", "no code for this GPU: torch", "framework"),
        ("framework", "wrong numbers: 1 of 9", "framework"),
        ("framework", "CPU build of torch: 2.6", "framework"),
        ("framework", "ran on the CPU: x", "framework"),
        ("kernel", "never heard of: x", None),
    ],
)
def test_blame(level: str, cause: str, layer: str | None) -> None:
    assert blame([ProbeResult("p", level, 0, "failed", cause, 0.0)]) == layer


def test_blame_is_the_lowest_levels() -> None:
    low = ProbeResult("access", "access", 0, "failed", "no permission: x", 0.0)
    high = ProbeResult("torch", "framework", 0, "failed", "CPU build of torch: x", 0.0)
    fine = ProbeResult("runtime", "runtime", 0, "passed", None, 0.0)
    assert blame([high, fine, low]) == "engine"
    assert blame([fine]) is None
    assert blame([ProbeResult("x", "kernel", 0, "skipped", "stopped: x", 0.0)]) is None


def test_every_layer_is_one_that_the_reader_knows() -> None:
    layers = {layer for value in BLAME.values() for layer in (value.values() if isinstance(value, dict) else (value,))}
    assert layers == {"host", "engine", "image", "GPU", "framework"}
