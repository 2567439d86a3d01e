"""A table that was bent anywhere is either refused with its place, or every question to it has an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from catalog.conftest import Places, forget
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocenv.catalog import drivers, entries, gpus, hazards, images, lookup, releases, table
from rocenv.catalog.references import Reference
from rocenv.catalog.versions import Version
from rocenv.errors import UsageError

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**6),
    st.sampled_from(["", "x", "7.2", "gfx942", "2026-12-24", ">=7", "(?P<rocm>.*)", "rocm/pytorch", "\x1b[31m", "٣"]),
    st.just([]),
    st.just({}),
    st.lists(st.sampled_from(["gfx942", "7.2", ""]), max_size=2),
)


def places_in(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of a table."""
    found = [path] if path else []
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        found += places_in(value, (*path, key))
    return found


TABLES = {name: table.built_in(name) for name in ("images", "releases", "drivers", "gpus", "hazards", "support")}
WAYS = {name: places_in(data) for name, data in TABLES.items()}


@st.composite
def bent(draw: st.DrawFn) -> tuple[str, Any]:
    """A table with one value changed, or taken out."""
    name = draw(st.sampled_from(sorted(TABLES)))
    data = json.loads(json.dumps(TABLES[name]))
    way = draw(st.sampled_from(WAYS[name]))
    inner = data
    for step in way[:-1]:
        inner = inner[step]
    if draw(st.booleans()):
        inner[way[-1]] = draw(VALUES)
    else:
        del inner[way[-1]]
    if isinstance(data.get("date"), str) and way != ("date",):
        data["date"] = "2027-01-01"
    return name, data


def ask_everything() -> None:
    for family in images.families():
        for image in images.known(family.name):
            image.carries("gfx942")
            entries.image(image)
        assert lookup.found(family.name)
    images.describe(Reference.parse("rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"))
    list(images.instead_of("rocm/pytorch", "gfx906"))
    for gfx in gpus.targets():
        gpus.target(gfx)
        entries.target(gfx)
    gpus.marketing_name("1002:744c", 0xC8)
    gpus.is_apu("gfx942", "1002:74a0")
    for one in releases.releases():
        releases.hip_of(one.version)
        lookup.found(str(one.version))
    for driver in ("30.30.4", "6.1", "31.40.0", None):
        series = releases.driver_series(driver, "6.16.13")
        if series is not None:
            series.verdict(Version.parse("7.2.4"))
    drivers.release_of("6.16.13-2341068.24.04")
    hazards.hitting({"gfx1151"}, hazards.State("6.17.0", "20251125", "in-tree"))
    for name in ("hazards", "rules", "indexes", "7900XTX"):
        lookup.found(name)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(bent())
def test_a_bent_table_is_refused_or_answers(places: Places, change: tuple[str, Any]) -> None:
    name, data = change
    path = places.user / "catalog" / f"{name}.json"
    path.write_text(json.dumps(data))
    forget()
    told = None
    try:
        ask_everything()
    except UsageError as error:
        told = error
    finally:
        path.unlink()
    assert told is None or (str(path) in told.message and told.hint)


@pytest.mark.parametrize(
    ("name", "way", "value", "words"),
    [
        ("releases", ("drivers", 0, "rocm"), [], "`drivers[0]`: the list `rocm` is empty"),
        ("releases", ("releases",), [], "`releases`: the list is empty"),
        ("images", ("families",), {}, "`families`: there is none"),
        ("gpus", ("targets", "gfx942", "official"), 3, "`targets.gfx942.official`"),
        ("gpus", ("devices", "744c", "gfx"), "gfx", "`devices.744c.gfx`"),
    ],
)
def test_where_a_table_is_bent_is_told(
    places: Places, name: str, way: tuple[Any, ...], value: object, words: str
) -> None:
    data = json.loads(json.dumps(TABLES[name]))
    inner = data
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    (places.user / "catalog" / f"{name}.json").write_text(json.dumps({**data, "date": "2027-01-01"}))
    with pytest.raises(UsageError) as caught:
        table.load(name)
    assert words in caught.value.message
