"""The catalogue: what every check tells of itself, the page that is made from it, and how checks are run."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import test_access_checks, test_engine_checks, test_environment_checks, test_hardware_checks
from checks import test_image_checks as test_images
from checks.seen import facts, health

from rocenv.checks.catalogue import catalogue, fail, info, ok, skip, warn
from rocenv.checks.document import document
from rocenv.checks.run import exit_code, one, run, verdict
from rocenv.checks.symptoms import TABLE
from rocenv.errors import UsageError
from rocenv.model.check import LAYERS, VERDICTS, Finding

PAGE = Path(__file__).parent.parent.parent / "docs" / "checks.md"
SEVERITIES = ("info", "warn", "fail")
TABLES = (test_hardware_checks, test_access_checks, test_engine_checks, test_images, test_environment_checks)
SEEN = {(case[0], case[2]) for table in TABLES for case in table.CASES}
CHECKS = {name: entry.check for name, entry in catalogue().items()}


def test_the_page_is_that_of_the_catalogue() -> None:
    assert PAGE.read_text(encoding="utf-8") == document(), "python -m rocenv.checks.document > docs/checks.md"


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_tells_all_of_itself(name: str) -> None:
    check = CHECKS[name]
    assert check.layer in LAYERS
    assert check.severity in SEVERITIES
    for text in (check.title, check.reads, check.why, check.source):
        assert text
        assert not text.endswith(".")
    assert set(check.after) <= set(CHECKS), "`after` names a check that there is not"


def test_no_check_waits_for_itself() -> None:
    def causes(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"{' → '.join((*path, name))}"
        for cause in CHECKS[name].after:
            causes(cause, (*path, name))

    for name in CHECKS:
        causes(name, ())


@pytest.mark.parametrize("name", [name for name, check in CHECKS.items() if check.layer != "files"])
def test_every_check_is_held_at_its_best_and_at_its_worst(name: str) -> None:
    assert (name, CHECKS[name].severity) in SEEN
    told = {given for check, given in SEEN if check == name}
    assert told <= set(VERDICTS)
    assert told & {"ok", "info", "skip"}, "no case shows it content"
    assert all(VERDICTS.index(one) <= VERDICTS.index(CHECKS[name].severity) for one in told - {"skip"})


def test_every_check_that_a_symptom_names_is_there() -> None:
    assert {name for _, names in TABLE for name in names} <= set(CHECKS)


def test_a_check_that_there_is_not_is_told_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        one("kfd.acess")
    assert "kfd.access" in str(caught.value.hint)
    with pytest.raises(UsageError):
        run(facts(), only=["no.such"])


def test_a_consequence_is_silent_and_its_own_consequences_too() -> None:
    from checks.test_hardware_checks import UNLOADED

    findings = {found.check: found for found in run(facts(host=UNLOADED))}
    assert findings["driver.loaded"].verdict == "fail"
    assert findings["kfd.topology"].evidence == "because driver.loaded failed"
    assert findings["host.iommu-pt"].evidence == "because driver.loaded failed"


def test_what_a_symptom_points_to_leads() -> None:
    findings = run(facts(), first=["engine.disk", "lsm.selinux"])
    assert [found.check for found in findings[:2]] == ["engine.disk", "lsm.selinux"]
    assert len({found.check for found in findings}) == len([name for name in CHECKS if CHECKS[name].layer != "files"])


def signed(finding: Finding, layer: str) -> Finding:
    return Finding("a.check", layer, finding.verdict, finding.evidence)


@pytest.mark.parametrize(
    ("layers", "code"),
    [(["image", "hardware"], 3), (["environment", "engine"], 4), (["files", "image"], 5), (["files"], 2),
     (["environment"], 2), (["access"], 3), ([], 0)],
)  # fmt: skip
def test_the_exit_code_is_that_of_the_first_layer_that_fails(layers: list[str], code: int) -> None:
    failed = [signed(fail("e", "c", "f"), layer) for layer in layers]
    others = [signed(warn("e", "c", "f"), "hardware"), signed(skip("e"), "engine")]
    assert exit_code([*failed, *others]) == code


def test_the_verdict_is_the_worst() -> None:
    well = [signed(ok("e"), "image"), signed(info("e"), "image"), signed(skip("e"), "image")]
    assert verdict(well) == "ok"
    assert verdict([*well, signed(warn("e", "c", "f"), "image")]) == "warn"
    assert verdict([signed(warn("e", "c", "f"), "image"), signed(fail("e", "c", "f"), "image")]) == "fail"
    assert verdict(run(facts(health=health(numa_balancing=0)))) == "ok"
