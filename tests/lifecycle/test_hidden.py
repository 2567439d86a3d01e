"""Secrets by their wishes, folders and files; what a container sees of them: tests/cli/test_secrets.py."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rocenv.errors import UsageError
from rocenv.lifecycle import hidden
from rocenv.lifecycle.hidden import Secret

VALUE = "v4lue-of-a-secret"


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "memory"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    monkeypatch.setenv("TOKEN", VALUE)
    return place


def test_a_secret_is_a_variable_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(VALUE)
    assert hidden.wished(["TOKEN", f"KEY={file}"]) == (Secret("TOKEN", None), Secret("KEY", str(file)))


@pytest.mark.parametrize(
    "word",
    ["", "=x", "../up", "a/b", ".hidden", "NOT_THERE", "KEY=", "KEY=/nowhere", "KEY=/", "KEY=/dev/null", "KEY=/etc"],
)
def test_what_is_no_secret_is_told(word: str) -> None:
    with pytest.raises(UsageError, match="--secret"):
        hidden.wished([word])


def test_no_error_holds_a_value(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text(f"GOOD=1\nBAD NAME={VALUE}\n")
    with pytest.raises(UsageError, match="line 2") as caught:
        hidden.read_env_file(str(file))
    assert VALUE not in f"{caught.value.message} {caught.value.hint}"


def test_an_env_file_is_read_as_the_engines_read_it(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("# words\n\nA=1\nB= two = 2 \nC='quoted'\r\nTOKEN\nNOT_THERE\n")
    assert hidden.read_env_file(str(file)) == {"A": "1", "B": " two = 2 ", "C": "'quoted'", "TOKEN": VALUE}


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "DOCKER_HOST", "https_proxy", "HIP_VISIBLE_DEVICES"])
def test_a_variable_that_would_steer_the_engine_s_client_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "env"
    file.write_text(f"{name}=x\n")
    with pytest.raises(UsageError, match=name):
        hidden.read_env_file(str(file))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_bytes(b"A=\xff\n")
    with pytest.raises(UsageError, match="UTF-8"):
        hidden.read_env_file(str(file))


def test_what_is_written_only_this_user_reaches(memory: Path) -> None:
    hidden.write("rocenv-p-n", [Secret("TOKEN", None)])
    place = memory / "rocenv-secrets" / "rocenv-p-n"
    assert (place / "TOKEN").read_text() == VALUE
    assert [stat.S_IMODE(one.stat().st_mode) for one in (place.parent, place)] == [0o700, 0o700]
    hidden.forget("rocenv-p-n")
    assert not place.exists()


def test_a_file_that_is_mounted_gets_a_new_value_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden.write("rocenv-c", [Secret("TOKEN", None)])
    file = hidden.folder() / "rocenv-c" / "TOKEN"
    before = file.stat().st_ino
    monkeypatch.setenv("TOKEN", "new")
    hidden.write("rocenv-c", [Secret("TOKEN", None)])
    assert (file.read_text(), file.stat().st_ino) == ("new", before)


def test_no_link_of_another_leads_a_secret_away(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (memory / "rocenv-secrets").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="alone"):
        hidden.write("rocenv-c", [Secret("TOKEN", None)])
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_folder_that_others_may_enter_is_not_used(memory: Path) -> None:
    memory.chmod(0o755)
    assert not hidden.folder().is_relative_to(memory)


def test_forgetting_does_not_leave_the_folder(memory: Path) -> None:
    hidden.write("rocenv-c", [Secret("TOKEN", None)])
    for name in ("..", ".", "", "../..", "/"):
        hidden.forget(name)
    assert (memory / "rocenv-secrets" / "rocenv-c" / "TOKEN").exists()
