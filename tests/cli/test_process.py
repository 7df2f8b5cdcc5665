"""What only a process of its own can show: signals, pipes, descriptors, start-up time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpasp.cli import main
from dpasp.cli.look import check
from tests.clocks import GROUNDING, PATIENCE, command, until_working

from .conftest import Command

ENDLESS = "p(0). p(X+1) :- p(X). #query p(1).\n"


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dpasp", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_exits_130(tmp_path: Path) -> None:
    """While it grounds."""
    (tmp_path / "p.plp").write_text(ENDLESS)
    process = command(GROUNDING, "run", "p.plp", cwd=tmp_path)
    until_working(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert err == "error: interrupted [interrupted]\n"


def test_ctrl_c_while_a_program_is_read_exits_130(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.plp")
    process = start(tmp_path, "run", "p.plp")
    with (tmp_path / "p.plp").open("w"):  # it has opened it, too, and waits
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "error: interrupted [interrupted]\n")


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "p.plp").write_text("0.5::p(1..2000). #query p(X).\n")
    process = start(tmp_path, "run", "--json", "p.plp")
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=PATIENCE) == 141


def test_everything_a_program_prints_goes_to_standard_error(process: Command) -> None:
    text = (
        "#python\nimport os, subprocess, sys\n"
        'print("by print")\nsys.stdout.write("by write\\n")\n'
        'os.write(1, b"by descriptor\\n")\nsubprocess.run(["echo", "by child"])\n'
        "#end.\n0.5::a. #query a.\n"
    )
    code, out, err = process("run", text=text)
    assert (code, out) == (0, "ℙ(a) = 0.500000\n")
    for way in ("print", "write", "descriptor", "child"):
        assert f"by {way}" in err


def test_terminals_without_our_letters_get_plain_ones(process: Command) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    code, out, err = process("run", text="0.5::a. #query a.\n", env=environment)
    assert (code, out, err) == (0, "P(a) = 0.500000\n", "")


@pytest.mark.parametrize("name", ["dpasp", "pasp"])
def test_both_commands_are_installed(name: str) -> None:
    command = Path(sys.executable).parent / name
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert re.match(r"dpasp \d+\.\d+\.\d+\nbuilt by ", done.stdout)


# The lines of Python that a command executes, with all that it imports.
COUNTED = """
import sys
lines = 0
def line(frame, event, argument):
    global lines
    lines += event == "line"
    return line
sys.settrace(line)
from dpasp.cli import main
from dpasp.cli.look import check
code = main(sys.argv[1:])
sys.settrace(None)
print(code, lines)
"""


def lines(folder: Path, *words: str) -> int:
    """How many lines of Python a command executes for a program of ten lines."""
    (folder / "p.plp").write_text(TEN_LINES)
    command = [sys.executable, "-c", COUNTED, *words, "p.plp"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    code, number = done.stdout.splitlines()[-1].split()
    assert code == "0"
    return int(number)


TEN_LINES = """\
person(anna). person(bill). person(carl).
0.3::stress(X) :- person(X).
0.8::influences(anna,bill).
0.5::influences(bill,carl).
0.4::influences(carl,anna).
smokes(X) :- stress(X).
smokes(X) :- influences(Y,X), smokes(Y).
0.2::asthma(X) :- smokes(X).
#query smokes(bill).
#query asthma(carl) | smokes(bill).
"""


def test_check_starts_quickly(tmp_path: Path) -> None:
    assert lines(tmp_path, "check") < 1_000_000  # half of it, when this was written


def test_run_starts_quickly(tmp_path: Path) -> None:
    assert lines(tmp_path, "run") < 1_700_000


# --- bugs of our own -------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("something\nof ours")

    monkeypatch.setattr("dpasp.cli.look.check", replace(check, execute=fail))


@pytest.mark.usefixtures("broken")
def test_a_bug_is_confessed_in_one_line(dpasp: Command) -> None:
    code, out, err = dpasp("check", text="a.")
    assert (code, out) == (70, "")
    assert err.splitlines()[0] == (
        "error: this is a bug in dPASP (ZeroDivisionError: something) [internal]"
    )
    assert "report" in err.splitlines()[1]
    assert "Traceback" not in err


@pytest.mark.usefixtures("broken")
def test_a_bug_has_a_traceback_when_asked_for(dpasp: Command) -> None:
    code, _, err = dpasp("check", "-v", text="a.")
    assert code == 70
    assert "Traceback" in err


@pytest.mark.usefixtures("broken")
def test_a_bug_as_json(dpasp: Command) -> None:
    result = dpasp("check", "--json", text="a.")
    assert result.code == 70
    assert result.json["errors"][0]["code"] == "internal"


def test_running_out_of_memory_exits_125(dpasp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("dpasp.cli.look.check", replace(check, execute=fail))
    assert dpasp("check", text="a.").code == 125


def test_the_streams_are_as_before_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    main(["--version"])
    assert sys.stdout is before
    assert capsys.readouterr().out.startswith("dpasp ")


FULL = Path("/dev/full")  # every byte written there finds the disk full


@pytest.mark.skipif(not FULL.exists(), reason="there is no full disk here")
@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "--json"],
        ["check"],
        ["ground"],
        ["compile"],
        ["explain"],
        ["--help"],
        ["--version"],
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_no_bug(tmp_path: Path, words: list[str], unbuffered: str) -> None:
    (tmp_path / "p.plp").write_text("0.3::a. #query a.", encoding="utf-8")
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpasp", *words, "p.plp"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    said = "error: cannot write the answers: No space left on device [output]\n"
    assert (done.returncode, done.stderr) == (74, said)


@pytest.mark.skipif(not FULL.exists(), reason="there is no full disk here")
@pytest.mark.parametrize("name", ["c.json", "c.nnf", "c.nnf.map"])
def test_a_circuit_on_a_full_disk(process: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(FULL)
    output = name.removesuffix(".map")
    code, _, err = process("compile", "-o", output, text="0.3::a. #query a.")
    said = f"error: cannot write {name}: No space left on device [output]\n"
    assert (code, err) == (74, said)
    code, _, err = process("compile", "-o", "no/c.json", text="0.3::a. #query a.")
    assert (code, "cannot write no/c.json" in err) == (2, True)


@pytest.mark.skipif(not FULL.exists(), reason="there is no full disk here")
def test_messages_that_cannot_be_written_change_no_exit_code(tmp_path: Path) -> None:
    with FULL.open("w") as full:
        words = [sys.executable, "-m", "dpasp", "missing.plp"]
        done = subprocess.run(words, cwd=tmp_path, stderr=full, timeout=PATIENCE)
    assert done.returncode == 65
