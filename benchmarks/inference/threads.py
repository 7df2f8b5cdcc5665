"""What threads bring: a program with independent parts, compiled in one thread and in several.

    python -m benchmarks.inference.threads [THREADS]

The circuits are the same, byte by byte. Wall seconds, the best of three rounds in which both take
turns; on a machine whose cores are busy there is nothing to be had.
"""

from __future__ import annotations

import os
import sys
import time

from benchmarks.inference.families import grid_edges, pair_facts

import dpasp
from dpasp.circuits import compile
from dpasp.ground.program import GroundProgram
from dpasp.limits import Limits
from dpasp.semantics.meaning import Meaning

PARTS, SIDE = 4, 6
ROUNDS = 3


def grids(parts: int, side: int) -> str:
    """Corner to corner on grids that have nothing to do with each other; one query about all."""
    lines = []
    for k in range(parts):
        facts = pair_facts(0.5, f"edge{k}", grid_edges(side, side))
        link = f"link{k}(X,Y) :- edge{k}(X,Y). link{k}(X,Y) :- edge{k}(Y,X)."
        lines.append(f"{facts} {link} path{k}(0). path{k}(Y) :- path{k}(X), link{k}(X,Y).")
    corners = ", ".join(f"path{k}({side * side - 1})" for k in range(parts))
    return "\n".join([*lines, f"#query {corners}."])


def seconds(ground: GroundProgram, threads: int) -> tuple[float, bytes]:
    """Wall seconds of one compilation, and its circuit."""
    started = time.perf_counter()
    circuit = compile(ground, Meaning(), watch=Limits(threads=threads).start())
    return time.perf_counter() - started, circuit.native.to_bytes()


def main(threads: int = 2) -> None:
    """Print the wall seconds of both, and their ratio."""
    ground = dpasp.loads(grids(PARTS, SIDE)).ground()
    best = {1: float("inf"), threads: float("inf")}
    circuits = set()
    for _ in range(ROUNDS):
        for count in best:
            taken, circuit = seconds(ground, count)
            best[count] = min(best[count], taken)
            circuits.add(circuit)
    assert len(circuits) == 1, "the circuits differ"
    load = os.getloadavg()[0]
    print(f"{PARTS} grids of {SIDE} × {SIDE} on {os.cpu_count()} cores with a load of {load:.1f}:")
    print(f"1 thread {best[1]:.2f} s, {threads} threads {best[threads]:.2f} s,", end=" ")
    print(f"{best[1] / best[threads]:.2f} times as fast")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
