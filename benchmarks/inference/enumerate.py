"""The reference engine, which enumerates: how long a total choice and a model take.

    python -m benchmarks.inference.enumerate

Both programs are measured in fresh processes, start-up aside; the best of some runs counts.
Under maxent, so that every model has to be counted.
"""

from __future__ import annotations

import sys

from benchmarks.inference.instances import FAMILIES, MAXENT, Instance
from benchmarks.inference.measure import Limits
from benchmarks.inference.targets import Result, inside, show
from rich.console import Console

EDGES, LOOPS = 14, 8
CHAIN = 0.524  # CPU seconds: a fifth of one fresh solver call (0.16 ms) for each total choice
LIMITS = Limits(60, 4000)


def results(repeat: int = 3) -> list[Result]:
    """Both targets with what was measured."""
    chain = _seconds("chain", EDGES, repeat)
    loops = _seconds("even_cycles", LOOPS, repeat)
    each = "" if chain is None else f"{1e3 * chain / 2**EDGES:.4f} ms for each total choice"
    return [
        Result(f"chain of {EDGES} edges, 2^{EDGES} total choices", CHAIN, chain, each),
        Result(f"{LOOPS} even loops under choices, 3^{LOOPS} models", 1.0, loops),
    ]


def _seconds(family: str, size: int, repeat: int) -> float | None:
    """The least CPU seconds of some runs; None if one of them failed."""
    found = []
    for _ in range(repeat):
        _, told = inside(Instance(FAMILIES[family], size, MAXENT), LIMITS, "enumerate")
        if not told:
            return None
        found.append(float(str(told["seconds"])))
    return min(found)


def main() -> None:
    """Print both; the exit status is 1 if one is missed."""
    found = results()
    show(found, Console())
    missed = [one for one in found if one.seconds is None or one.seconds > one.target]
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
