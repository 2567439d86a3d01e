"""A plan says which catalog it was made by."""

from __future__ import annotations

import json

import pytest
from catalog.conftest import Places, places
from plan.made import gpu, host, plan, why

from rocenv.catalog import table
from rocenv.errors import UsageError
from rocenv.report.plan import plan_json

__all__ = ["places"]  # the fixture
MI300X = host([gpu(0)])


def test_the_built_in_one_is_dated_and_no_reason(places: Places) -> None:
    made = plan(MI300X)
    assert plan_json(made, [])["catalog"] == {"date": table.built_in("images")["date"], "laid_in": []}
    assert why(made, "catalog") == ""


def test_one_that_was_laid_in_is_a_reason(places: Places) -> None:
    path = places.user / "catalog" / "images.json"
    path.write_text(json.dumps({**table.built_in("images"), "date": "2027-01-02"}))
    made = plan(MI300X)
    assert plan_json(made, [])["catalog"] == {"date": "2027-01-02", "laid_in": [str(path)]}
    assert "images of 2027-01-02" in why(made, "catalog")
    assert str(path) in why(made, "catalog")


def test_the_catalog_s_date_does_not_change_what_is_decided(places: Places) -> None:
    """A newer catalog that says the same starts no container anew."""
    before = plan(MI300X).labels["rocenv.plan"]
    path = places.user / "catalog" / "images.json"
    path.write_text(json.dumps({**table.built_in("images"), "date": "2027-01-02"}))
    from catalog.conftest import forget

    forget()
    assert plan(MI300X).labels["rocenv.plan"] == before


def test_a_catalog_from_the_future_ends_a_plan_in_words(places: Places) -> None:
    path = places.user / "catalog" / "images.json"
    path.write_text(json.dumps({**table.built_in("images"), "schema": 2}))
    with pytest.raises(UsageError, match="is a catalog of schema 2") as caught:
        plan(MI300X)
    assert str(path) in caught.value.message
