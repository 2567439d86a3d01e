"""The image that the doctor names is the one that a plan takes for the same GPUs and driver."""

from __future__ import annotations

import pytest
from checks.seen import facts, found, image
from plan.made import gpu, host, plan

from rocenv.model.host import Driver, Host

OLD_TAG = "rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0"
NEW_TAG = "rocm/pytorch:rocm10.1.0_ubuntu26.04_py3.14_pytorch_release_2.14.0"
IN_TREE = Driver(loaded=True, version=None, origin="in-tree")


def dkms(module: str) -> Driver:
    return Driver(loaded=True, version=module, origin="dkms")


@pytest.mark.parametrize(
    "where",
    [
        host([gpu(0, "gfx1201")], driver=IN_TREE),
        host([gpu(0, "gfx950")]),
        host([gpu(0, "gfx1101")], driver=dkms("6.12.12")),
        host([gpu(0, "gfx942"), gpu(1, "gfx1101")], driver=dkms("6.12.12")),
        host([gpu(0, "gfx1201"), gpu(1, "gfx1036", kind="apu")]),
    ],
)
def test_for_a_target_that_the_image_lacks(where: Host) -> None:
    view = image(reference=OLD_TAG, gfx=("gfx908", "gfx942"), rocm="6.2.4")
    finding = found("gpu.gfx-supported", facts(host=where, image=view))
    assert f"`--image {plan(where).image.reference}`" in (finding.fix or "")


@pytest.mark.parametrize("module", ["6.12.12", "6.8.5", "6.3.6", "6.5.1"])
def test_for_a_driver_that_the_image_is_too_new_for(module: str) -> None:
    where = host([gpu(0, "gfx90a")], driver=dkms(module))
    finding = found("driver.userspace", facts(host=where, image=image(reference=NEW_TAG, rocm="10.1.0")))
    assert f"`--image {plan(where).image.reference}`" in (finding.fix or "")


def test_an_image_of_which_nobody_tells_the_targets_is_judged_as_a_plan_judges_it() -> None:
    view = image(reference="rocm/tensorflow:rocm7.14.1-ubuntu24.04-py3.12-tf2.21", gfx=None, rocm="7.14.1")
    finding = found("gpu.gfx-supported", facts(host=host([gpu(0, "gfx1036")], driver=IN_TREE), image=view))
    assert finding.verdict == "warn"
    assert "does not list gfx1036" in (finding.cause or "")
    assert found("gpu.gfx-supported", facts(host=host([gpu(0, "gfx1100")]), image=view)).verdict == "info"
