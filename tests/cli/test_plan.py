"""The plan before long work: on standard error, once, and only when it is worth it."""

from __future__ import annotations

import io
import re
from itertools import count
from types import SimpleNamespace

import pytest

from dpasp.circuits import HeadCycle, PartPlan
from dpasp.circuits.compiler import Plan
from dpasp.cli import reading as module
from dpasp.cli.console import Console
from dpasp.cli.reading import planned

from .conftest import Command, Stepped

QUICK = "0.5::a. 0.4::b :- a. c :- not d, b. d :- not c, b.\n#query c.\n"
TEXT = re.compile(r"2 choices in 1 part; 1 inner variable, width about \d+; trying \w+ \(.*\)\n")
HEADS = "0.5::x. a; b :- x. a :- b. b :- a. #query a.\n"
GRID = """
0.5::right(X,Y) :- X = 1..n-1, Y = 1..n.   0.5::down(X,Y) :- X = 1..n, Y = 1..n-1.
edge((X,Y),(X+1,Y)) :- right(X,Y).  edge((X,Y),(X,Y+1)) :- down(X,Y).
edge(B,A) :- edge(A,B).
reach((1,1)).  reach(B) :- reach(A), edge(A,B).
#const n = 10. #query reach((n,n)).
"""


def a_plan() -> Plan:
    return Plan(3, (PartPlan(2, 0, 5, 2, ("tables, narrow",)),))


@pytest.mark.parametrize("command", ["run", "compile"])
def test_quick_work_has_none(dpasp: Command, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 0.0))
    code, _, err = dpasp(command, text=QUICK)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("command", ["run", "compile"])
def test_it_is_told_with_v(dpasp: Command, command: str) -> None:
    code, out, err = dpasp(command, "-v", text=QUICK)
    assert code == 0
    assert TEXT.match(err)
    assert "trying" not in out


def test_not_where_nothing_is_compiled(dpasp: Command) -> None:
    for engine in ("sample", "bounds", "enumerate"):
        assert "trying" not in dpasp("run", "-v", "--engine", engine, text=QUICK).err
    assert "trying" not in dpasp("run", "-v", text=f"#inference sample, n = 10. {QUICK}").err


def test_what_is_enumerated_says_so(dpasp: Command) -> None:
    code, _, err = dpasp("run", "-v", text=HEADS)
    assert code == 0
    assert err.startswith("a disjunction through a positive loop: models are enumerated\n")


@pytest.mark.parametrize("command", ["run", "compile"])
def test_long_work_has_one_before_the_answer(
    dpasp: Command, command: str, stepped: Stepped, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[float] = []  # half a second between two reports; the plan comes with the third
    looked = count(0.0, 0.01)

    def now() -> float:
        reported.append(0.5 * len(reported))
        return reported[-1]

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=now))
    stepped(clock=lambda: min(next(looked), 999.0) if len(reported) < 4 else 1e9)
    exact = ["--exact"] if command == "run" else []
    code, out, err = dpasp(command, *exact, "--time-limit", "1000", text=GRID)
    assert (code, out) == (124, "")
    plan, error, *_ = err.splitlines()
    assert plan.startswith("180 choices in 1 part; width about ")
    assert "time limit of 1000 s" in error
    stepped(100_000)
    assert "trying" not in dpasp(command, "-q", "--time-limit", "1000", text=GRID).err


def test_it_is_told_once_and_only_when_due(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    console = Console(io.StringIO(), stream)
    with planned("working", a_plan, console) as progress:
        progress(0.1, 1.0)
    assert stream.getvalue() == ""
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    with planned("working", a_plan, console) as progress:
        progress(0.1, 1.0)
        progress(0.2, 1.0)
    text = "3 choices, of which 2 matter, in 1 part; width about 2; trying tables (narrow)\n"
    assert stream.getvalue() == text


def test_a_program_that_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan() -> Plan:
        raise HeadCycle("no")

    monkeypatch.setattr(module, "PATIENCE", 0.0)
    stream = io.StringIO()
    with planned("working", plan, Console(io.StringIO(), stream)) as progress:
        progress(0.1, 1.0)
    assert "enumerated" in stream.getvalue()
