"""How late the command line stops at its limits: every command, in every stage.

    python -m tests.stress.limits 5        (make limits)

Each command is driven into each stage (a program is read, ground, its questions are answered) so
many times with a time limit, and with a memory limit. A line tells the least, the middle and the
largest of how late it was, or how much more it took. Every limit must be kept within 0.3 s and
10 %, and the middle counts: a busy machine now and then does not let a process run.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.test_limits import COLOURS, ENDLESS, READING, SILENT

MISTAKES = "\n".join(f"1.5::a{i}." for i in range(60_000))
LATE, MORE = 0.3, 0.1  # seconds, and the share of the limit
FACTS = "".join(f"0.5::a({i}).\n" for i in range(100_000))
HEADS = "; ".join(f"0.00001::h({i})" for i in range(100_000)) + ". #query h(1)."
CONSTANTS = "".join(f"#const c{i} = c{i + 1}.\n" for i in range(10_000)) + "0.5::a(c0)."
LITERALS = f"a :- {', '.join(f'b({i})' for i in range(100_000))}. 0.5::b(1). #query a."
STRING = f'p("{"a" * 20_000_000}"). 0.5::b. #query b.'
ANSWERING = (
    ("run", "--exact"),
    ("run", "--engine", "enumerate"),
    ("compile",),
    ("explain",),
    ("models", "-n", "100000000"),
    ("sample", "-n", "100000000"),
)
# The clock of a command starts when dPASP has been loaded and the words are understood.
START = """
import sys, time
from dpasp.cli import execution, main
def begin(options, console, execute=execution.execute_command):
    print(time.monotonic(), flush=True)
    return execute(options, console)
execution.execute_command = begin
sys.exit(main())
"""


@dataclass(frozen=True)
class Case:
    """A command in a stage that has no end of its own, with the limit that ends it."""

    stage: str
    words: Sequence[str]
    text: str
    seconds: float | None = None
    megabytes: float | None = None

    def __str__(self) -> str:
        limit = f"{self.seconds:g} s" if self.seconds else f"{self.megabytes:g} MB"
        return f"{' '.join(self.words[:2]):22} while it is {self.stage}, {limit}"


def cases() -> Iterator[Case]:
    """Every command in every stage that it has."""
    grounding = [("run", "--exact"), *READING[2:7]]
    for words in READING:
        yield Case("read", words, MISTAKES, seconds=0.2)
        yield Case("read", words, FACTS, megabytes=75)
    for words in grounding:
        yield Case("ground", words, SILENT, seconds=0.5)
        yield Case("ground", words, ENDLESS, megabytes=90)
    for words in ANSWERING:
        yield Case("answered", words, COLOURS, seconds=1.0)
    for text in (HEADS, CONSTANTS, LITERALS, STRING):
        for words in (("run",), ("check",)):
            yield Case("read", words, text, seconds=0.2)
    few = "0.5::a. #query a."  # no total choice is new after the second
    yield Case("answered", ("sample", "-n", "1000000000"), few, seconds=0.5)


def passed(case: Case, folder: Path) -> float:
    """How many seconds or megabytes a command took beyond its limit."""
    (folder / "p.plp").write_text(case.text)
    limit = ("--time-limit", case.seconds) if case.seconds else ("--memory-limit", case.megabytes)
    command = [sys.executable, "-c", START, *case.words, *map(str, limit), "p.plp"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    started = float(process.stdout.readline())
    with process.stdout:
        process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    ended = time.monotonic()
    process.returncode = os.waitstatus_to_exitcode(status)
    expected = 124 if case.seconds else 125
    assert process.returncode == expected, f"{case}: exit code {process.returncode}"
    if case.seconds:
        return ended - started - case.seconds
    return used.ru_maxrss / 1024 - (case.megabytes or 0.0)


def main(times: int) -> int:
    """Measure all; the exit code says whether a limit was not kept."""
    wrong = 0
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            found = sorted(passed(case, Path(folder)) for _ in range(times))
        limit = case.seconds or case.megabytes or 0.0
        allowed = LATE + MORE * limit if case.seconds else MORE * limit
        middle = statistics.median(found)
        wrong += middle > allowed
        unit = "s" if case.seconds else "MB"
        shown = ", ".join(f"{number:.2f}" for number in (found[0], middle, found[-1]))
        print(f"{case}: {shown} {unit} more{' NOT KEPT' * (middle > allowed)}", flush=True)
    return min(1, wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
