"""`rocenv cdi` from the command line to the files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hosts import builder

from rocenv.cli import app

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        status = app.run(["cdi", *words])
        return (status, *capfd.readouterr())

    return run


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return builder.build(builder.describe("rx9070xt-igpu"), tmp_path / "desk")


def written(run: Run, capture: Path, name: str = "rocenv.json") -> Path:
    """A specification of the captured host, laid into that host."""
    file = capture / "root/etc/cdi" / name
    assert run("generate", "--host", str(capture), "-o", str(file))[0] == 0
    return file


def test_without_a_word_it_goes_to_stdout(run: Run, capture: Path) -> None:
    status, out, err = run("generate", "--host", str(capture))
    assert (status, err) == (0, "")
    spec = json.loads(out)
    assert [one["name"] for one in spec["devices"]] == [
        "0", "1", "0000:03:00.0", "GPU-2b09110b94528d60", "0000:76:00.0", "all",
    ]  # fmt: skip


def test_a_file_is_for_everybody_and_changed_only_where_it_differs(run: Run, capture: Path) -> None:
    before = os.umask(0o077)
    try:
        file = written(run, capture)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["rocenv.json"]
    first = file.stat().st_ino
    answer = json.loads(run("generate", "--host", str(capture), "-o", str(file), "--json")[1])
    assert (answer["version"], answer["status"], answer["changed"], answer["file"]) == (1, "ok", False, str(file))
    assert file.stat().st_ino == first
    file.write_text(file.read_text().replace("renderD129", "renderD190"))
    assert json.loads(run("generate", "--host", str(capture), "-o", str(file), "--json")[1])["changed"] is True
    assert "renderD190" not in file.read_text()


def test_what_is_no_specification_is_never_written_over(run: Run, capture: Path) -> None:
    mine = capture / "notes.json"
    mine.write_text('{"mine": 1}')
    status, _, err = run("generate", "--host", str(capture), "-o", str(mine))
    assert (status, mine.read_text()) == (2, '{"mine": 1}')
    assert "is no CDI specification" in err
    assert run("generate", "--host", str(capture), "-o", str(capture / "spec.txt"))[0] == 2
    assert run("generate", "--host", str(capture), "-o", str(capture))[0] == 2


def test_a_link_is_replaced_and_not_followed(run: Run, capture: Path) -> None:
    victim = capture / "victim"
    victim.write_text("")
    link = capture / "link.json"
    link.symlink_to(victim)
    assert run("generate", "--host", str(capture), "-o", str(link))[0] == 0
    assert victim.read_text() == ""
    assert not link.is_symlink()
    same = capture / "root/same.json"
    same.symlink_to(link)
    assert run("generate", "--host", str(capture), "-o", str(same))[0] == 0
    assert not same.is_symlink(), "also where it leads to the very same"


def test_a_second_file_with_the_same_devices_is_refused(run: Run, capture: Path) -> None:
    file = written(run, capture, "amd.json")
    other = file.with_name("rocenv.json")
    status, _, err = run("generate", "--host", str(capture), "-o", str(other))
    assert (status, other.exists()) == (2, False)
    assert f"`rocenv cdi generate --output={file}` writes in its place" in err


def test_a_folder_that_is_closed(run: Run, capture: Path) -> None:
    status, _, err = run("generate", "--host", str(capture), "-o", "/proc/cdi/rocenv.json")
    assert status == 2
    assert "`/proc/cdi/rocenv.json` cannot be written" in err


def test_a_capture_s_specification_never_becomes_this_machine_s(run: Run, capture: Path) -> None:
    status, _, err = run("generate", "--host", str(capture), "--system")
    assert status == 2
    assert "another host" in err
    assert run("generate", "--user", "--system")[0] == 2


def test_a_host_without_a_gpu(run: Run, tmp_path: Path) -> None:
    place = builder.build(builder.describe("no-gpu"), tmp_path / "h")
    status, out, _ = run("generate", "--host", str(place), "--json")
    assert (status, json.loads(out)["error"]["kind"]) == (3, "host")


def test_list_and_check_of_one_that_is_well(run: Run, capture: Path) -> None:
    written(run, capture)
    rows = json.loads(run("list", "--host", str(capture), "--json")[1])["devices"]
    assert {one["state"] for one in rows} == {"ok"}
    assert {one["device"]: one["gpus"] for one in rows}["amd.com/gpu=all"] == [0, 1]
    assert run("check", "--host", str(capture)) == (0, "/etc/cdi/rocenv.json: ok\n", "")
    assert "amd.com/gpu=0000:76:00.0" in run("list", "--host", str(capture))[1]


def test_there_is_none(run: Run, capture: Path) -> None:
    assert run("list", "--host", str(capture))[:2] == (0, "")
    assert run("check", "--host", str(capture))[0] == 0
    assert json.loads(run("list", "--host", str(capture), "--json")[1]) == {"version": 1, "status": "ok", "devices": []}


def problems(run: Run, capture: Path) -> list[dict[str, Any]]:
    status, out, _ = run("check", "--host", str(capture), "--json")
    answer = json.loads(out)
    assert (status, answer["status"]) == (3, "failed")
    found: list[dict[str, Any]] = answer["problems"]
    assert all(one["fix"] in run("check", "--host", str(capture))[1] for one in found)
    return found


def test_a_stale_one_is_found_and_mended_by_the_command_that_is_told(run: Run, capture: Path) -> None:
    file = written(run, capture)
    file.write_text(file.read_text().replace("renderD129", "renderD190"))
    (found,) = problems(run, capture)
    assert found["kind"] == "stale"
    assert found["what"][0] == "/dev/dri/renderD190 is not there (devices 1, 0000:76:00.0, all)"
    assert found["fix"] == "`sudo rocenv cdi generate --output=/etc/cdi/rocenv.json`"
    written(run, capture)
    assert run("check", "--host", str(capture))[0] == 0


def test_two_that_contradict_each_other(run: Run, capture: Path) -> None:
    file = written(run, capture)
    file.with_name("amd.json").write_text(file.read_text())
    (found,) = problems(run, capture)
    assert (found["kind"], found["file"]) == ("conflict", "/etc/cdi/amd.json")
    assert found["fix"] == ("`sudo rm /etc/cdi/rocenv.json && sudo rocenv cdi generate --output=/etc/cdi/amd.json`")
    states = {one["state"] for one in json.loads(run("list", "--host", str(capture), "--json")[1])["devices"]}
    assert states == {"conflict"}


@pytest.mark.parametrize("text", ['{"kind": "amd.com/gpu"', '["amd.com/gpu"]', '{"kind": "amd.com/gpu", "devices": 7}'])
def test_one_that_cannot_be_read_as_one(run: Run, capture: Path, text: str) -> None:
    file = capture / "root/etc/cdi/amd.json"
    file.parent.mkdir()
    file.write_text(text)
    (found,) = problems(run, capture)
    assert found["kind"] == "unreadable"
    assert run("generate", "--host", str(capture), "-o", str(file))[0] == 0
    assert run("check", "--host", str(capture))[0] == 0


def test_a_folder_that_only_an_engine_s_settings_name(run: Run, capture: Path) -> None:
    file = written(run, capture)
    (capture / "root/opt/cdi").mkdir(parents=True)
    file.rename(capture / "root/opt/cdi/amd.json")
    assert run("list", "--host", str(capture))[1] == ""
    assert "/opt/cdi/amd.json" in run("list", "--host", str(capture), "--folder", "/opt/cdi")[1]
    assert run("check", "--host", str(capture), "--folder", "/opt/cdi")[1] == "/opt/cdi/amd.json: ok\n"


def test_units_name_this_program_and_its_file(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "rocenv"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    status, out, err = run("generate", "--system", "--print-units")
    assert status == 0
    assert f"ExecStart={program} cdi generate --output=/etc/cdi/rocenv.json\n" in out
    assert "systemctl enable --now rocenv-cdi.path" in err
    answer = json.loads(run("generate", "--user", "--print-units", "--json")[1])
    assert (answer["status"], answer["folder"]) == ("ok", "~/.config/systemd/user")
