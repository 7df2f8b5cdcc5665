"""Grounding that is tried by a bare clingo: it grounds what the real one grounds."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from clingo import Control

import dpasp
from dpasp.ground import dry_run as bare
from dpasp.ground import ground
from dpasp.ground.dry_run import dry_run, ground_bare
from dpasp.ground.encode import encode
from dpasp.ground.grounding import ClingoGrounder
from dpasp.ground.python import Functions
from dpasp.language import check, parse
from dpasp.language.statements.python import runs_in_terms
from dpasp.limits import UNLIMITED, Limits, memory_in_use
from tests.clocks import PATIENCE
from tests.language.seeds import seeds

ENDLESS = "p(0). p(X+1) :- p(X)."
LARGE = "n(1..9000). a(X,Y) :- n(X), n(Y)."


@pytest.fixture
def another_thread() -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    yield
    stop.set()
    thread.join()


def atoms(control: Control) -> list[str]:
    return sorted(str(atom.symbol) for atom in control.symbolic_atoms)


def test_it_grounds_the_same() -> None:
    tried = 0
    for text in seeds()[::6]:
        try:
            program = parse(text)
            check(program)
            ground(program)
        except dpasp.Error:
            continue
        if runs_in_terms(program):
            continue
        encoding = encode(program, {})
        clingo = ClingoGrounder(encoding, Functions(program, {}, None), UNLIMITED)
        clingo.ground("base", encoding.questions.part)
        bare = ground_bare(encoding.text(), ("base", encoding.questions.part))
        assert atoms(bare) == atoms(clingo.control), text
        tried += 1
    assert tried > 30


@pytest.mark.usefixtures("another_thread")
def test_limits() -> None:
    with pytest.raises(dpasp.TimeLimit):
        dry_run(ENDLESS, ["base"], Limits(seconds=0.3).start())
    with pytest.raises(dpasp.MemoryLimit):
        dry_run(LARGE, ["base"], Limits(megabytes=memory_in_use() + 50).start())


def test_it_goes_no_further_than_it_is_told() -> None:
    dry_run(ENDLESS, ["base"], Limits(seconds=PATIENCE).start(), 1000)


def test_what_clingo_refuses_is_left_to_the_real_one() -> None:
    dry_run("p(X) :- not q(X).", ["base"], Limits(seconds=PATIENCE).start())


@pytest.mark.usefixtures("another_thread")
def test_answers_are_the_same_beside_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, command: list[str], **keywords: object) -> None:
            started.append(command)
            super().__init__(command, **keywords)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", Noted)
    program = dpasp.loads("d(1..3). 0.5::b(X) :- d(X). 0.3::c. #query b(X). #query c.")
    limits = Limits(seconds=PATIENCE)
    assert [answer.lower for answer in program.query(limits=limits)] == [0.5, 0.5, 0.5, 0.3]
    assert len(started) == 1
    assert program.query("c", limits=limits)[0].lower == 0.3  # by the grounder that was kept
    assert len(started) == 1


def test_a_bare_process_loads_nothing_of_ours() -> None:
    code = f"""
import io, runpy, sys
sys.stdin, sys.argv = io.StringIO("a."), ["", "inf", "base"]
runpy.run_path({bare.__file__!r}, run_name="__main__")
print([name for name in sys.modules if name.split(".")[0] == "dpasp"])
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
