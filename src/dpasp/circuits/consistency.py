"""The mass of the total choices without a model, added up rather than subtracted from 1.

A sum over the values of a choice lacks those after which there is no model; their weights,
on the way to the root, are the inconsistent mass. It is 0, and not a rounding error,
when nothing is missing, and a true 1e-20 is not lost. Sums that are not over the
values of one choice (a compiler may branch on atoms) hide what is missing: then there is
only the difference to 1.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.circuits import compile
>>> from dpasp.semantics import leaves
>>> program = ground(parse("1e-20::a. :- a. #query a."))
>>> known = consistency(compile(program, Meaning()), leaves.layout(program.choices))
>>> weights = leaves.weights(program)[:, np.newaxis]
>>> known.missing(weights, np.array([0.0]))
array([1.e-20])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.circuit import Circuit
from dpasp.circuits.layers import SUM, Integers, Layer, Layers, Numbers, same_in_columns, sweep
from dpasp.dataclass import dataclass
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import ROUNDING


@dataclass(frozen=True, slots=True)
class Consistency:
    """What a circuit knows about the total choices without a model."""

    never: bool  # surely none lacks a model
    layers: Layers | None  # the circuit, if what is missing can be added up
    empty: NDArray[np.bool_]  # by value of a leaf: whether it has no model
    layout: LeafLayout

    def missing(self, weights: Weights, difference: Weights) -> Weights:
        """The inconsistent mass [batch], given the difference of the consistent one to 1."""
        if self.never:
            return np.zeros_like(difference)
        if self.layers is None:
            return np.where(difference > ROUNDING, difference, 0.0)
        return self._add_up(self.layers, weights)

    def _add_up(self, layers: Layers, weights: Weights) -> Weights:
        starts = np.array(self.layout.starts, dtype=np.int64)
        wide = np.concatenate([weights, np.ones((1, weights.shape[1]))])

        def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
            present, missing = (layer.sum(wide[layer.weights] * channel) for channel in below)
            return [present, missing + _absent(layer, starts, weights)]

        def multiply(_: Layer, x: Sequence[Numbers], y: Sequence[Numbers]) -> list[Numbers]:
            return [x[0] * y[0], x[1] + x[0] * y[1]]

        empty = same_in_columns(self.empty.astype(np.float64), weights.shape[1])
        _, missing = sweep(layers, [1.0 - empty, empty], add, multiply)
        root: Weights = missing[layers.root]
        return root


def consistency(circuit: Circuit, layout: LeafLayout) -> Consistency:
    """What a circuit knows about total choices without a model; the same at all its roots.

    This looks at all sums at once, since most circuits never need their layers.
    """
    empty = circuit.values.kinds == 0
    if circuit.native.total:
        return Consistency(True, None, empty, layout)
    edges, starts = _edges_of_sums(circuit)
    first = np.array(layout.starts, dtype=np.int64)
    widths: Integers = first[1:] - first[:-1]
    owner = np.append(np.repeat(np.arange(len(widths)), widths), -1)[edges]  # the choice of each
    if len(starts):
        most, least = (f.reduceat(owner, starts) for f in (np.maximum, np.minimum))
        if np.any(least < 0) or np.any(most != least):
            return Consistency(False, None, empty, layout)
    lengths = np.diff(np.append(starts, len(edges)))
    if not np.any(empty) and np.all(lengths == widths[owner[starts]]):
        return Consistency(True, None, empty, layout)
    return Consistency(False, circuit.below(0), empty, layout)


def _edges_of_sums(circuit: Circuit) -> tuple[Integers, Integers]:
    """The weights on the edges of all sums side by side, and where those of each sum start."""
    arrays = circuit.arrays()
    op, begin, end, weight = (
        arrays[name].astype(np.int64) for name in ("op", "begin", "end", "weight")
    )
    sums = op == SUM
    lengths = (end - begin)[sums]
    starts = np.cumsum(lengths) - lengths
    edges = np.repeat(begin[sums] - starts, lengths) + np.arange(lengths.sum())
    return weight[edges], starts


def _absent(layer: Layer, first: Integers, weights: Weights) -> Weights:
    """By sum, the weights of the values of its choice that it has no edge for."""
    choice = np.searchsorted(first, layer.weights[layer.starts], side="right") - 1
    widths = first[choice + 1] - first[choice]
    places = np.cumsum(widths) - widths  # where the values of each sum's choice are looked at
    leaves = np.repeat(first[choice] - places, widths) + np.arange(widths.sum())
    absent = np.ones(len(leaves), dtype=np.bool_)
    absent[np.repeat(places - first[choice], layer.lengths) + layer.weights] = False
    sums: Weights = np.add.reduceat(weights[leaves] * absent[:, np.newaxis], places)
    return sums
