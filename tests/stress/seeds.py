"""Try many seeds in a child process: one that ends the process is told like any other failure.

A module that is tried has a function ``examine(seed)``, which says what is wrong or gives back
None, and calls ``main`` when it is run: ``python -m tests.stress.border 200000``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 60  # seconds for one seed, on a busy machine

Examine = Callable[[int], str | None]


def main(module: str, examine: Examine) -> int:
    """What ``python -m MODULE COUNT [FIRST]`` does; the exit code says whether a seed failed."""
    if sys.argv[1] == "--child":
        child(examine, int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
        return 0
    return min(1, failed(module, *map(int, sys.argv[1:])))


def failed(module: str, count: int, first: int = 0) -> int:
    """Try many seeds in a child process; give back how many of them fail."""
    wrong, last, started = 0, first + count, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder, "seed")
        while first < last:
            words = [sys.executable, *(["-S"] if sys.flags.no_site else []), "-m", module]
            words += ["--child", str(first), str(last), str(note)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
            print(done.stdout, end="")
            wrong += done.stdout.count("=== seed ")
            if done.returncode == 0:
                break
            first = int(note.read_text()) + 1
            wrong += 1
            print(f"=== seed {first - 1}: the process died with {done.returncode}")
    print(f"{module}: {count} seeds, {wrong} failures, {time.monotonic() - started:.0f} s")
    return wrong


def child(examine: Examine, first: int, last: int, note: Path) -> None:
    """Print the failures among some seeds; ``note`` holds the seed that is being tried."""
    signal.signal(signal.SIGALRM, _too_long)
    with note.open("wb", buffering=0) as file:  # left open: there are thousands of them a second
        for seed in range(first, last):
            os.pwrite(file.fileno(), b"%d" % seed, 0)
            signal.alarm(PATIENCE)
            if (wrong := _examined(examine, seed)) is not None:
                print(f"=== seed {seed}: {wrong}", flush=True)
    signal.alarm(0)


def _examined(examine: Examine, seed: int) -> str | None:
    try:
        return examine(seed)
    except Exception as error:  # whatever it is, it is told, and the next seed is tried
        return f"{type(error).__name__}: {error}"


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError(f"not done after {PATIENCE} s")
