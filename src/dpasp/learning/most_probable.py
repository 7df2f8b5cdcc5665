"""Most probable values by row, with the walks over the circuit on the device of the weights.

It is :mod:`dpasp.inference.map.rows` with tensors in place of arrays. What the walks are not sure
of is searched on the CPU.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpasp.ground.program import GroundMap, GroundProgram
from dpasp.inference.answers import MapAnswers
from dpasp.inference.asked import ask, evidence_rows
from dpasp.inference.exact import auto, compiled
from dpasp.inference.map.rows import MarkedCircuit, Walk, by_numpy, map_table
from dpasp.language.observations import Rows
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.meaning import Meaning


class TorchArrays:
    """Tensors on a device, as :class:`dpasp.inference.map.rows.Arrays`."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def new(self, nodes: int, like: Tensor) -> Tensor:
        """Logarithms of 0."""
        return like.new_full((nodes, like.shape[1]), -torch.inf)

    def numbers(self, values: NDArray[Any]) -> Tensor:
        """An array of numpy as a tensor there."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def largest(
        self, terms: Tensor, starts: NDArray[np.int64], owner: Tensor, count: int
    ) -> Tensor:
        """The largest term of each sum."""
        result = self.new(count, terms)
        return result.scatter_reduce(0, owner[:, None].expand_as(terms), terms, "amax")

    def total(self, terms: Tensor, starts: NDArray[np.int64], owner: Tensor, count: int) -> Tensor:
        """The logarithm of the sum of the terms of each sum."""
        most = self.largest(terms, starts, owner, count)
        safe = torch.where(most.isfinite(), most, 0.0)
        sums = torch.zeros_like(safe).index_add(0, owner, (terms - safe[owner]).exp())
        return sums.log() + safe

    def raise_to(self, array: Tensor, places: Tensor, values: Tensor) -> None:
        """Put values where they are larger."""
        array.scatter_reduce_(0, places[:, None].expand_as(values), values, "amax")

    def where(self, condition: Tensor, one: Any, other: Any) -> Tensor:
        """One or the other."""
        return torch.where(condition, one, other)


def on_device(weights: Tensor) -> Any:
    """What walks over a batch of rows on the device of the weights [leaves, rows]."""
    size, arrays = len(weights), TorchArrays(weights.device)

    def walk(circuit: MarkedCircuit, wide: Weights, rows: slice) -> Walk:
        rest = arrays.numbers(wide[size:])
        columns = weights[:, rows] if weights.shape[1] > 1 else weights.expand(-1, wide.shape[1])
        found = circuit.walked(torch.cat([columns.to(rest.dtype), rest]).log(), arrays)
        return tuple(part.cpu() for part in found)

    return walk


def map_rows(
    ground: GroundProgram, meaning: Meaning, weights: Tensor, rows: Rows | None, watch: Watch
) -> MapAnswers:
    """The most probable values for every column of the weights, and row of evidence.

    Raises what :meth:`dpasp.Program.map` raises.
    """
    walker = by_numpy if weights.device.type == "cpu" else on_device(weights)
    numbers = weights.cpu().numpy().astype(np.float64)
    if rows is None:  # rows without evidence of their own
        rows = Rows((), np.zeros((numbers.shape[1], 0), dtype=np.int32))
    elif numbers.shape[1] == 1 and len(rows) > 1:
        numbers = numbers[:, 0]
    table = evidence_rows(rows, ground, meaning)
    asked = ask(ground, meaning, weights=numbers, watch=watch, rows=table)
    (question,) = asked.questions
    assert isinstance(question, GroundMap)
    solve = compiled if asked.method.exact else auto
    return replace(map_table(asked, question, solve, walker), row_labels=rows.index)
