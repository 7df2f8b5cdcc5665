"""Ctrl-C and memory limits reach the native code."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.clocks import PATIENCE

pytestmark = pytest.mark.slow

HARD = """
import sys
from itertools import count
from dpasp.circuits import Options, compile
from dpasp.language.ast import Logic, Probability
from dpasp.limits import Limits
from dpasp.semantics.meaning import Meaning
from tests.circuits.test_circuit import hard
ticks = count()
def report(done, total):  # about every 20 ms while the native code works
    if next(ticks) == 1:
        print("working", flush=True)
try:
    watch, options = Limits({limits}).start(report), Options(way={way!r})
    compile(hard(), Meaning(Logic.STABLE, Probability.MAXENT), options=options, watch=watch)
except BaseException as problem:
    print(type(problem).__name__, flush=True)
    sys.exit(3)
"""


def start(way: str, limits: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", HARD.format(way=way, limits=limits)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_an_interrupt_is_answered_while_it_works() -> None:
    process = start("auto", "")  # it would take minutes
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (out, process.returncode) == ("KeyboardInterrupt\n", 3)


def test_memory_limit() -> None:
    process = start("auto", "megabytes=200")
    out, _ = process.communicate(timeout=PATIENCE)
    assert (out.removeprefix("working\n"), process.returncode) == ("MemoryLimit\n", 3)
