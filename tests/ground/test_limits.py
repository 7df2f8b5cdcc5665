"""Grounding stops at limits and at Ctrl-C, whatever it is doing, and leaves nothing broken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from functools import partial
from mmap import mmap
from typing import Any

import pytest

from dpasp.errors import MemoryLimit, TimeLimit, UsageError
from dpasp.ground import ground
from dpasp.ground.assemble import GroundRules
from dpasp.language import parse
from dpasp.limits import Limits, memory_in_use, work
from dpasp.native import _native
from tests.clocks import PATIENCE, Given, looks, steps, wait

ENDLESS = [
    "p(0). p(X+1) :- p(X).",
    "0.5::p(0). 0.5::p(X+1) :- p(X).",
    "{p(0)}. p(X+1); q(X) :- p(X).",
    "{p(0)}. {p(X+1); q(X)} :- p(X).",
    "p(0). p(X+1) :- p(X), #count{Y : p(Y)} > 0.",
]
# It finds nothing, after 8 * 10^13 tries.
SILENT = "d(1..3000). :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0."


@pytest.mark.parametrize("text", ENDLESS)
def test_time_limit(text: str) -> None:
    with pytest.raises(TimeLimit) as caught:
        ground(parse(text), watch=looks(5).start())
    assert "still being ground" in caught.value.diagnostics[0].help


def test_one_clock_for_several_computations() -> None:
    clock = Given()
    clock.now = 159.0
    limits = clock.limits(60, since=100.0)
    watch = limits.start()
    assert (watch.elapsed(), watch.remaining(), limits.start().elapsed()) == (59.0, 1.0, 59.0)
    watch.check()
    clock.now = 161.0
    assert (watch.elapsed(), watch.remaining()) == (61.0, 0.0)
    with pytest.raises(TimeLimit, match="60 s"):
        ground(parse("a."), watch=limits.start())


def test_parts_of_the_time() -> None:
    clock = Given()
    watch = clock.limits(100).start()
    clock.now = 20.0
    assert (watch.share(4).remaining(), watch.within(30).remaining()) == (20.0, 30.0)
    assert (watch.within(90).remaining(), watch.within(None).remaining()) == (80.0, 80.0)
    assert (watch.share(4).elapsed(), watch.silenced().remaining()) == (20.0, 80.0)
    share = watch.share(4)
    clock.now = 41.0
    watch.check()
    with pytest.raises(TimeLimit, match="100 s"):
        share.check()


def test_memory_limit() -> None:
    program = parse(ENDLESS[0])
    limit = memory_in_use() + 60
    with pytest.raises(MemoryLimit):
        ground(program, watch=Limits(megabytes=limit).start())


@pytest.mark.parametrize("told", [memory_in_use, _native.memory_in_use])
def test_memory_that_was_given_back_is_not_in_use(told: Callable[[], float]) -> None:
    before = told()
    with mmap(-1, 2**28) as block:
        block.write(b"x" * 2**28)
        assert told() > before + 200
    assert 0 < told() < before + 50


def test_a_process_that_has_ended_uses_no_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert memory_in_use(process.pid) == 0


def test_a_memory_limit_is_refused_where_nobody_tells_what_is_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("dpasp.limits.open", nothing, raising=False)
    monkeypatch.setattr(sys, "platform", "freebsd14")
    assert Limits(seconds=1).seconds == 1
    with pytest.raises(UsageError, match="does not report how much memory"):
        Limits(megabytes=100)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    program = parse("0.5::a(1..3). #query a(X).")
    found = ground(program, watch=Given().limits(megabytes=100_000).start())
    assert len(found.questions) == 3


@pytest.mark.parametrize("text", [ENDLESS[0], ENDLESS[1]])
def test_interrupt(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    working, rule = threading.Event(), GroundRules.rule

    def noting(self: GroundRules, *given: Any) -> None:
        working.set()
        rule(self, *given)

    def interrupt() -> None:
        working.wait()
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(GroundRules, "rule", noting)
    program, thread = parse(text), threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        ground(program)
        thread.join()
    wait(lambda: not work.left_behind(), "the end of the grounder")


def test_an_interrupt_while_the_grounder_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(work, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        ground(parse(ENDLESS[0]))
    wait(lambda: not work.left_behind(), "the end of the grounder")


def test_a_join_that_finds_nothing_is_left_and_the_exit_code_stays() -> None:
    code = f"""
    import sys
    from dpasp.errors import TimeLimit
    from dpasp.language import parse
    from dpasp.limits import Limits
    from dpasp.ground import ground
    try:
        ground(parse({SILENT!r}), watch=Limits(seconds=0.1).start())
    except TimeLimit as error:
        print("stopped")
        sys.exit(error.exit_code)
    """
    words = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (124, "stopped\n", "")


def test_work_that_comes_back_while_python_ends() -> None:
    code = f"""
    import sys, time
    from dpasp.errors import TimeLimit
    from dpasp.language import parse
    from dpasp.limits import Limits
    from dpasp.ground import ground
    from dpasp.ground.assemble import GroundRules
    from threading import Event
    inside, clock, rule = Event(), lambda: 1e9 * inside.is_set(), GroundRules.rule
    def returning(self, *given):
        inside.set()
        for _ in range(200):
            time.sleep(0.002)
        rule(self, *given)
    GroundRules.rule = returning
    try:
        ground(parse({ENDLESS[0]!r}), watch=Limits(seconds=1000, clock=clock).start())
    except TimeLimit as error:
        sys.exit(error.exit_code)
    """
    words = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (124, "")


def test_work_after_a_stop() -> None:
    with pytest.raises(TimeLimit):
        ground(parse(ENDLESS[0]), watch=looks(5).start())
    assert len(ground(parse("0.5::a(1..3).")).choices) == 3


def chained(size: int) -> str:
    """A program of some 40 ground rules for each of so many numbers."""
    return f"""
    n(1..{size}). 0.1::e(X,X+1) :- n(X).
    p(X,Y) :- e(X,Y).  p(X,Z) :- p(X,Y), e(Y,Z), Z-X < 40."""


def crossed(size: int) -> str:
    """A program of a choice for every pair."""
    return f"n(1..{size}). 0.1::e(X,Y) :- n(X), n(Y)."


def named(size: int) -> str:
    """A program of predicates with names of their own."""
    return "".join(f"0.5::a{i}. b{i} :- a{i}, not a{i + 1}.\n" for i in range(size))


@pytest.mark.parametrize(
    ("text", "small", "large"), [(chained, 100, 400), (crossed, 10, 40), (named, 50, 400)]
)
def test_grounding_is_linear(text: Callable[[int], str], small: int, large: int) -> None:
    """Every rule and choice costs the same, however many there are."""
    costs = []
    for size in (small, large):
        program = parse(text(size))
        found = ground(program)
        costs.append(steps(partial(ground, program)) / (len(found.rules) + len(found.choices)))
    assert costs[1] < 1.1 * costs[0]


def test_a_rule_without_an_end_is_suspected_only_after_a_while() -> None:
    with pytest.raises(MemoryLimit) as quick:
        ground(parse("0.5::a. #query a."), watch=Given().limits(megabytes=1).start())
    assert "p(X+1)" not in quick.value.diagnostics[0].help
    with pytest.raises(TimeLimit) as slow:
        ground(parse(ENDLESS[0]), watch=looks(5).start())
    assert "p(X+1)" in slow.value.diagnostics[0].help
