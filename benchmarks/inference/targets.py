"""The targets: how long some instances should take, and how long they do."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inference.instances import FAMILIES, MAXENT, TARGETS, Instance, Target
from benchmarks.inference.measure import Limits, Run, State, run
from benchmarks.inference.report import STATES
from rich.console import Console
from rich.table import Table

TEN_LINES = """0.1::burglary.
0.2::earthquake.
0.9::alarm :- burglary, earthquake.
0.8::alarm :- burglary, not earthquake.
0.1::alarm :- not burglary, earthquake.
0.7::calls(X) :- alarm, neighbour(X).
neighbour(mary). neighbour(john).
worried :- calls(mary), not relaxed.
relaxed :- calls(mary), not worried.
#query worried | calls(john).
"""


@dataclass(frozen=True, slots=True)
class Result:
    """A target and what was measured."""

    name: str
    target: float
    seconds: float | None  # None: given up
    note: str = ""

    @property
    def cells(self) -> list[str]:
        """Name, target, what was measured, how much of the target that is, more."""
        if self.seconds is None:
            return [self.name, f"{self.target:g}", "–", "–", self.note]
        factor = f"{self.seconds / self.target:.2f}"
        missed = " (missed)" if self.seconds > self.target else ""
        return [self.name, f"{self.target:g}", f"{self.seconds:.3f}", factor + missed, self.note]


HEAD = ["instance", "target, s", "measured, s", "measured / target", ""]


def results(limits: Limits, repeat: int) -> Iterator[Result]:
    """All targets, each the best of some runs in fresh processes."""
    for target in TARGETS:
        yield _best(target, limits, repeat)
    yield _linear(limits)
    yield _command(limits, repeat)


def inside(
    instance: Instance, limits: Limits, engine: str = "auto"
) -> tuple[Run, dict[str, object]]:
    """One run of ``benchmarks.inference.inside``, and what it printed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "program.plp"
        file.write_text(instance.text + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.inference.inside", str(file)]
        found = run([*command, instance.semantics, engine], Path(folder), limits)
    return found, json.loads(found.output) if found.state is State.ANSWERED else {}


def _best(target: Target, limits: Limits, repeat: int) -> Result:
    instance = target.instance
    name = f"{instance.family.name} {instance.size} ({instance.semantics.split(',')[1]})"
    best: float | None = None
    note = ""
    for _ in range(repeat):
        found, told = inside(instance, limits)
        if not told:
            return Result(name, target.seconds, best, STATES.get(found.state, "failed"))
        seconds = float(str(told["seconds"]))
        best = seconds if best is None else min(best, seconds)
        note = f"{told['nodes']} nodes, {told['way']}"
        if seconds > 2:
            break
    return Result(name, target.seconds, best, note)


def _linear(limits: Limits) -> Result:
    """Nodes of 100 digits against those of 50: at most twice as many."""
    nodes = []
    for digits in (50, 100):
        _, told = inside(Instance(FAMILIES["addition"], digits, MAXENT), limits)
        if not told:
            return Result("addition: nodes of 100 digits / of 50", 2.05, None)
        nodes.append(int(str(told["nodes"])))
    ratio = nodes[1] / nodes[0]
    note = f"{nodes[1]} / {nodes[0]} nodes, no seconds"
    return Result("addition: nodes of 100 digits / of 50", 2.05, ratio, note)


def _command(limits: Limits, repeat: int) -> Result:
    """Wall seconds of the whole command on a ten-line program."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        (Path(folder) / "alarm.plp").write_text(TEN_LINES, encoding="utf-8")
        command = [sys.executable, "-m", "dpasp", "run", "alarm.plp"]
        runs = [run(command, Path(folder), limits) for _ in range(max(repeat, 5))]
    if any(one.state is not State.ANSWERED for one in runs):
        return Result("dpasp run, ten lines (wall, start-up included)", 0.45, None, "failed")
    best = min(runs, key=lambda one: one.wall)
    note = f"{best.cpu:.2f} CPU s"
    return Result("dpasp run, ten lines (wall, start-up included)", 0.45, best.wall, note)


def show(found: list[Result], console: Console) -> None:
    """Print the targets as a table."""
    table = Table(title="targets: CPU seconds, start-up aside", title_justify="left")
    for i, name in enumerate(HEAD):
        table.add_column(name, justify="right" if 0 < i < 4 else "left")
    for result in found:
        style = "red" if result.seconds is None or result.seconds > result.target else None
        table.add_row(*result.cells, style=style)
    console.print(table)


def markdown(found: list[Result]) -> list[str]:
    """The lines of the targets as a Markdown table."""
    body = [result.cells for result in found]
    return [
        "| " + " | ".join(HEAD) + " |",
        "|---|---:|---:|---:|---|",
        *("| " + " | ".join(cells) + " |" for cells in body),
    ]
