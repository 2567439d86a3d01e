"""What holds for every choice, whatever the GPUs, the driver and the family: `plan` and `explain` are one choice."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plan.made import DOCKER, REQUEST, gpu, host, profile

from rocenv.catalog import gpus as catalog
from rocenv.catalog import images
from rocenv.errors import ImageError
from rocenv.model.host import Driver, Host
from rocenv.model.plan import Plan
from rocenv.model.wish import ImageWish, Profile
from rocenv.plan import make_plan
from rocenv.plan.explain import explain
from rocenv.rules import override

TARGETS = [*catalog.targets(), None, "gfx1310"]
DRIVERS = [
    Driver(loaded=True, version=None, origin="in-tree"),
    *(
        Driver(loaded=True, version=module, origin="dkms")
        for module in ("4.18.0", "5.18.13", "6.0.5", "6.1.5", "6.3.6", "6.7.0", "6.8.5", "6.10.5", "6.12.12", "6.14.14",
                       "6.16.13", "6.18.3", "6.19.4", "6.19.14", "7.1.2", "junk")
    ),
    *(
        Driver(loaded=True, version=None, origin="dkms", release=release)
        for release in ("5.7.1", "30.20.1", "31.10.0", "31.50.0", "31.60.0", "99.0.0")
    ),
]  # fmt: skip
FAMILIES = [one.name for one in images.families()]
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def hosts(draw: st.DrawFn) -> Host:
    chosen = draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=4))
    kinds = [draw(st.sampled_from(["dgpu", "apu"])) for _ in chosen]
    gpus = [gpu(index, gfx, kind=kind) for index, (gfx, kind) in enumerate(zip(chosen, kinds, strict=True))]
    kernel = draw(st.sampled_from(["4.15.0-58-generic", "5.15.0-91", "6.8.0-60-generic", "6.12.1", "7.0.0-12", "odd"]))
    return host(gpus, driver=draw(st.sampled_from(DRIVERS)), kernel=kernel)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    rocm = draw(st.sampled_from([None, None, None, ">=7.0", "7.2", "7.13", "<6.3", ">=12"]))
    return profile(
        gpus=draw(st.sampled_from(["auto", "all"])), image=ImageWish(draw(st.sampled_from(FAMILIES)), rocm=rocm)
    )


def planned(wished: Profile, where: Host) -> tuple[Plan | None, ImageError | None]:
    """The plan, or what refuses it."""
    try:
        return make_plan(wished, where, DOCKER, REQUEST), None
    except ImageError as error:
        return None, error


@SLOW
@given(hosts(), profiles())
def test_plan_and_explain_are_one_choice(where: Host, wished: Profile) -> None:
    told = explain(wished, where, DOCKER)
    made, refusal = planned(wished, where)
    if made is not None:
        assert told.chosen is not None
        assert (told.chosen.reference, told.chosen.opt_in) == (made.image.reference, ())
        assert override.NAME not in " ".join(made.env)
    else:
        assert refusal is not None
        assert refusal.hint
        assert told.chosen is None or told.chosen.opt_in
        assert told.error is None or (told.error.message, told.error.hint) == (refusal.message, refusal.hint)
    references = [*(one.reference for one in told.candidates), *(one.reference for one in told.refused)]
    assert sorted(references) == sorted(one.reference.familiar for one in images.known(wished.image.family or ""))


@SLOW
@given(hosts(), profiles())
def test_every_alternative_does_what_it_says(where: Host, wished: Profile) -> None:
    told = explain(wished, where, DOCKER)
    points = [one.score for one in told.candidates]
    assert points == sorted(points, reverse=True)
    assert all(0 <= one <= 4095 for one in points)
    assert all(one.why for one in told.refused)
    for way in told.alternatives:
        if way.kind == "untested" or not way.known_to_work:
            continue
        taken = wished._replace(gpus=way.gpus or wished.gpus, env=dict(way.env))
        if way.kind == "community":
            taken = taken._replace(image=ImageWish(reference=way.reference), strict=True)
        assert make_plan(taken, where, DOCKER, REQUEST).image.reference == way.reference
