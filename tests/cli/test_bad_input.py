"""What a user may type by mistake or malice, refused in words before the engine hears of it; where ports listen."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rocenv.cli import down
from rocenv.model.proof import Environment

if TYPE_CHECKING:
    from conftest import TestBed


@pytest.mark.engine
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mount", "/:/host"), "whole file system"),
        (("--mount", "/run:/x"), "engine's socket"),
        (("--mount", "/var/run/docker.sock:/s"), "engine's socket"),
        (("--mount", "../../../../../../../../../etc:/x"), "accounts and secrets"),
        (("--mount", "./out:/x"), "link out of the project"),
        (("--mount", "./sneaky:/x"), "engine's socket"),
        (("--mount", "/proc/self/root:/x"), "processes"),
        (("-p", "0:80"), "a port is a number from 1 to 65535"),
        (("-p", "80:80", "-p", "80:81"), "both want port 80"),
        (("--shm-size", "1k"), "less than 1 MiB"),
        (("--secret", "NOT_THERE"), "no variable `NOT_THERE`"),
        (("--env-file", "/nowhere"), "cannot be read"),
        (("-e", "BYTES"), "no UTF-8 text"),
        (("--name", "../x"), "no name for an environment"),
    ],
)
def test_it_is_refused_in_words_and_nothing_is_made(home: TestBed, words: tuple[str, ...], said: str) -> None:
    (home.project / "out").symlink_to("/usr")
    (home.project / "sneaky").symlink_to("/var/run")
    bed = replace(home, variables={"BYTES": os.fsdecode(b"\xff")})
    done = bed.rocenv("up", "--no-test", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert re.search(r"^hint: ", done.stderr, re.MULTILINE)
    assert home.docker("ps", "-aq", f"--filter=name={home.project.name}").stdout == ""


@pytest.mark.engine
def test_ports_are_on_loopback_and_the_address_is_told(home: TestBed) -> None:
    done = home.rocenv("up", "--no-test", "--json", "-p", "18123:8000")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["addresses"] == ["http://127.0.0.1:18123"]
    assert "http://127.0.0.1:18123" in done.stderr
    [there] = json.loads(home.docker("inspect", answer["container"]).stdout)
    assert there["HostConfig"]["PortBindings"] == {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "18123"}]}


class Alike:
    """An engine that holds an environment of this user's, and one that only bears such labels."""

    def find(self) -> list[Environment]:
        own = str(os.getuid())
        made = Environment(
            container="rocenv-p-hip", id="1", name="hip", project="p", profile="hip", state="running", reference="i",
            digest=None, plan="x", gpus="[]", owner=own, created=None,
        )  # fmt: skip
        return [made, made._replace(container="database", id="2"), made._replace(id="3", owner="4711")]


def test_down_all_believes_no_label_that_the_name_does_not_bear_out() -> None:
    found = down._meant(Alike(), None, everything=True)  # type: ignore[arg-type]
    assert [there.id for there in found] == ["1"]
