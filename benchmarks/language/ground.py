"""How long reading and grounding take for large programs, in seconds of CPU.

python -m benchmarks.language.ground [--against PYTHON] [FILE ...]

With ``--against``, the Python of another installation does the same work, by turns with this one,
and the ratio is printed. Files are measured after the programs that are made here.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

REPEAT = 3
MEASURED = """
import resource, sys, time
import dpasp
from dpasp.ground import ground
from dpasp.ground.checking import program_of_texts
from dpasp.language import check
text = open(sys.argv[1], encoding="utf-8").read()
start = time.process_time()
program = program_of_texts([(sys.argv[1], text)])
check(program)
read = time.process_time() - start
ground(program)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(read, time.process_time() - start - read, memory)
"""


def facts() -> str:
    """100,000 probabilistic facts."""
    return "".join(f"0.{i % 9 + 1}::a({i}).\n" for i in range(100_000)) + "b :- a(5), a(77).\n"


def chain_by_a_rule() -> str:
    """A chain of 50,000 steps, by one rule."""
    return "0.5::s(0).\n0.9::s(T) :- s(T-1), T = 1..50000.\n"


def ground_chain() -> str:
    """A chain of 50,000 steps, as ground rules."""
    return "0.5::s(0).\n" + "".join(f"0.9::s({t}) :- s({t - 1}).\n" for t in range(1, 50_001))


def plain_facts() -> str:
    """A million plain facts."""
    edges = "".join(f"e({i},{i * 7919 % 1_000_003}).\n" for i in range(1_000_000))
    return f"{edges}0.5::a. b :- a, e(5,Y).\n"


def measured(python: str, path: Path) -> tuple[float, float, float]:
    """Seconds of reading and of grounding, and megabytes."""
    command = [python, "-c", MEASURED, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    read, ground, memory = map(float, output.split())
    return read, ground, memory


def report(name: str, path: Path, pythons: list[str]) -> None:
    """Print a line for each Python, and the ratio of the best times."""
    runs: dict[str, list[tuple[float, float, float]]] = {python: [] for python in pythons}
    for _ in range(REPEAT):
        for python in pythons:
            runs[python].append(measured(python, path))
    best = {python: min(found, key=lambda run: run[0] + run[1]) for python, found in runs.items()}
    for python, (read, ground, memory) in best.items():
        side = "this" if python == sys.executable else "other"
        print(f"{name:16} {side:6} read {read:6.2f}  ground {ground:6.2f}  {memory:6.0f} MB")
    if len(pythons) > 1:
        totals = [read + ground for read, ground, _ in best.values()]
        print(f"{name:16} ratio  {totals[0] / totals[1]:.2f}")


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--against", help="the Python of another installation")
    options = parser.parse_args()
    pythons = [sys.executable, *([options.against] if options.against else [])]
    made: tuple[Callable[[], str], ...] = (facts, chain_by_a_rule, ground_chain, plain_facts)
    with tempfile.TemporaryDirectory() as folder:
        for make in made:
            path = Path(folder) / f"{make.__name__}.plp"
            path.write_text(make(), encoding="utf-8")
            report(make.__name__, path, pythons)
    for file in options.files:
        report(file.stem, file, pythons)


if __name__ == "__main__":
    main()
