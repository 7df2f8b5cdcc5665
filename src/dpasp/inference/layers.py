"""The part of a circuit below one root, as arrays that numpy can sweep over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Arrays = Mapping[str, NDArray[np.generic]]  # what Circuit.arrays() gives
QE, E, OTHER = 1, 2, 4  # the kinds of models of a leaf: q and e hold; only e; not e
LEAF, SUM, PRODUCT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Layer:
    """Nodes whose children all lie in earlier layers; edges of sums lie side by side."""

    leaves: Integers
    sums: Integers
    starts: Integers  # the first edge of each sum
    weights: Integers  # by edge; -1 is a weight of 1
    children: Integers  # by edge
    products: Integers
    left: Integers
    right: Integers


@dataclass(frozen=True, slots=True)
class Layers:
    """The nodes below a root, bottom up."""

    layers: tuple[Layer, ...]
    root: int
    value: Integers  # by node: the number of a leaf's value; -1 for other nodes

    def __len__(self) -> int:
        return len(self.value)


def layers_below(arrays: Arrays, root: int) -> Layers:
    """The layers of the nodes below a root."""
    op, begin, end, weight, child = (
        arrays[name].astype(np.int64) for name in ("op", "begin", "end", "weight", "child")
    )
    below = np.zeros(len(op), dtype=np.bool_)
    below[root] = True
    for node in range(root, -1, -1):  # children have smaller numbers than their parents
        if below[node] and op[node] != LEAF:
            below[child[begin[node] : end[node]]] = True
    layers = []
    for first, last in pairwise(arrays["layers"].astype(np.int64).tolist()):
        nodes = first + np.flatnonzero(below[first:last])
        sums, products = nodes[op[nodes] == SUM], nodes[op[nodes] == PRODUCT]
        lengths = end[sums] - begin[sums]
        starts = np.cumsum(lengths) - lengths
        edges = np.repeat(begin[sums] - starts, lengths) + np.arange(lengths.sum())
        leaves = nodes[op[nodes] == LEAF]
        left, right = child[begin[products]], child[begin[products] + 1]
        layers.append(
            Layer(leaves, sums, starts, weight[edges], child[edges], products, left, right)
        )
    return Layers(tuple(layers), root, np.where(below & (op == LEAF), begin, -1))
