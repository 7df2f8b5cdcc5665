"""Limits whose time is given: what a test says does not depend on how quick or busy a machine is.

A test of a limit has one of these, or work that cannot end. A test that waits does so for what
it waits for, as long as it takes: what never comes is ended by a limit of minutes, never met
otherwise.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any

from dpasp.limits import Limits

PATIENCE = 300.0  # seconds after which a test that waits has failed


def over(seconds: float = 1.0, **limits: Any) -> Limits:
    """A time limit that was passed before the work began."""
    return Limits(seconds, since=0.0, clock=lambda: 2 * seconds, **limits)


def looks(number: int, seconds: float = 1000.0, **limits: Any) -> Limits:
    """A time limit that is passed with so many looks at the clock, in Python and native code.

    Grounding looks at it every few milliseconds: where the number is small, ground before.
    """
    return Limits(seconds, clock=count(0.0, seconds / number).__next__, **limits)


class Given:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def limits(self, seconds: float = 1000.0, **limits: Any) -> Limits:
        """A time limit by this clock."""
        return Limits(seconds, clock=self, **limits)

    def end(self) -> None:
        """From now on every time limit is passed."""
        self.now = 1e9


def wait(happens: Callable[[], object], what: str) -> None:
    """Return when something has happened."""
    end = time.monotonic() + PATIENCE
    while not happens():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not happen within {PATIENCE:.0f} s")
        time.sleep(0.02)


# Hooks for a command: it writes the line "working" when it computes, or when it grounds.
COMPUTING = """
from dpasp.display import progress
told = []
def report(done, total):
    if done and not told:
        told.append(sys.stderr.write("working\\n"))
        sys.stderr.flush()
progress.silent = report
"""
GROUNDING = """
from dpasp.ground.assemble import GroundRules
told, rule = [], GroundRules.rule
def noting(self, *given):
    if not told:
        told.append(sys.stderr.write("working\\n"))
        sys.stderr.flush()
    rule(self, *given)
GroundRules.rule = noting
"""


def command(hook: str, *words: str, **options: Any) -> subprocess.Popen[str]:
    """The command line as a process of its own, in which something was executed before."""
    code = f"import sys\n{hook}\nfrom dpasp.cli import main\nsys.exit(main())"
    pipe = subprocess.PIPE
    words = (sys.executable, "-c", code, *words)
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, **options)


def until_working(process: subprocess.Popen[str]) -> None:
    """Return when a command has written that it works."""
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == "working\n", said + process.communicate()[1]


def steps(work: Callable[[], object]) -> int:
    """How many lines of Python some work executes, in this thread and those that it starts."""
    done = 0

    def line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal done
        done += event == "line"
        return line

    before = sys.gettrace()
    threading.settrace(line)
    sys.settrace(line)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(None)  # type: ignore[arg-type]
    return done
