"""What answers that are not exact are worth after so many seconds, beside ProbLog's sampling.

    python -m benchmarks.approximate [SECONDS]

For every instance: how many worlds a second are drawn on one core, how wide the interval of
95 % is in the end, and, beside it in the same run, how many samples ProbLog draws.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inference import families, syntax

import dpasp

INSTANCES = {
    "grid 10 × 10": families.grid(10),
    "smokers 60": families.smokers(60),
    "sparse 100": families.sparse(100),
    "network of 200": families.bayes(200),
    "colouring 20": families.colouring(20),
    "insomnia 40": families.insomnia(40),
}
SECONDS = 5.0


@dataclass(frozen=True)
class Row:
    """What was measured on an instance."""

    name: str
    semantics: str
    seconds: float
    samples: int
    width: float
    sure: float
    problog: int | None  # samples in the same time; None: it cannot be written there


def rows(seconds: float) -> Iterator[Row]:
    """All instances under both semantics."""
    for name, text in INSTANCES.items():
        problog = drawn_by_problog(text, seconds)
        for semantics in ("credal", "maxent"):
            yield measured(name, text, semantics, seconds, problog)


def measured(name: str, text: str, semantics: str, seconds: float, problog: int | None) -> Row:
    """The samples of so many seconds, and the sure bounds of as many."""
    program = dpasp.loads(text)
    limits = dpasp.Limits(seconds=seconds)
    program.query(semantics=semantics, engine="sample", n=1, seed=0)  # it is ground by then
    began = time.monotonic()
    (answer,) = program.query(semantics=semantics, engine="sample", n=10**10, seed=1, limits=limits)
    taken = time.monotonic() - began
    (sure,) = program.query(semantics=semantics, engine="bounds", gap=0.0, limits=limits)
    assert isinstance(answer, dpasp.Answer)
    assert isinstance(sure, dpasp.Answer)
    low, high = answer.interval or (0.0, 1.0)
    width, gap = float(high) - float(low), float(sure.gap or 0.0)
    return Row(name, semantics, taken, answer.samples or 0, width, gap, problog)


def drawn_by_problog(text: str, seconds: float) -> int | None:
    """How many samples ``problog sample --estimate`` takes in so many seconds."""
    if "{" in text or "not " in text:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.pl"
        file.write_text(syntax.problog(syntax.parse(text)), encoding="utf-8")
        tool = Path(sys.executable).parent / "problog"
        words = [str(tool), "sample", str(file), "--estimate", "--timeout", str(int(seconds))]
        try:
            run = subprocess.run(words, capture_output=True, text=True, timeout=4 * seconds + 30)
        except (OSError, subprocess.TimeoutExpired):
            return None
    found = re.search(r"after\s+(\d+)\s+samples", run.stdout + run.stderr)
    return int(found.group(1)) if found else None


def main() -> None:
    """Print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    write = sys.stdout.write
    write(f"{seconds:g} seconds each, one core\n\n")
    write(
        "| instance | semantics | worlds a second | width at 95 % | sure gap | ProbLog a second |\n"
    )
    write("|---|---|---|---|---|---|\n")
    for row in rows(seconds):
        rate = f"{row.samples / row.seconds:,.0f}"
        other = "–" if row.problog is None else f"{row.problog / seconds:,.0f}"
        write(f"| {row.name} | {row.semantics} | {rate} | {row.width:.4f} | ")
        write(f"{row.sure:.3f} | {other} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
