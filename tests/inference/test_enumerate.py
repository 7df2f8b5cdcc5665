"""The reference engine: what it reads, how fast it is, how it stops."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

import dpasp
from dpasp.inference.engines.reference import enumerate as module
from dpasp.inference.engines.reference.enumerate import enumerate_models
from dpasp.language.ast import Logic, Probability
from dpasp.semantics.meaning import Meaning

CHAIN = """
0.9::edge(X,X+1) :- X = 0..13.
reach(0). reach(Y) :- reach(X), edge(X,Y).
#query reach(14).
"""
LOOPS = "0.5::x(1..8). a(X) :- x(X), not b(X). b(X) :- x(X), not a(X). #query a(1)."


def test_a_chain_of_14_edges_is_quick() -> None:
    program = dpasp.loads(CHAIN)
    program.ground()
    best = 1e9
    for _ in range(3):
        started = time.process_time()
        answer = program.query(engine="enumerate")[0]
        best = min(best, time.process_time() - started)
    assert answer.lower == pytest.approx(0.9**14, rel=1e-12)
    assert best / 2**14 < 0.32e-3  # ten times what it may take: the machine may be busy


def test_8_even_loops_are_quick() -> None:
    started = time.process_time()
    answers = dpasp.loads(LOOPS).query(engine="enumerate", semantics="maxent")
    assert time.process_time() - started < 10
    assert answers.statistics["models"] == 3**8
    assert answers[0].value == pytest.approx(0.25)


def test_projection_under_credal() -> None:
    ground = dpasp.loads(LOOPS).ground()
    found = enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL))
    assert len(found.table) == 2**8
    assert found.models == 2**7 * 3  # x(1) false; or true, with a(1) or not


def test_values_of_probability_0_are_not_enumerated() -> None:
    ground = dpasp.loads("0::a. 1::b. 0::c; 0.5::d; 0.5::e. #query a.").ground()
    assert len(enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL)).table) == 2


def test_many_choices_with_few_total_choices_that_have_models() -> None:
    text = "0.5::a(1..200). :- not a(X), X = 1..199. #query a(200). #query a(1)."
    answers = dpasp.loads(text).query(engine="enumerate")
    assert answers.statistics["total_choices"] == 2
    assert (answers[0].lower, answers[1].lower) == (0.5, 1.0)
    assert answers.inconsistent == pytest.approx(1.0)


def test_progress_is_reported() -> None:
    seen: list[tuple[float, float | None]] = []
    dpasp.loads(CHAIN).query(engine="enumerate", progress=lambda *at: seen.append(at))
    assert seen[-1] == (2**14, 2**14)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_time_limit_stops_it() -> None:
    program = dpasp.loads("0.5::a(1..40). #query a(1), a(2).")
    started = time.monotonic()
    with pytest.raises(dpasp.TimeLimit):
        program.query(engine="enumerate", limits=dpasp.Limits(seconds=0.3))
    assert time.monotonic() - started < 15


def test_the_time_limit_stops_it_between_two_models() -> None:
    """12 pigeons in 11 holes have no model, and finding that out takes very long."""
    text = "0.5::z. 1 { in(P,H) : H = 1..11 } 1 :- P = 1..12. :- in(P,H), in(Q,H), P < Q. #query z."
    with pytest.raises(dpasp.TimeLimit):
        dpasp.loads(text).query(engine="enumerate", limits=dpasp.Limits(seconds=0.3))


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 1000)
    monkeypatch.setattr("dpasp.inference.engines.reference.rows.ROOM", 500)
    with pytest.raises(dpasp.SizeLimit, match="too many to enumerate"):
        dpasp.loads("0.5::a(1..40). #query a(1).").query(engine="enumerate")


def test_ctrl_c_is_answered_at_once() -> None:
    code = (
        "import signal, dpasp\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "program = dpasp.loads('0.5::a(1..40). #query a(1).')\n"
        "program.ground(); print('ready', flush=True)\n"
        "program.query(engine='enumerate', limits=dpasp.Limits(seconds=60))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=20)
            assert time.monotonic() - started < 20
        finally:
            process.kill()
    assert error.rstrip().endswith("KeyboardInterrupt")
