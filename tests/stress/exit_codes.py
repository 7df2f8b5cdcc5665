"""Stop the command line again and again and count how it ends: ``make exit-codes``.

A program whose grounding has no end, asked for exact answers, is stopped by the time limit, by
the memory limit and by Ctrl-C at random moments; the exit codes must be 124, 125 and 130 every
time, and nothing may be said but that. ``python tests/stress/exit_codes.py 200`` is 200 runs of
each.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PROGRAMS = {
    "calls back": "p(0). p(X+1) :- p(X). #query p(1).\n",
    "never calls back": "d(1..3000). p :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0. #query p.\n",
}


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dpasp", "run", "p.plp", "--exact", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def at_time_limit(folder: Path, text: str) -> subprocess.Popen[str]:
    (folder / "p.plp").write_text(text)
    return start(folder, "--time-limit", f"{random.uniform(0.05, 0.5):.3f}")


def at_memory_limit(folder: Path, text: str) -> subprocess.Popen[str]:
    (folder / "p.plp").write_text(PROGRAMS["calls back"])  # the other one needs none
    return start(folder, "--memory-limit", f"{random.uniform(60, 120):.0f}")


def by_ctrl_c(folder: Path, text: str) -> subprocess.Popen[str]:
    os.mkfifo(folder / "p.plp")  # opened by both sides: then it has started
    process = start(folder)
    while process.poll() is None:
        try:
            writing = os.open(folder / "p.plp", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads it yet
            time.sleep(0.01)
            continue
        with os.fdopen(writing, "w") as file:
            file.write(text)
        time.sleep(random.uniform(0.0, 0.5))
        process.send_signal(signal.SIGINT)
        break
    return process


EXPECTED = {at_time_limit: 124, at_memory_limit: 125, by_ctrl_c: 130}


def main(runs: int) -> int:
    random.seed(1)
    # what a shell starts in the background is deaf to Ctrl-C, and so is all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wrong = 0
    for stop, expected in EXPECTED.items():
        for name, text in PROGRAMS.items():
            codes: Counter[int] = Counter()
            for _ in range(runs // len(PROGRAMS)):
                with tempfile.TemporaryDirectory() as folder:
                    process = stop(Path(folder), text)
                    said = process.communicate(timeout=120)[1]
                codes[process.returncode] += 1
                if process.returncode != expected or "FATAL" in said or "Traceback" in said:
                    wrong += 1
                    print(f"{stop.__name__}: exit code {process.returncode}: {said}")
            print(f"{stop.__name__} ({name}): expected {expected}, found {dict(codes)}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)))
