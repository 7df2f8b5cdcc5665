"""What a reader meets on the way of one run: the files entered, in order, and how often.

    python -m benchmarks.walk run                  dpasp run examples/smokers.plp
    python -m benchmarks.walk run PROGRAM.plp      the same for another program
    python -m benchmarks.walk learn                learn() with two parameters and three examples,
                                                   three passes over them

The work is done twice in one process. The first time imports every module and fills every cache
that lives as long as the process; only the second time is counted, by ``sys.setprofile``. Calls
into other packages and into native code are not counted, nor is what runs in other threads.

The last line sums up. A change of folder is a call into a function that lives in another folder of
``src/dpasp`` than the function called before it: the fewer there are, the straighter the way.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from unittest.mock import patch

import dpasp

SOURCE = f"{Path(dpasp.__file__).parent}/"
SMOKERS = Path(__file__).parent.parent / "examples" / "smokers.plp"
TWO_PARAMETERS = "?::a. ?::b. c :- a. c :- b."
EXAMPLES = ["c", "not c", "a"]
PASSES = 3


@dataclass(frozen=True)
class Walk:
    """The calls into our own functions, each as a file below ``src/dpasp`` and a name."""

    calls: tuple[tuple[str, str], ...]

    @property
    def files(self) -> Counter[str]:
        """How often functions of each file were called; the files in the order of the walk."""
        return Counter(file for file, _ in self.calls)

    @property
    def functions(self) -> int:
        """How many different functions were called."""
        return len(set(self.calls))

    @property
    def changes(self) -> int:
        """How often a call entered another folder than the call before it."""
        return sum(before != after for before, after in pairwise(map(folder, self.calls)))

    def __str__(self) -> str:
        return (
            f"{len(self.files)} files, {self.functions} functions, "
            f"{self.changes} changes of folder, {len(self.calls)} calls"
        )


def folder(call: tuple[str, str]) -> str:
    """The folder of ``src/dpasp`` that a call enters; a file at the top is one of its own.

    >>> folder(("inference/exact.py", "answer")), folder(("limits.py", "started"))
    ('inference', 'limits.py')
    """
    return call[0].split("/")[0]


def walk(work: Callable[[], object]) -> Walk:
    """Do some work twice; return the calls of the second time."""
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            file = frame.f_code.co_filename.removeprefix(SOURCE)
            calls.append((file, frame.f_code.co_qualname))

    work()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Walk(tuple(calls))


def run(program: Path) -> None:
    """Answer a program's questions as the command line does, without circuits of earlier runs."""
    from dpasp.cli import main

    with (
        TemporaryDirectory() as cache,
        patch.dict(os.environ, XDG_CACHE_HOME=cache),
        redirect_stdout(io.StringIO()),
    ):
        status = main(["run", str(program)])
    if status != 0:
        raise SystemExit(status)


def learn() -> None:
    """Learn two parameters from three examples.

    There are three passes, not as many as it takes to converge: how many that is belongs to the
    data, and each walks the same way.
    """
    dpasp.loads(TWO_PARAMETERS).learn(EXAMPLES, niters=PASSES)


def main(words: list[str] | None = None) -> None:
    """Print the files that a run enters, with the number of calls into each, and the sums."""
    parser = argparse.ArgumentParser(description="What a reader meets on the way of one run.")
    parser.add_argument("work", choices=["run", "learn"])
    parser.add_argument("program", nargs="?", type=Path, default=SMOKERS)
    options = parser.parse_args(words)
    found = walk(learn if options.work == "learn" else lambda: run(options.program))
    for file, count in found.files.items():
        sys.stdout.write(f"{count:6} {file}\n")
    sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main()
