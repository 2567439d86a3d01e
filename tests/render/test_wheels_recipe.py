"""An image of AMD's wheels: which base, which wheels, and what is told where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from render.recipes import packages, plan, profile

from rocenv.errors import UsageError
from rocenv.profile import load_profile
from rocenv.render.dockerfile import render_dockerfile
from rocenv.render.recipe import recipe_of

PYTHON = "python:3.12-slim"


def test_wheels_go_into_a_venv_from_amds_index_and_packages_from_elsewhere() -> None:
    wished = profile(PYTHON, template="wheels", packages=packages(pip=("einops",)))
    text = render_dockerfile(recipe_of(plan(PYTHON, gfx=("gfx1100", "gfx1201"), rocm="7.14.0"), wished))
    assert text.startswith(f"FROM {PYTHON}\n")
    own, _, users = text.partition("ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH\n")
    assert "--index-url https://repo.amd.com/rocm/whl-multi-arch/" in own
    assert "'torch[device-gfx1100,device-gfx1201]==2.12.0+rocm7.14.0'" in own
    assert "/opt/venv/bin/python3 /etc/rocenv/hold.py pip einops" in users
    assert "repo.amd.com" not in users
    assert 'rocenv.image.gfx="gfx1100,gfx1201"' in text


@pytest.mark.parametrize(("python", "base"), [(None, "3.12"), ("3.13", "3.13"), (">=3.11", "3.11")])
def test_the_base_is_the_python_that_the_profile_wants(python: str | None, base: str, tmp_path: Path) -> None:
    wished = load_profile("pytorch", project=tmp_path, overrides={"build.template": "wheels", "image.python": python})
    assert wished.image.reference == f"python:{base}-slim"


def test_a_release_without_wheels_is_told_as_it_was_written() -> None:
    wished = profile(PYTHON, template="wheels", rocm="6.4\n\x1b[31m")
    with pytest.raises(UsageError) as caught:
        recipe_of(plan(PYTHON), wished)
    assert caught.value.message == "there are no wheels of ROCm `6.4\\n\\x1b[31m` by target"
    assert "7.14.0" in str(caught.value.hint)
