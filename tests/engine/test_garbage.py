"""A program under docker's name that answers what no engine answers: an engine's error, never a fault."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from rocenv.engine import Engine
from rocenv.engine.health import Examination
from rocenv.errors import EngineError
from rocenv.model.plan import EngineFacts, ImageChoice, Plan

PLAN = Plan(
    profile="hip", project="demo", name="hip", engine=EngineFacts("docker"), image=ImageChoice("i", "flag"),
    gpus=(), devices=(), groups=(), keep_groups=False, env={}, mounts=(), security=(), cap_add=(),
    ipc="private", shm_size=None, ports=(), user="1000:1000", workdir="/", labels={}, smoke_level="access",
)  # fmt: skip
ODD = [b"\x00\xff\x80~", b"[1,2]", b"null", b"7", b"[" * 20_000, b'{"ServerVersion": "1", "SecurityOptions": 5}']


def saying(folder: Path, answer: bytes) -> Engine:
    """An engine whose client answers the same to everything."""
    (folder / "answer").write_bytes(answer)
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\nexec cat {folder}/answer\n")
    program.chmod(0o755)
    return Engine("docker", str(program))


@pytest.mark.parametrize("answer", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize(
    "ask", [Engine.facts, Engine.find, lambda engine: engine.digests(["id"])], ids=["facts", "find", "digests"]
)
def test_an_odd_answer_is_an_engines_error(tmp_path: Path, answer: bytes, ask: Callable[[Engine], object]) -> None:
    with pytest.raises(EngineError):
        ask(saying(tmp_path, answer))


@pytest.mark.parametrize("answer", [b"\xff", b"[1,2]", b"7"])
def test_an_odd_image_is_an_engines_error(tmp_path: Path, answer: bytes) -> None:
    with pytest.raises(EngineError, match="image inspect"):
        saying(tmp_path, answer).image("i")


def test_a_run_without_an_id_is_an_engines_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = saying(tmp_path, b"")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(EngineError, match=" run` answered what no engine answers"):
        engine.start(PLAN)


def test_a_client_that_cannot_be_executed_is_told(tmp_path: Path) -> None:
    engine = saying(tmp_path, b"")
    Path(engine.program).write_bytes(b"\x7fELF no program")
    with pytest.raises(EngineError, match="cannot be started"):
        engine.facts()


@pytest.mark.parametrize("answer", ODD, ids=range(len(ODD)))
def test_the_doctor_passes_an_odd_answer_on_as_words(
    tmp_path: Path, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(tmp_path / "s"))
        line.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        examination = Examination(saying(tmp_path, answer))
        engine, health = examination.findings()
        examination.close()
    assert engine is None
    assert health.said
