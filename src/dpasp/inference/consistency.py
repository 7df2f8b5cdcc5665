"""The mass of the total choices without a model, added up rather than subtracted from 1.

A sum over the values of a choice lacks those after which there is no model; their weights,
on the way to the root, are the inconsistent mass. It is 0, and not a rounding error,
when nothing is missing, and a true 1e-20 is not lost. Sums that are not over the
values of one choice (a compiler may branch on atoms) hide what is missing: then there is
only the difference to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpasp.inference.layers import SUM, Arrays, Integers, Layers, layers_below
from dpasp.semantics.leaves import Leaves, Weights
from dpasp.semantics.masses import ROUNDING


@dataclass(frozen=True, slots=True)
class Consistency:
    """What is known about the total choices without a model."""

    never: bool  # surely none lacks a model
    below: Layers | None  # the circuit, if what is missing can be added up
    empty: NDArray[np.bool_]  # by value of a leaf: whether it has no model
    leaves: Leaves

    def missing(self, weights: Weights, difference: Weights) -> Weights:
        """The inconsistent mass [batch], given the difference of the consistent one to 1."""
        if self.never:
            return np.zeros_like(difference)
        if self.below is None:
            return np.where(difference > ROUNDING, difference, 0.0)
        return self._add_up(self.below, weights)

    def _add_up(self, below: Layers, weights: Weights) -> Weights:
        starts = np.array(self.leaves.starts, dtype=np.int64)
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        wide = np.concatenate([weights, np.ones((1, weights.shape[1]))])
        present, missing = (np.zeros((len(below), weights.shape[1])) for _ in range(2))
        nodes = np.flatnonzero(below.value >= 0)
        missing[nodes] = self.empty[below.value[nodes], np.newaxis]
        present[nodes] = 1.0 - missing[nodes]
        for layer in below.layers:
            if len(layer.sums):
                own = wide[layer.weights]
                for array in (present, missing):
                    array[layer.sums] = np.add.reduceat(own * array[layer.children], layer.starts)
                missing[layer.sums] += _absent(layer.weights, layer.starts, owner, starts, weights)
            x, y, here = layer.left, layer.right, layer.products
            present[here] = present[x] * present[y]
            missing[here] = missing[x] + present[x] * missing[y]
        root: Weights = missing[below.root]
        return root


def consistency(arrays: Arrays, leaves: Leaves) -> Consistency:
    """What a circuit tells about total choices without a model; all its roots tell the same."""
    op, begin, end, weight = (
        arrays[name].astype(np.int64) for name in ("op", "begin", "end", "weight")
    )
    empty = arrays["kinds"].astype(np.int64) == 0
    sums = op == SUM
    lengths = (end - begin)[sums]
    starts = np.cumsum(lengths) - lengths
    edges = np.repeat(begin[sums] - starts, lengths) + np.arange(lengths.sum())
    first = np.array(leaves.starts, dtype=np.int64)
    widths: Integers = first[1:] - first[:-1]
    owner = np.append(np.repeat(np.arange(len(widths)), widths), -1)[weight[edges]]
    single = bool(np.all(owner >= 0)) and bool(
        not len(starts)
        or np.all(np.maximum.reduceat(owner, starts) == np.minimum.reduceat(owner, starts))
    )
    if not single:
        return Consistency(False, None, empty, leaves)
    whole = bool(np.all(lengths == widths[owner[starts]])) if len(starts) else True
    if whole and not np.any(empty):
        return Consistency(True, None, empty, leaves)
    below = layers_below(arrays, int(arrays["roots"].astype(np.int64)[0]))
    return Consistency(False, below, empty, leaves)


def _absent(
    edges: Integers, starts: Integers, owner: Integers, first: Integers, weights: Weights
) -> Weights:
    """By sum, the weights of the values of its choice that it has no edge for."""
    choice = owner[edges[starts]]
    widths = (first[1:] - first[:-1])[choice]
    places = np.cumsum(widths) - widths  # where the values of each sum's choice are looked at
    leaves = np.repeat(first[choice] - places, widths) + np.arange(widths.sum())
    lengths = np.diff(np.append(starts, len(edges)))
    absent = np.ones(len(leaves), dtype=np.bool_)
    absent[np.repeat(places - first[choice], lengths) + edges] = False
    found: Weights = np.add.reduceat(weights[leaves] * absent[:, np.newaxis], places)
    return found
