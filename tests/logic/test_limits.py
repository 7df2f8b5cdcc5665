"""Grounding stops at limits and at Ctrl-C, whatever it is doing, and leaves nothing broken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from dpasp.errors import MemoryLimit, TimeLimit
from dpasp.language import parse
from dpasp.limits import Limits, memory_in_use
from dpasp.logic import ground

ENDLESS = [
    "p(0). p(X+1) :- p(X).",
    "0.5::p(0). 0.5::p(X+1) :- p(X).",
    "{p(0)}. p(X+1); q(X) :- p(X).",
    "{p(0)}. {p(X+1); q(X)} :- p(X).",
    "p(0). p(X+1) :- p(X), #count{Y : p(Y)} > 0.",
]
SILENT = "d(1..3000). :- d(X), d(Y), d(Z), X+Y+Z < 0."  # finds nothing for a long time


@pytest.mark.parametrize("text", ENDLESS)
def test_time_limit(text: str) -> None:
    program = parse(text)
    started = time.monotonic()
    with pytest.raises(TimeLimit) as caught:
        ground(program, watch=Limits(seconds=0.1).start())
    assert time.monotonic() - started < 15
    assert "still being ground" in caught.value.diagnostics[0].help


def test_one_clock_for_several_computations() -> None:
    limits = Limits(seconds=60, since=time.monotonic() - 59)
    assert 58 < limits.start().elapsed() < 61
    late = Limits(seconds=60, since=time.monotonic() - 61)
    with pytest.raises(TimeLimit, match="60 s"):
        ground(parse("a."), watch=late.start())


def test_memory_limit() -> None:
    program = parse(ENDLESS[0])
    limit = memory_in_use() + 60
    with pytest.raises(MemoryLimit):
        ground(program, watch=Limits(megabytes=limit, seconds=60).start())


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    program = parse("0.5::a(1..3). #query a(X).")
    found = ground(program, watch=Limits(seconds=60, megabytes=100_000).start())
    assert len(found.questions) == 3


@pytest.mark.parametrize("text", [ENDLESS[0], ENDLESS[1]])
def test_interrupt(text: str) -> None:
    program = parse(text)
    sent: list[float] = []

    def interrupt() -> None:
        time.sleep(0.2)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ground(program)
    delay = time.monotonic() - sent[0]
    thread.join()
    assert delay < 5


def test_a_join_that_finds_nothing_is_left_and_the_exit_code_stays() -> None:
    code = f"""
    import sys
    from dpasp.errors import TimeLimit
    from dpasp.language import parse
    from dpasp.limits import Limits
    from dpasp.logic import ground
    try:
        ground(parse({SILENT!r}), watch=Limits(seconds=0.1).start())
    except TimeLimit as error:
        print("stopped")
        sys.exit(error.exit_code)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (124, "stopped\n", "")


def test_work_after_a_stop() -> None:
    with pytest.raises(TimeLimit):
        ground(parse(ENDLESS[0]), watch=Limits(seconds=0.05).start())
    assert len(ground(parse("0.5::a(1..3).")).choices) == 3


def test_many_ground_rules_in_little_time() -> None:
    text = """
    n(1..1000). 0.1::e(X,X+1) :- n(X).
    p(X,Y) :- e(X,Y).  p(X,Z) :- p(X,Y), e(Y,Z), Z-X < 230.
    """
    program = parse(text)
    started = time.process_time()
    found = ground(program)
    seconds = time.process_time() - started
    assert len(found.rules) > 200_000
    assert seconds < 300


def test_many_choices_in_little_time() -> None:
    program = parse("n(1..200). 0.1::e(X,Y) :- n(X), n(Y).")
    started = time.process_time()
    found = ground(program)
    seconds = time.process_time() - started
    assert len(found.choices) == 40_000
    assert seconds < 30


def test_many_facts_with_names_of_their_own() -> None:
    program = parse("".join(f"0.5::a{i}. b{i} :- a{i}, not a{i + 1}.\n" for i in range(1500)))
    started = time.process_time()
    assert len(ground(program).choices) == 1500
    assert time.process_time() - started < 30


def test_a_rule_without_an_end_is_suspected_only_after_a_while() -> None:
    with pytest.raises(MemoryLimit) as quick:
        ground(parse("0.5::a. #query a."), watch=Limits(megabytes=1).start())
    assert "p(X+1)" not in quick.value.diagnostics[0].help
    with pytest.raises(TimeLimit) as slow:
        ground(parse(ENDLESS[0]), watch=Limits(seconds=0.8).start())
    assert "p(X+1)" in slow.value.diagnostics[0].help
