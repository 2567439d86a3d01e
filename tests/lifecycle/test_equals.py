"""An image that is here saves a pull where it serves as well as the planned one, and its environment is kept."""

from __future__ import annotations

import pytest
from lifecycle.conftest import Life, docker

from rocenv.model.plan import ImageChoice, Plan

pytestmark = pytest.mark.engine

ABSENT = "registry.invalid/rocenv-tests/absent:1"  # a pull of it would fail: `.invalid` never resolves (RFC 2606)


def wanted(life: Life, *equals: str, reference: str = ABSENT) -> Plan:
    return life.plan(image=ImageChoice(reference, "catalog", rocm="7.2.4", equals=equals))


def test_an_equal_that_is_here_is_run_and_nothing_is_pulled(life: Life) -> None:
    outcome = life.up(wanted(life, "registry.invalid/other:1", life.image))
    assert (outcome.action, outcome.environment.reference, outcome.plan.image.reference) == (
        "created",
        life.image,
        life.image,
    )
    assert life.pulled == []
    assert [container["Config"]["Image"] for container in life.containers()] == [life.image]
    assert any(life.image in line and "is here already" in line for line in life.told)


def test_the_environment_is_used_again_and_not_taken_for_another_plan_s(life: Life) -> None:
    first = life.up(wanted(life, life.image))
    again = life.up(wanted(life, life.image))
    assert (again.action, again.environment.id) == ("used", first.environment.id)


def test_it_is_kept_when_the_planned_image_has_come_meanwhile(life: Life) -> None:
    first = life.up(wanted(life, life.image))
    docker("tag", life.image, f"rocenv-tests/{life.project}:1")
    try:
        again = life.up(wanted(life, life.image, reference=f"rocenv-tests/{life.project}:1"))
    finally:
        docker("rmi", f"rocenv-tests/{life.project}:1")
    assert (again.action, again.environment.id) == ("used", first.environment.id)


def test_what_was_named_is_never_replaced(life: Life) -> None:
    named = life.plan(image=ImageChoice(life.image, "flag", equals=("registry.invalid/other:1",)))
    assert life.up(named).environment.reference == life.image


def test_which_of_several_references_are_here(life: Life) -> None:
    assert life.engine.images_here([ABSENT, life.image, "registry.invalid/other:1"]) == {life.image}
    assert life.engine.images_here([ABSENT]) == set()
