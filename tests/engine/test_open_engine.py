"""Which engine is opened, and where its client keeps its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocenv.engine import open_engine, where
from rocenv.errors import UsageError


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="there is no engine `lxc`") as refused:
        open_engine("lxc")
    assert refused.value.hint == "`--engine docker` or `--engine podman`"


def test_a_user_without_a_home_has_the_default_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert where.docker_context() is None
    assert where.docker_endpoint() == "unix:///var/run/docker.sock"
    monkeypatch.setenv("DOCKER_CONTEXT", "far")
    assert where.docker_endpoint() == "unix:///var/run/docker.sock"
