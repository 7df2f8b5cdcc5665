"""Words that are wrong, words that ask for help, and what is said then."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpasp.version import __version__

from .conftest import Command


def test_version(dpasp: Command) -> None:
    assert dpasp("--version") == (0, f"dpasp {__version__}\n", "")


def test_help_teaches_by_example(dpasp: Command) -> None:
    code, out, err = dpasp("--help")
    assert (code, err) == (0, "")
    assert "0.1::burglary." in out
    assert "dpasp check alarm.plp" in out


@pytest.mark.parametrize("command", ["run", "check", "ground"])
def test_every_command_has_help_with_examples(dpasp: Command, command: str) -> None:
    code, out, err = dpasp(command, "--help")
    assert (code, err) == (0, "")
    assert "examples:" in out
    assert "--json" in out


def test_nothing_asked(dpasp: Command) -> None:
    code, out, err = dpasp()
    assert (code, out) == (2, "")
    assert "[usage]" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--jsn", "p.plp"], "did you mean --json?"),
        (["check", "--qiet", "p.plp"], "did you mean --quiet?"),
        (["--semantic", "maxent", "p.plp"], "did you mean --semantics?"),
        (["run", "--nonsense"], "see `dpasp run --help`"),
        (["run"], "FILE"),
        (["run", "p.plp", "--engine", "magic"], "invalid choice: 'magic'"),
        (["run", "p.plp", "--time-limit", "-1"], "'-1' is not a positive number"),
        (["run", "p.plp", "--time-limit", "nan"], "'nan' is not a positive number"),
        (["run", "p.plp", "--memory-limit", "lots"], "'lots' is not a positive number"),
        (["run", "p.plp", "-c", "n"], "'n' is not of the form NAME=VALUE"),
        (["run", "p.plp", "-s", "maxent"], "invalid choice: 'maxent'"),
        (["run", "-", "-"], "only once"),
    ],
)
def test_wrong_usage_exits_2(dpasp: Command, words: list[str], said: str) -> None:
    code, out, err = dpasp(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_wrong_usage_as_json(dpasp: Command) -> None:
    result = dpasp("run", "--json", "--nonsense", "p.plp")
    assert result.code == 2
    assert result.json["errors"][0]["code"] == "unknown-option"


def test_a_missing_file_names_the_nearest(dpasp: Command) -> None:
    Path("alarm.plp").touch()
    code, out, err = dpasp("check", "alrm.plp")
    assert (code, out) == (65, "")
    assert "cannot read alrm.plp" in err
    assert "alarm.plp" in err.splitlines()[-1]


def test_all_missing_files_are_told_at_once(dpasp: Command) -> None:
    code, _, err = dpasp("check", "one.plp", "two.plp")
    assert code == 65
    assert "one.plp" in err
    assert "two.plp" in err


def test_a_folder_is_not_a_program(dpasp: Command) -> None:
    Path("folder").mkdir()
    code, _, err = dpasp("check", "folder")
    assert code == 65
    assert "cannot read folder" in err


def test_pasp_is_the_same_command(dpasp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/pasp"])
    code, out, _ = dpasp("--help")
    assert code == 0
    assert out.startswith("usage: pasp ")
