"""Ctrl-C inside a call of the library: KeyboardInterrupt, and nothing goes on behind it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import dpasp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

ENDLESS = "p(0). p(X+1) :- p(X). 0.3::a. #query p(1)."
SILENT = "d(1..3000). p :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0. 0.3::a. #query p."
LONG = dpasp.Limits(seconds=300)
# paths through a dense graph: no way of compiling ends soon
HARD = """
v(1..40). 0.5::e(X,Y) :- v(X), v(Y), X != Y.
r(1). r(Y) :- r(X), e(X,Y). #query r(40).
"""
CALLS: dict[str, Callable[[], object]] = {
    "grounding": lambda: dpasp.loads(ENDLESS).query(),
    "grounding under a limit": lambda: dpasp.loads(ENDLESS).query(limits=LONG),
    "grounding that never calls back": lambda: dpasp.loads(SILENT).query(limits=LONG),
    "compiling": lambda: dpasp.loads(HARD).query(engine="compile"),
    "enumerating": lambda: dpasp.loads("0.5::a(1..40). #query a(1).").query(engine="enumerate"),
    "bounds": lambda: dpasp.loads(HARD).query(engine="bounds"),
    "worlds": lambda: dpasp.loads(HARD).sample(10**9),
    "reasons": lambda: dpasp.loads(HARD).explain(),
}


def children() -> list[str]:
    """The processes that this one has started and that are still there (Linux tells)."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [number for task in tasks for number in task.read_text().split()]


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_leaves_nothing_running(name: str) -> None:
    # in a process of its own: beside the threads of other tests nothing is ground in a child
    words = [sys.executable, "-W", "error", __file__, name]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def interrupt(call: Callable[[], object]) -> None:
    """Call it, interrupt it, and see that nothing goes on."""
    warm = dpasp.loads("0.3::a. b :- a, not c. c :- a, not b. #query b.")
    for engine in ("auto", "bounds", "enumerate"):  # an import that is interrupted stays broken
        warm.query(engine=engine)
    warm.sample(2)
    warm.explain()
    before = set(threading.enumerate()), children()
    # not from a thread: beside one, nothing is ground in a child
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        call()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("it was not interrupted")
    for _ in range(200):  # a thread that was told to stop may need a moment
        if (set(threading.enumerate()), children()) == before:
            break
        time.sleep(0.05)
    assert (set(threading.enumerate()), children()) == before
    used = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - used < 0.1
    answers = dpasp.loads("#semantics maxent. 0.3::a. #query a.").query()
    assert answers[0].value == pytest.approx(0.3)


if __name__ == "__main__":
    interrupt(CALLS[sys.argv[1]])
