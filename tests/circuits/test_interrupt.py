"""Ctrl-C and memory limits reach the native code."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

HARD = """
import sys
from dpasp.circuits import compile
from dpasp.language.ast import Logic, Probability
from dpasp.limits import Limits
from dpasp.semantics.meaning import Meaning
from tests.circuits.test_circuit import hard
ground = hard()
print("ready", flush=True)
try:
    compile(ground, Meaning(Logic.STABLE, Probability.MAXENT), watch=Limits({limits}).start())
except BaseException as problem:
    print(type(problem).__name__, flush=True)
    sys.exit(3)
"""


def start(limits: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HARD.format(limits=limits)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_interrupt_is_answered_at_once() -> None:
    process = start("seconds=60")
    time.sleep(0.7)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == ("KeyboardInterrupt\n", 3)
    assert time.monotonic() - sent < 20  # half a second, and the machine may be busy


def test_memory_limit() -> None:
    process = start("seconds=60, megabytes=200")
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == ("MemoryLimit\n", 3)
