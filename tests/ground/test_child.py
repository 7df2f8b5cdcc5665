"""Grounding in a child: what it gives back, and that nothing is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from clingo import Function, Infimum, Number, String, Supremum, Symbol

import dpasp
from dpasp.ground.grounding import ground, ground_in_child
from dpasp.language import parse
from dpasp.limits import UNLIMITED, Limits
from dpasp.limits.work import in_child
from tests.clocks import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")

SYMBOLS: list[Symbol] = [
    Number(-5),
    Number(2**31 - 1),
    Function("", []),
    Function("", [Number(1)]),
    Function("f", [String('a"b\\c\nd')], False),
    Function("a", [], False),
    String("ü\t%"),
    Infimum,
    Supremum,
]
TEXT = """d(1..3). 0.5::b(X) :- d(X). ?::c; ?::e. [0.1, 0.2]::k("s",#inf). -n(-3). { x; y } 1 :- c.
#query b(X) | c. #query undefined. #map b(1)?. #evidence not e."""


def test_symbols_come_back() -> None:
    assert in_child(lambda: SYMBOLS, UNLIMITED) == SYMBOLS


def test_a_child_finds_the_same() -> None:
    program = parse(TEXT)
    assert ground_in_child(program, watch=Limits(seconds=PATIENCE).start()) == ground(program)


def test_errors_come_back() -> None:
    program = parse("d(2). X::a :- d(X).")
    with pytest.raises(dpasp.ProgramError, match="which is not a probability"):
        ground_in_child(program, watch=UNLIMITED)


def test_a_child_that_dies_is_no_riddle() -> None:
    with pytest.raises(dpasp.MemoryLimit, match="out of memory"):
        in_child(lambda: os._exit(1), UNLIMITED)


SCRIPT = """
import os, threading, time
import dpasp
def threads():  # also those that are not Python's, where Linux tells
    return len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0
{beside}
dpasp.loads("0.3::a. #query a.").query()
before = threads()
program = dpasp.loads({text!r}, python={python})
try:
    program.query(exact=True, limits=dpasp.Limits({limit}))
except dpasp.LimitReached as error:
    print(type(error).__name__)
print([t.name for t in threading.enumerate()])
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no children")
while threads() > before:  # fewer are well: a copy of a process ends those of numpy
    time.sleep(0.02)
assert dpasp.loads("0.3::a. #query a.").query(limits=dpasp.Limits(seconds=600))[0].lower == 0.3
"""
SILENT = "d(1..3000). p :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0. #query p."
GROWING = "p(0). p(X+1) :- p(X). #query p(1)."
# The rules that find out what the question asks for have the join.
ASKING = """d(1..3000). 0.5::e(1..3). #query q(1).
q(X) :- d(A), d(B), d(C), d(D), A+B+C+D < 0, e(X)."""
BESIDE = "threading.Thread(target=threading.Event().wait, name='other', daemon=True).start()"


def left(folder: Path, text: str, limit: str, beside: str = "", python: bool = False) -> list[str]:
    """What a process prints whose call was stopped at a limit."""
    script = SCRIPT.format(text=text, limit=limit, beside=beside, python=python)
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["", BESIDE], ids=["alone", "beside a thread"])
@pytest.mark.parametrize(
    ("text", "limit", "name"),
    [
        (SILENT, "seconds=0.5", "TimeLimit"),
        (ASKING, "seconds=0.5", "TimeLimit"),
        (GROWING, "megabytes=120", "MemoryLimit"),
    ],
    ids=["a silent join", "a silent join of demands", "no end"],
)
def test_nothing_is_left_of_a_stopped_call(
    beside: str, text: str, limit: str, name: str, tmp_path: Path
) -> None:
    threads = ["MainThread", *(["other"] if beside else [])]
    assert left(tmp_path, text, limit, beside) == [name, str(threads), "no children"]


PYTHON = "#python\nimport numpy\ndef rows(): return numpy.zeros((2, 3))\n#end.\n"


@pytest.mark.slow
def test_python_that_grounding_does_not_run_leaves_nothing_either(tmp_path: Path) -> None:
    text = f"{PYTHON}image(0) ~ test(@rows). {SILENT}"
    said = left(tmp_path, text, "seconds=0.5", python=True)
    assert said == ["TimeLimit", "['MainThread']", "no children"]


# Where grounding calls Python, clingo works in a thread of the process. It is left only inside a
# join that finds nothing: with the next rule, or call of a function, the thread ends.
CALLING = "#python\ndef next(x):\n    return x + 1\n#end.\np(0). p(@next(X)) :- p(X). #query p(1)."


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", BESIDE], ids=["alone", "beside a thread"])
def test_a_thread_that_is_stopped_ends(before: str, tmp_path: Path) -> None:
    script = f"""
import threading, time
import dpasp
{before}
program = dpasp.loads({CALLING!r}, python=True)
started = set(threading.enumerate())
try:
    program.query(exact=True, limits=dpasp.Limits(seconds=0.5))
except dpasp.TimeLimit:
    print("stopped")
while set(threading.enumerate()) != started:
    time.sleep(0.02)
print("ended")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("stopped\nended\n", "", 0)


def test_questions_after_the_first_do_not_ground_all_again() -> None:
    program = dpasp.loads("0.3::a. 0.4::b.")
    limits = Limits(seconds=PATIENCE)
    for text, expected in (("a", 0.3), ("b", 0.4), ("not a", 0.7)):
        assert program.query(text, limits=limits)[0].lower == pytest.approx(expected)
    assert program._groundings._grounders


def test_python_is_called_in_this_process() -> None:
    calls: list[object] = []
    text = "a(@note(1)). 0.3::b. #query b.\n#python\ndef note(x):\n    seen(x)\n    return x\n#end."
    program = dpasp.loads(text, python=True)
    program.functions["seen"] = calls.append
    program.query(limits=Limits(seconds=PATIENCE))
    assert calls == [1]
