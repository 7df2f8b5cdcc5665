"""Enumerated total choices as a circuit: what cannot be compiled is still evaluated as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.circuit import Circuit, Statistics
from dpasp.language.ast import Logic, Probability
from dpasp.logic.program import Choice
from dpasp.native import _native
from dpasp.semantics.leaves import width


def fold(
    choices: Sequence[Choice],
    values: NDArray[np.integer],
    counts: NDArray[np.number],
    logic: Logic,
    probability: Probability | None = None,
    *,
    observed: int = 0,
    seconds: float = 0.0,
) -> Circuit:
    """The circuit of a table of total choices; those that are missing have no models.

    ``values[row, i]`` is the position of the value of choice i among its leaves, each total
    choice in one row; ``counts[row, question]`` are the numbers of models that satisfy
    query and evidence, the evidence only, and not the evidence. Of so many ``observed``
    atoms, the last columns of the values say whether they are true (0) or false (1); as in
    a compiled circuit they add two leaves each. ``seconds`` is what the table took.
    """
    if values.shape[1]:
        order = np.lexsort(values.T[::-1])  # lexicographic, as the native code wants it
        values, counts = values[order], counts[order]
    native = _native.fold(
        np.array([*map(width, choices), *[2] * observed], dtype=np.int64),
        np.ascontiguousarray(values, dtype=np.int64),
        np.ascontiguousarray(counts, dtype=np.float64),
    )
    statistics = Statistics(
        choices=len(choices),
        determined=0,
        inner=0,
        guesses=0,
        gates=0,
        nodes=native.nodes,
        edges=native.edges,
        depth=native.depth,
        width=len(choices),
        way="enumerated",
        order="",
        seconds=seconds,
    )
    return Circuit(logic, probability, statistics, native)
