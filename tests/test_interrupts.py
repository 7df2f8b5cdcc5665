"""Ctrl-C inside a call of the library: KeyboardInterrupt, and nothing goes on behind it."""

from __future__ import annotations

import faulthandler
import importlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import dpasp
from tests.clocks import PATIENCE, wait

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals")]

ENDLESS = "p(0). p(X+1) :- p(X). 0.3::a. #query p(1)."
SILENT = "d(1..3000). p :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0. 0.3::a. #query p."
LONG = dpasp.Limits(seconds=300)
# paths through a dense graph: no way of compiling ends soon
HARD = """
v(1..40). 0.5::e(X,Y) :- v(X), v(Y), X != Y.
r(1). r(Y) :- r(X), e(X,Y). #query r(40).
"""
# a call that does not end, and the function in which it spends its time
CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "grounding": (lambda: dpasp.loads(ENDLESS).query(), "run"),
    "grounding under a limit": (lambda: dpasp.loads(ENDLESS).query(limits=LONG), "_received"),
    "grounding that never calls back": (
        lambda: dpasp.loads(SILENT).query(limits=LONG),
        "_received",
    ),
    "compiling": (lambda: dpasp.loads(HARD).query(engine="compile"), "compile_flat"),
    "enumerating": (
        lambda: dpasp.loads("0.5::a(1..40). #query a(1).").query(engine="enumerate"),
        "_solve",
    ),
    "bounds": (lambda: dpasp.loads(HARD).query(engine="bounds"), "compile_flat"),
    "worlds": (lambda: dpasp.loads(HARD).sample(10**9), "sample_models"),
    "reasons": (lambda: dpasp.loads(HARD).explain(), "compile_flat"),
}


def children() -> list[str]:
    """The processes that this one has started and that are still there (Linux tells)."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [number for task in tasks for number in task.read_text().split()]


def native_threads() -> int:
    """How many threads this process has, Python's and others (Linux tells)."""
    return len(list(Path("/proc/self/task").glob("*")))


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_leaves_nothing_running(name: str) -> None:
    # in a process of its own: beside the threads of other tests nothing is ground in a child
    words = [sys.executable, "-W", "error", "-m", "tests.test_interrupts", name]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3 * PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


def interrupt_inside(function: str) -> None:
    """Let Ctrl-C come a moment after a function is called."""

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == function:
            sys.setprofile(None)
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    # not from a thread: beside one, nothing is ground in a child
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    sys.setprofile(look)


def interrupt(call: Callable[[], object], function: str) -> None:
    """Call it, interrupt it, and see that nothing goes on."""
    warm = dpasp.loads("0.3::a. b :- a, not c. c :- a, not b. #query b.")
    for engine in ("auto", "bounds", "enumerate"):  # an import that is interrupted stays broken
        warm.query(engine=engine)
    warm.sample(2)
    warm.explain()
    importlib.import_module("dpasp.ground.narrow")  # which only large programs need
    before = set(threading.enumerate()), children()
    native = native_threads()
    interrupt_inside(function)
    try:
        call()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("it was not interrupted")
    # a thread that was told to stop may need a moment; a copy of a process ends those of numpy
    wait(lambda: (set(threading.enumerate()), children()) == before, "the end of the work")
    wait(lambda: native_threads() <= native, "the end of the native threads")
    answers = dpasp.loads("#semantics maxent. 0.3::a. #query a.").query()
    assert answers[0].value == pytest.approx(0.3)


if __name__ == "__main__":
    faulthandler.dump_traceback_later(2 * PATIENCE, exit=True)  # says where it hangs
    interrupt(*CALLS[sys.argv[1]])
