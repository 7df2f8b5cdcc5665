"""Circuits on a device: one kernel each way, beside torch operations level by level.

    python -m benchmarks.learning.circuits [--device cuda] [--write FILE.md]

Forward and backward, one question, the mean of the models that satisfy it. The floor is what it
takes to read both factors of every product and write every sum once, there and back, at the
bandwidth that a large copy reaches in the same run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from benchmarks.inference import families
from torch import Tensor

import dpasp
from dpasp.circuits import Circuit
from dpasp.circuits.gpu.tape import backward_tape, forward_tape
from dpasp.circuits.gpu.walks import Walked
from dpasp.learning.masses import CircuitEngine
from dpasp.semantics import leaves

PROGRAMS = {
    "grid 6": families.grid(6),
    "smokers 25": families.smokers(25),
    "smokers 30": families.smokers(30),
    "sparse 50": families.sparse(50),
    "addition 100": families.addition(100),
}
BATCHES = (1, 64, 1024)
REPEAT = 21


class LevelByLevel(Walked):
    """The same circuit by torch operations, also where there is a kernel."""

    scaled = False  # type: ignore[assignment]


def milliseconds(work: Callable[[], object], device: torch.device) -> float:
    """The median time of some work, after a warm-up."""
    times = []
    for i in range(REPEAT + 3):
        _wait(device)
        started = time.perf_counter()
        work()
        _wait(device)
        if i >= 3:
            times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def bandwidth(device: torch.device) -> float:
    """Bytes a second, read and written, of a large copy."""
    size = 1 << (30 if device.type == "cuda" else 26)
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / (milliseconds(lambda: target.copy_(source), device) / 1e3)


def weights_of(program: dpasp.Program, batch: int, device: torch.device) -> Tensor:
    """The program's own weights, a little different in each column."""
    own = torch.from_numpy(leaves.weights(program.ground()))[:, None].expand(-1, batch)
    generator = torch.Generator().manual_seed(1)
    noise = torch.rand(own.shape, generator=generator, dtype=torch.float64)
    return (own * (1 - 0.1 * noise)).to(device)


def rows(device: torch.device) -> Iterator[list[str]]:
    """A row of the table for each circuit and batch."""
    speed = bandwidth(device)
    yield ["circuit (nodes, depth)", "batch", "kernel, ms", "logarithms", "level by level", "floor"]
    for name, text in PROGRAMS.items():
        program = dpasp.loads(text)
        circuit = program.circuit(semantics="maxent")
        size = f"{name} ({circuit.statistics.nodes:,}, {circuit.statistics.depth})"
        for batch in BATCHES:
            weights = weights_of(program, batch, device)
            floor = 1e3 * _moved(circuit) * batch * 8 / speed
            times = [
                _both_ways(Walked(circuit, device), weights, False),
                _both_ways(Walked(circuit, device), weights, True),
                _both_ways(LevelByLevel(circuit, device), weights, False),
            ]
            yield [size, str(batch), *(f"{t:.2f}" for t in times), f"{floor:.3f}"]
            _compare(circuit, weights)


def _moved(circuit: Circuit) -> int:
    """How many numbers a column moves, there and back."""
    there = forward_tape(circuit, ("qe",))
    back = backward_tape(there)
    return sum(2 * len(tape.pairs) + len(tape.starts) - 1 for tape in (there, back))


def _both_ways(walked: Walked, weights: Tensor, log: bool) -> float:
    seeds = torch.ones(walked.circuit.questions, 1, weights.shape[1], dtype=torch.float64)
    seeds = seeds.to(weights.device)
    work = lambda: walked.gradient(weights, seeds, ("qe",), log)  # noqa: E731
    return milliseconds(work, weights.device)


def _compare(circuit: Circuit, weights: Tensor) -> None:
    """Raise if the kernel and the CPU disagree."""
    few = weights[:, :8]
    seeds = torch.ones(circuit.questions, 1, few.shape[1], dtype=torch.float64)
    expected = CircuitEngine(circuit).gradient(few.cpu(), seeds, ("qe",))
    found = Walked(circuit, weights.device).gradient(few, seeds.to(weights.device), ("qe",))
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one.cpu(), other, rtol=1e-10, atol=1e-14)


def print_table(table: Iterator[list[str]], file: Path | None) -> None:
    """Print the rows of a table, the first of them its head, and write them to a file."""
    lines = []
    for i, row in enumerate(table):
        lines.append(f"| {' | '.join(row)} |")
        if i == 0:
            lines.append("|---" * len(row) + "|")
        print("\n".join(lines) if i == 0 else lines[-1], flush=True)
    if file:
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Print the table, and write it to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--write", type=Path)
    told = parser.parse_args()
    print_table(rows(torch.device(told.device)), told.write)


if __name__ == "__main__":
    main()
