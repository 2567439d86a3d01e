"""What `rocenv test` says: every word that a reader relies on."""

from __future__ import annotations

import json

from rocenv.model.plan import GpuRef
from rocenv.model.proof import LEVELS, ProbeResult
from rocenv.report.proof import closing, proof_json, proof_text

GPUS = [
    GpuRef(0, "gfx942", "0000:0c:00.0", 0, None, "/dev/dri/renderD128", "MI300X"),
    GpuRef(1, "gfx942", "0000:22:00.0", 0, None, "/dev/dri/renderD136", "MI300X"),
]
NAMES = dict(zip(LEVELS, ("access", "runtime", "vector_add", "hipcc_targets", "rocblas", "torch_matmul"), strict=True))
ALL = "access, runtime, kernel, compile, libraries, framework"


def result(level: str, gpu: int | None, said: str = "passed", cause: str | None = None) -> ProbeResult:
    ran_on = None if said == "skipped" else "MI300X gfx942"
    return ProbeResult(NAMES[level], level, gpu, said, cause, 0.5, {}, ran_on)


PROVEN = [result(level, gpu) for level in LEVELS for gpu in (0, 1)]


def test_all_proven() -> None:
    assert closing(PROVEN, GPUS) == f"2 of 2 GPUs proven: {ALL}"
    assert closing([r for r in PROVEN if r.gpu == 0], GPUS[:1]) == f"1 of 1 GPU proven: {ALL}"


def test_table_has_a_row_for_each_gpu_and_none_that_adds_nothing() -> None:
    text = proof_text([result("runtime", None), *PROVEN[2:4]], GPUS)
    assert text.splitlines() == [
        "PROBE    LEVEL    GPU  RESULT  SECONDS  RAN ON",
        "runtime  runtime  0    passed  0.5      MI300X gfx942",
        "runtime  runtime  1    passed  0.5      MI300X gfx942",
        "",
        "2 of 2 GPUs proven: runtime",
    ]


def test_failure_is_said_with_its_cause_and_whom_it_points_at() -> None:
    broken = result("kernel", 1, "failed", "wrong numbers: 1 of 1048589 sums differ")
    skipped = result("framework", None, "skipped", "stopped: the kernel level failed")
    text = proof_text([*PROVEN[:5], broken, skipped], GPUS)
    assert "vector_add, GPU 1: wrong numbers: 1 of 1048589 sums differ" in text.splitlines()
    assert text.splitlines()[-1] == "not proven: the kernel level failed; the evidence points at the GPU; skipped: 1"


def test_failure_that_points_nowhere_says_so() -> None:
    line = closing([result("kernel", 0, "error", "no answer: it ended with status 3")], GPUS)
    assert line == "not proven: the kernel level failed; the evidence does not say which layer is at fault"


def test_stand_in_says_what_was_and_what_was_not_shown() -> None:
    results = [result("access", 0), result("access", 1), *(result(level, None, "stand-in") for level in LEVELS[1:])]
    line = closing(results, GPUS)
    assert line.startswith("stand-in: no AMD GPU ran anything; shown: the nodes open; ")
    assert line.endswith(f"not shown on a GPU: {ALL.removeprefix('access, ')}")
    assert "proven" not in line


def test_failure_outweighs_a_stand_in() -> None:
    results = [result("runtime", None, "stand-in"), result("kernel", None, "failed", "wrong numbers: x")]
    assert closing(results, GPUS).startswith("not proven: the kernel level failed")


def test_skips_are_counted() -> None:
    skipped = [result(level, None, "skipped", "no GPU: none is planned") for level in LEVELS[:3]]
    assert closing(skipped, []) == "nothing proven; skipped: 3"
    assert closing([*PROVEN[:2], skipped[1]], GPUS) == "2 of 2 GPUs proven: access; skipped: 1"


def test_override_is_said() -> None:
    overridden = ProbeResult("runtime", "runtime", 0, "passed", None, 0.1, {"override": "gfx1031 is run as gfx1030"})
    line = closing([overridden], GPUS[:1])
    expected = "1 of 1 GPU proven: runtime (HSA_OVERRIDE_GFX_VERSION is in effect: gfx1031 is run as gfx1030)"
    assert line == expected


def test_json_has_the_contracts_keys() -> None:
    answer = json.loads(json.dumps(proof_json("pytorch", "framework", PROVEN)))
    assert list(answer) == ["version", "status", "environment", "level", "probes", "blame"]
    assert (answer["version"], answer["status"], answer["environment"], answer["level"]) == (
        1,
        "ok",
        "pytorch",
        "framework",
    )
    assert answer["blame"] is None
    assert answer["probes"][0] == {
        "name": "access",
        "level": "access",
        "gpu": 0,
        "result": "passed",
        "cause": None,
        "seconds": 0.5,
        "figures": {},
        "ran_on": "MI300X gfx942",
    }


def test_json_of_a_failure() -> None:
    failed = proof_json("hip", "kernel", [result("kernel", 0, "failed", "wrong numbers: x")])
    assert (failed["status"], failed["blame"]) == ("failed", "GPU")
    assert proof_json("hip", "kernel", [result("kernel", None, "error", "no answer: x")])["status"] == "failed"
    assert proof_json("hip", "kernel", [result("kernel", None, "stand-in")])["status"] == "ok"
