"""What stands before `--` in the form of an option, and is none of rocenv's."""

from __future__ import annotations

import pytest

from rocenv.cli.app import run


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("exec", "-x"), "-x"),
        (("exec", "--json"), "--json"),
        (("exec", "hip", "--gpu=0"), "--gpu=0"),
        (("run", "pytorch", "--gpu", "0"), "--gpu"),
    ],
)
def test_it_is_told_with_the_way_to_the_help(
    words: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--", "ls"]) == 125
    said = capsys.readouterr()
    assert f"no such option: `{option}`" in said.out + said.err
    assert f"`rocenv {words[0]} --help`" in said.out + said.err


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (("bundle", "save"), "`rocenv bundle save --help`"),
        (("catalog", "show", "--nope"), "`rocenv catalog show --help`"),
        (("catalog", "nope"), "`rocenv catalog --help`"),
        (("audit",), "`rocenv audit --help`"),
    ],
)
def test_the_way_to_the_help_is_that_of_the_command_itself(
    words: tuple[str, ...], way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(list(words)) == 2
    assert way in capsys.readouterr().err
