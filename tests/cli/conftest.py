"""What tests of commands on the test bed share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import TestBed


@pytest.fixture
def home(bed: TestBed, small_image: str) -> Iterator[TestBed]:
    """A project on the bed whose profile takes the small image; its environments are removed afterwards."""
    folder = bed.project.rename(bed.project.with_name(f"p{uuid.uuid4().hex[:8]}"))
    (folder / "rocenv.yaml").write_text(f"extends: hip\nimage: {{reference: '{small_image}'}}\n")
    here = replace(bed, project=folder)
    yield here
    here.rocenv("down", "--volumes")
