"""Circuits on the CPU beside KLay, on the same sums and products.

    pip install klaycircuits
    python -m benchmarks.learning.klay [--threads 1] [--write FILE.md]

Forward and backward of one question in float64, for the circuits of ``circuits.py``: dPASP's native
evaluation, and KLay's layers of torch operations (the real semiring, not compiled by torch, which
takes seconds to minutes for each circuit). Both give the same numbers, or it says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from benchmarks.learning.circuits import BATCHES, PROGRAMS, milliseconds, print_table, weights_of
from torch import Tensor

import dpasp
from dpasp.circuits import Circuit
from dpasp.circuits.gpu.tape import forward_tape
from dpasp.learning.masses import CircuitEngine

CPU = torch.device("cpu")
FIELDS = ("qe",)


def klay_module(circuit: Circuit) -> Any:
    """The circuit as a module of KLay."""
    try:
        import klay
    except ImportError:
        raise SystemExit("this needs KLay: pip install klaycircuits") from None
    tape, theirs = forward_tape(circuit, FIELDS), klay.Circuit()
    constant = {0.0: theirs.false_node, 1.0: theirs.true_node}
    entries = [theirs.literal_node(place + 1) for place in range(tape.heads)]
    entries += [constant[float(value)]() for value in tape.constants]
    for begin, end in zip(tape.starts[:-1], tape.starts[1:], strict=True):
        pairs = tape.pairs[begin:end].tolist()
        products = [theirs.and_node([entries[left], entries[right]]) for left, right in pairs]
        entries.append(theirs.or_node(products))
    for place in tape.out.tolist():
        theirs.set_root(entries[place])
    return theirs.to_torch_module(semiring="real", compile=False)


def with_klay(module: Any, weights: Tensor) -> Callable[[], tuple[Tensor, Tensor]]:
    """The masses [batch] and slopes [leaves, batch] by KLay."""
    columns = weights.T.contiguous().requires_grad_()

    def work() -> tuple[Tensor, Tensor]:
        masses = module(columns)
        (slopes,) = torch.autograd.grad(masses.sum(), columns)
        return masses.detach().flatten(), slopes.T

    return work


def with_dpasp(circuit: Circuit, weights: Tensor) -> Callable[[], tuple[Tensor, Tensor]]:
    """The same by dPASP."""
    engine = CircuitEngine(circuit)
    seeds = torch.ones(circuit.questions, 1, weights.shape[1], dtype=torch.float64)

    def work() -> tuple[Tensor, Tensor]:
        masses, slopes = engine.gradient(weights, seeds, FIELDS)
        return masses.flatten(), slopes

    return work


def rows() -> Iterator[list[str]]:
    """A row of the table for each circuit and batch."""
    yield ["circuit (nodes, depth)", "batch", "dPASP, ms", "KLay, ms", "KLay / dPASP"]
    for name, text in PROGRAMS.items():
        program = dpasp.loads(text)
        circuit = program.circuit(semantics="maxent")
        size = f"{name} ({circuit.statistics.nodes:,}, {circuit.statistics.depth})"
        module = klay_module(circuit)
        for batch in BATCHES:
            weights = weights_of(program, batch, CPU)
            ours, theirs = with_dpasp(circuit, weights), with_klay(module, weights)
            for one, other in zip(ours(), theirs(), strict=True):
                if not torch.allclose(one, other, rtol=1e-9, atol=1e-12):
                    raise SystemExit(f"{name}: the two disagree")
            times = milliseconds(ours, CPU), milliseconds(theirs, CPU)
            shown = [f"{time:.3g}" for time in times]
            yield [size, str(batch), *shown, f"{times[1] / times[0]:.1f}"]


def main() -> None:
    """Print the table, and write it to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print_table(rows(), options.write)


if __name__ == "__main__":
    main()
