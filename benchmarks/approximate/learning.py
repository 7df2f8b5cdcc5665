"""Learning where the circuit does not fit: the exact likelihood, a lower bound of it, and samples.

    python -m benchmarks.approximate.learning [SECONDS]

How often is a road of a grid open, if all that is seen is whether opposite corners are connected?
200 days are drawn with 0.6. On a small grid all three ways go, so that what the others learn can
be compared with the exact answer; on a large one there is no circuit within the limit. Everything
is one process; beside the wall time stands the CPU time.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import dpasp

SIZES = (4, 10)
DAYS = 200
TRUE = 0.6
ITERATIONS = 20
WAYS = ("exact", "bound", "sampled")
SECONDS = 60.0
Place = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """What was learned in one way; None: nothing, within the limit."""

    size: int
    way: str
    seconds: float
    cpu: float
    learned: float | None = None
    likelihood: float | None = None
    gap: float | None = None


def grid(size: int) -> str:
    """The program: roads between neighbours of a grid, each open with the same probability."""
    return f"""
road(X,Y, X+1,Y) :- X = 0..{size - 2}, Y = 0..{size - 1}.
road(X,Y, X,Y+1) :- X = 0..{size - 1}, Y = 0..{size - 2}.
?::open(X,Y,V,W) :- road(X,Y,V,W).
reach(0,0). reach(V,W) :- reach(X,Y), open(X,Y,V,W). reach(X,Y) :- reach(V,W), open(X,Y,V,W).
#semantics maxent.
"""


def connected(size: int, random: Random) -> bool:
    """Whether opposite corners are connected on a random day."""
    places = [(x, y) for x in range(size) for y in range(size)]
    roads: dict[Place, list[Place]] = {place: [] for place in places}
    for x, y in places:
        for other in ((x + 1, y), (x, y + 1)):
            if other in roads and random.random() < TRUE:
                roads[x, y].append(other)
                roads[other].append((x, y))
    seen, todo = {(0, 0)}, [(0, 0)]
    while todo:
        for place in roads[todo.pop()]:
            if place not in seen:
                seen.add(place)
                todo.append(place)
    return (size - 1, size - 1) in seen


def measured(size: int, way: str, seconds: float) -> Row:
    """What is learned in one way within so many seconds."""
    random, corner = Random(size), f"reach({size - 1},{size - 1})"
    rows = [{corner: connected(size, random)} for _ in range(DAYS)]
    program = dpasp.loads(grid(size))
    began, cpu = time.monotonic(), time.process_time()
    try:
        history = program.learn(
            rows,
            likelihood=way,
            niters=ITERATIONS,
            display="none",
            limits=dpasp.Limits(seconds=seconds),
        )
    except dpasp.LimitReached:
        return Row(size, way, time.monotonic() - began, time.process_time() - cpu)
    taken = time.monotonic() - began, time.process_time() - cpu
    (values,) = (record["values"] for record in program.learned())
    return Row(size, way, *taken, values[0], history[-1].log_likelihood, history[-1].gap)


def rows(seconds: float) -> Iterator[Row]:
    """All grids in all ways; what torch takes to start is not counted."""
    dpasp.loads("?::a.").learn([["a"]], niters=1, display="none")
    for size in SIZES:
        for way in WAYS:
            yield measured(size, way, seconds)


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    warnings.simplefilter("ignore")
    write = sys.stdout.write
    write("| grid | likelihood | wall, s | CPU, s | learned | log-likelihood | at most above |\n")
    write("|---|---|---|---|---|---|---|\n")
    for row in rows(seconds):
        write(f"| {row.size} × {row.size} | {row.way} | {row.seconds:.1f} | {row.cpu:.1f} | ")
        write(f"{number(row.learned)} | {number(row.likelihood)} | {number(row.gap)} |\n")
        sys.stdout.flush()


def number(value: float | None) -> str:
    """A number for the table."""
    return "–" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
