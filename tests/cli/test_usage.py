"""Words that are wrong, words that ask for help, and what is said then."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType

import clingo
import pytest

from dpasp.cli.console import Console
from dpasp.native import _native
from dpasp.version import __version__

from .conftest import Command


def test_version(dpasp: Command) -> None:
    code, out, err = dpasp("--version")
    first, built, around = out.splitlines()
    assert (code, first, err) == (0, f"dpasp {__version__}", "")
    told = f"built by {_native.compiler}, {_native.options}, sources {_native.build[:12]}"
    assert built == told
    assert re.search(r"\d+\.\d+", _native.compiler)
    assert {"CPython", "PyPy"} & set(around.split())
    assert f"clingo {clingo.__version__}" in around


def test_version_of_a_copy_without_its_native_part(
    dpasp: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dpasp.circuits.compiler", None)
    code, out, err = dpasp("--version")
    assert (code, err) == (0, "")
    assert out.startswith(f"dpasp {__version__}\nthe native part cannot be loaded: ")


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
        (["run", "p.plp", "--time-limit", "inf"], "'inf' is not a positive number"),
        (["run", "p.plp", "--threads", "1025"], "1025 is not a number of threads from 1 to 1024"),
        (["run", "p.plp", "--seed", "9223372036854775808"], "is more than 9223372036854775807"),
        (["run", "p.plp", "--samples", "9" * 5000], "is more than 9223372036854775807"),
        (["sample", "p.plp", "--seed", "-1"], "'-1' is not a whole number"),
        (["models", "p.plp", "-n", "-1"], "'-1' is not a whole number"),
        (["explain", "p.plp", "--target", "2"], "'2' is not a number from 0 to 1"),
        (["run", "p.plp", "-c", "n"], "'n' is not of the form NAME=VALUE"),
        (["run", "p.plp", "-s", "maxent"], "invalid choice: 'maxent'"),
        (["run", "-", "-"], "only once"),
        (["run", ""], "argument FILE: it is empty"),
        (["check", "p.plp", ""], "argument FILE: it is empty"),
        (["run", "p.plp", "--save", ""], "argument --save: it is empty"),
        (["run", "p.plp", "--load", ""], "argument --load: it is empty"),
        (["run", "p.plp", "--query", ""], "argument --query: it is empty"),
        (["rum", "p.plp"], "did you mean `dpasp run`?"),
        (["explian", "p.plp"], "did you mean `dpasp explain`?"),
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
    assert "did you mean 'alarm.plp'?" in dpasp("alarm").err
    assert "did you mean" not in dpasp("nofile.plp").err  # the ending alone is no likeness
    Path("nofolder").mkdir()
    assert "did you mean" not in dpasp("nofoldr.plp").err  # a folder is no program
    assert "No such file" in dpasp("nofile").err
    assert "there is no file grund, and no command of that name" in dpasp("grund").err


def test_a_file_is_no_command(dpasp: Command) -> None:
    Path("rum").write_text("0.5::a. #query a.")
    assert dpasp("rum").code == 0
    assert dpasp("check", "grund.plp").code == 65


def test_a_constant_that_is_not_there(dpasp: Command) -> None:
    code, out, err = dpasp("-c", "nun=2", text="#const num = 1. 0.5::a(num). #query a(X).")
    assert (code, out) == (0, "ℙ(a(1)) = 0.500000\n")
    assert "does not name the constant nun [unused-constant]" in err
    assert "did you mean 'num'?" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-c", "N=3"), "'N' cannot be the name of a constant"),
        (("--semantics", ""), "'' names no semantics"),
    ],
)
def test_names_that_nothing_can_have(dpasp: Command, words: tuple[str, ...], said: str) -> None:
    code, out, err = dpasp("run", *words, text="0.3::a. #query a.")
    assert (code, out) == (2, "")
    assert said in err


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


def test_the_word_help(dpasp: Command) -> None:
    assert dpasp("help") == dpasp("--help")
    assert dpasp("help", "explain") == dpasp("explain", "--help")


@pytest.mark.parametrize("command", ["run", "compile", "explain"])
def test_questions_without_instances(dpasp: Command, command: str) -> None:
    _, _, err = dpasp(command, text="0.3::a. #query p(X).")
    assert "no-instances" in err
    assert "no atoms match the questions" in err
    assert "asks nothing" not in err


def test_a_command_is_one_function_and_one_row(
    dpasp: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpasp.cli.commands import COMMANDS, command
    from dpasp.cli.options import FILES, OUTPUT, Flag, OptionGroup, count

    toy = ModuleType("dpasp.cli.toy")
    times = OptionGroup("", (Flag(("--times",), "how often", "N", count, default=1),))

    @command(FILES, times, OUTPUT)
    def say(options: Namespace, console: Console) -> int:
        """Say the names of files."""
        console.answer(" ".join(options.files * options.times))
        return 0

    vars(toy)["say"] = say
    monkeypatch.setitem(sys.modules, "dpasp.cli.toy", toy)
    monkeypatch.setitem(COMMANDS, "toy", ("say the names of files", "toy.say"))
    assert "say the names of files" in dpasp("--help").out
    assert "--times N" in dpasp("toy", "--help").out
    assert dpasp("toy", "x", "--times", "2").out == "x x\n"
    assert "0 is not a whole number above 0" in dpasp("toy", "x", "--times", "0").err


def test_a_device_is_one_that_there_may_be(dpasp: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.plp"
    file.write_text("0.5::a. #query a.")
    code, _, err = dpasp("run", str(file), "--device", "gpu")
    assert code == 2
    assert "'gpu' is not a device: cpu, cuda, cuda:1 or auto" in err
    code, out, err = dpasp("run", str(file), "--device", "cuda")
    assert (code, out) == (0, "ℙ(a) = 0.500000\n")
    assert "--device cuda has no use" in err
