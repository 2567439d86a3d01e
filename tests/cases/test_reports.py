"""What people reported, case by case: rocenv says what is the matter, and emits what would have worked.

The cases are read from $ROCENV_CASES, and lie in no copy here. What a case cannot be held to yet is marked with the
part of rocenv that will carry it; when that part lands, its mark turns red until the case is run.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import commands
from cases.commands import Outcome

from rocenv.cli import app, plan, up
from rocenv.smoke import list_probes

ROOT = Path(__file__).parent.parent.parent
FILE = Path(os.environ.get("ROCENV_CASES") or ROOT / "../shared/cases/reports.yaml")
CASES: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8")) if FILE.is_file() else []
BY_ID = {case["id"]: case for case in CASES}
Case = Mapping[str, Any]


# --- what is not there yet -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """A case that another part of rocenv carries: which, and whether that part is there."""

    part: str
    landed: Callable[[], bool]


def command(*names: str) -> Callable[[], bool]:
    return lambda: any(name in app.COMMANDS for name in names)


def option(of: Callable[..., object], word: str) -> Callable[[], bool]:
    return lambda: any(word in name for name in inspect.signature(of).parameters)


FORMS = Mark("the plan in other forms: compose files, Kubernetes, CI jobs", command("emit", "export", "compose"))
APPTAINER = Mark("Apptainer as an engine or a form", command("emit", "export", "apptainer"))
MARKED = {
    "perm-03": FORMS,
    "perm-16": FORMS,
    "shm-02": FORMS,
    "shm-03": FORMS,
    "ci-04": FORMS,
    "ci-06": Mark("GPUs by a CI runner's device file", option(plan.command, "devices")),
    "appt-01": APPTAINER,
    "appt-03": APPTAINER,
    "select-08": Mark(
        "a subset of which HIP sees nothing: choosing it by variable on demand", option(up.command, "by_")
    ),
}

# --- which of rocenv's own functions a case's command is -------------------------------------------------------------

# By the first words of a command: what tells the verdicts, and what else is run for it.
RUN: tuple[tuple[str, tuple[Callable[[Case, Path], Outcome], ...]], ...] = (
    ("rocenv run --print --offline", (commands.without_network,)),
    ("rocenv run", (commands.plan, commands.doctor)),
    ("rocenv test --gpus", (commands.plan,)),
    ("rocenv facts", (commands.detect, commands.doctor)),
    ("rocenv gpus", (commands.detect,)),
    ("rocenv image resolve", (commands.resolve,)),
    ("rocenv image --for", (commands.doctor, commands.choose)),
    ("rocenv k8s --nodes-facts", (commands.doctor,)),
    ("rocenv k8s doctor", (commands.doctor,)),
    ("rocenv dockerfile", (commands.dockerfile,)),
    ("rocenv build", (commands.dockerfile,)),
    ("rocenv clean", (commands.clean,)),
    *((f"rocenv {word}", (commands.doctor,)) for word in ("doctor", "lint", "explain", "pull", "test", "ci-check")),
)
# Words of the file's own header on where the design holds against a case, and other spellings of the same.
AMENDED: dict[str, dict[str, Any]] = {
    "owner-02": {  # HOME and the caches are volumes of the caller's own
        "env_has": ["MIOPEN_USER_DB_PATH=/var/cache/rocenv/miopen", "MIOPEN_CUSTOM_CACHE_DIR=/var/cache/rocenv/miopen"],
        "mounts_have": ["target=/var/cache/rocenv/miopen"],
    },
    # Its words name no GPU; what it asks is that the second of an inherited list is given.
    "select-06": {"argv_has": ["--device=/dev/dri/renderD131"], "argv_lacks": ["--device=/dev/dri/renderD129"]},
    # `docker save` and `load` with the lock beside the image, and every byte verified.
    "offline-01": {"message_has": ["rocenv bundle save", "rocenv bundle load"]},
    # What makes a small image without pulling the large one first.
    "disk-02": {"fix_has": ["--template wheels"]},
    "select-09": {"argv_has": ["--device=/dev/dri/renderD128"], "argv_lacks": ["--device=/dev/dri/renderD129"]},
}


def functions(case: Case) -> tuple[Callable[[Case, Path], Outcome], ...]:
    words = case["repro"]["command"]
    return next((found for start, found in RUN if words.startswith(start)), ())


def rows(case: Case) -> list[Case]:
    """A case, or each row of its matrix as a case."""
    found: list[Case] = []
    for row in case["repro"].get("matrix", [{}]):
        state = dict(case["repro"].get("state") or {})
        expect = case["repro"]["expect"]
        if "engine" in row:
            state["engine"] = {"name": row["engine"], "rootless": row["rootless"]}
            expect = {"argv_has": row["expect"]}
        for number, location in enumerate(row.get("location_ids", ()), start=1):
            path = f"class/kfd/kfd/topology/nodes/{number}/properties"
            text = re.sub(r"location_id \d+", f"location_id {location}", state["sys"][path])
            state["sys"] = {**state["sys"], path: text}
        found.append({**case, "repro": {**case["repro"], "state": state, "expect": expect}})
    return found


def merged(outcomes: list[Outcome]) -> Outcome:
    """What several functions came to: the first that ends with an error gives the exit status."""
    first = outcomes[0]
    return replace(
        first,
        verdicts={name: verdict for one in outcomes for name, verdict in one.verdicts.items()},
        messages="\n".join(one.messages for one in outcomes),
        fixes="\n".join(one.fixes for one in outcomes),
        fixed="".join(one.fixed for one in outcomes),
        choice=next((one.choice for one in outcomes if one.choice), None),
    )


@pytest.mark.parametrize("name", [case["id"] for case in CASES if case["id"] not in MARKED])
def test_a_case(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [one for one in os.environ if re.match(r"ROCENV_|ROCR_|HIP_|CUDA_|HSA_|SLURM_", one)]:
        monkeypatch.delenv(variable)
    for row in rows(BY_ID[name]):
        expect = {**row["repro"]["expect"], **AMENDED.get(name, {})}
        found = merged([run(row, tmp_path) for run in functions(row)])
        wrong = [line for key, wanted in expect.items() for line in EXPECTED[key](wanted, found)]
        assert wrong == [], f"{BY_ID[name]['title']}: {BY_ID[name]['root_cause']}"


# --- what a case may expect ------------------------------------------------------------------------------------------

Wrong = list[str]


def _checks(wanted: Mapping[str, str], found: Outcome) -> Wrong:
    said = found.verdicts
    return [f"{name} is {said.get(name)}, not {one}" for name, one in wanted.items() if said.get(name) != one]


def _has(field: str) -> Callable[[list[str], Outcome], Wrong]:
    return lambda wanted, found: [f"{field} lacks `{one}`" for one in wanted if one not in getattr(found, field)]


def _lacks(field: str) -> Callable[[list[str], Outcome], Wrong]:
    return lambda wanted, found: [f"{field} has `{one}`" for one in wanted if one in getattr(found, field)]


def _argv_has(wanted: list[str], found: Outcome) -> Wrong:
    """`-e X` and `-v A:B:ro` as rocenv writes them."""
    joined = " ".join(wanted)
    joined = re.sub(r"-e (\S+)", r"--env=\1", joined)
    joined = re.sub(r"-v ([^\s:]+):([^\s:]+):ro", r"--mount=type=bind,source=\1,target=\2,readonly", joined)
    return [f"argv lacks `{word}`: {found.argv}" for word in joined.split() if word not in found.argv]


def _argv_lacks(wanted: list[str], found: Outcome) -> Wrong:
    """Whole words; one that begins with a colon is the end of one."""
    words = [one for one in wanted if any(arg == one or (one[0] == ":" and arg.endswith(one)) for arg in found.argv)]
    return [f"argv has `{one}`" for one in words]


def _mounts(wanted: list[str], found: Outcome) -> Wrong:
    mounts = " ".join(word for word in found.argv if word.startswith("--mount="))
    return [f"no mount has `{one}`" for one in wanted if one not in mounts]


def _exit(wanted: int, found: Outcome) -> Wrong:
    return [] if found.exit == wanted else [f"exit {found.exit}, not {wanted}"]


def _facts(wanted: Mapping[str, Any], found: Outcome) -> Wrong:
    facts = found.facts
    devices = [*facts["gpus"], *facts["amd_display_devices_without_usable_kfd_node"]]
    told = {
        "driver.flavour": {"in-tree": "in-kernel"}.get(facts["driver"]["origin"], facts["driver"]["origin"]),
        "driver.version": facts["driver"]["version"],
        "gpus": len(devices),
        "gpus[0].virtual_function": "VF" in str(devices[0]["marketing_name"]) if devices else None,
    }
    return [f"{key} is {told[key]}, not {one}" for key, one in wanted.items() if told[key] != one]


def _rows(wanted: list[dict[str, Any]], found: Outcome) -> Wrong:
    gpus = found.facts["gpus"] or found.facts["amd_display_devices_without_usable_kfd_node"]
    told = [_row(gpu) for gpu in gpus]
    pairs = zip(told, wanted, strict=True)
    return [f"{key} is {row[key]}, not {one}" for row, want in pairs for key, one in want.items() if row[key] != one]


def _row(gpu: Mapping[str, Any]) -> dict[str, Any]:
    """A GPU of detect's answer in the cases' words; a device without its render node is `partial`."""
    render = gpu["render_node"]
    part = gpu.get("partition") or {}
    return {
        "hip": gpu.get("index"),
        "bdf": gpu["bdf"],
        "render": int(render.rpartition("renderD")[2]) if render else None,
        "uuid": gpu.get("uuid"),
        "partition": f"{part.get('index')}/{part.get('count')}",
        "state": None if render else "partial",
    }


def _bdf_order(wanted: list[int], found: Outcome) -> Wrong:
    """HIP's indices in the order of the bus, which the answer's BDFs give."""
    order = [gpu["index"] for gpu in sorted(found.facts["gpus"], key=lambda one: one["bdf"])]
    return [] if order == wanted else [f"in the order of the bus: {order}, not {wanted}"]


def _count(wanted: int, found: Outcome) -> Wrong:
    """GPUs in detect's answer, or those that a plan gives."""
    renders = [word for word in found.argv if word.startswith("--device=/dev/dri/renderD")]
    told = len(found.facts["gpus"]) if found.facts else len(renders)
    return [] if told == wanted else [f"{told} GPUs, not {wanted}"]


def _smoke_tool(wanted: str, _: Outcome) -> Wrong:
    """A probe that counts GPUs does it by HIP."""
    texts = [
        Path(probe.path).read_text(encoding="utf-8") for probe in list_probes() if probe.level in ("runtime", "kernel")
    ]
    prelude = Path(inspect.getfile(list_probes)).parent / "probes" / "prelude.py"
    every = "\n".join([*texts, prelude.read_text(encoding="utf-8")])
    return [] if wanted in every else [f"no probe asks {wanted}"]


EXPECTED: dict[str, Callable[[Any, Outcome], Wrong]] = {
    "checks": _checks,
    "fix_has": _has("fixes"),
    "fix_lacks": _lacks("fixes"),
    "message_has": _has("messages"),
    "text_has": _has("dockerfile"),
    "dockerfile_lacks": _lacks("dockerfile"),
    "argv_has": _argv_has,
    "argv_lacks": _argv_lacks,
    "env_has": _has("env"),
    "env_lacks": _lacks("env"),
    "mounts_have": _mounts,
    "exit": _exit,
    "facts": _facts,
    "rows": _rows,
    "bdf_order": _bdf_order,
    "count": _count,
    "smoke_tool": _smoke_tool,
    "python": lambda wanted, found: [] if f"`{wanted}`" in found.fixes else [f"`{wanted}` is not named: {found.fixes}"],
    "fixed_contains": lambda wanted, found: [] if wanted in found.fixed else [f"the file mended: {found.fixed}"],
    "choice": lambda wanted, found: [] if found.choice == wanted else [f"{found.choice} is chosen, not {wanted}"],
}


# --- the table itself ------------------------------------------------------------------------------------------------


def test_the_cases_are_there() -> None:
    if not CASES and not os.environ.get("CI"):
        pytest.skip(f"no cases at {FILE}: $ROCENV_CASES names them")
    assert len(CASES) == len(BY_ID) >= 118


def test_no_case_is_dropped() -> None:
    assert [name for name, case in BY_ID.items() if name not in MARKED and not functions(case)] == []
    assert not CASES or set(MARKED) <= set(BY_ID)
    assert not CASES or set(AMENDED) <= set(BY_ID) - set(MARKED)


@pytest.mark.parametrize("name", MARKED)
def test_a_mark_holds_until_its_part_has_landed(name: str) -> None:
    mark = MARKED[name]
    assert not mark.landed(), f"{mark.part}: it is there now, so run the case {name} and take its mark away"
