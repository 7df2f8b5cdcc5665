"""A circuit as layers of nodes, the meaning of their numbers, and evaluation in Python.

A leaf stands for the models of a total choice (or of an independent part of it) and says which
*kinds* of models there are: some that satisfy query and evidence, some that satisfy only the
evidence, some that do not satisfy the evidence. If one leaf counts for all consistent total
choices, the other leaves are *uncounted*. A *channel* is a number at every node. At a leaf it
depends on the kinds; a sum adds it up, and a product of independent parts multiplies it. Two of the
masses, c and d, do not simply multiply: their product rule uses two more channels, so that nothing
is ever subtracted.

>>> CHANNELS["a"](np.array([QE, QE | E, OTHER])).tolist()       # every model is of kind QE
[True, False, False]
>>> MIXED["d"]
Mixed(whole='some e', part='every e is qe')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass

LEAF, SUM, PRODUCT = 0, 1, 2  # what a node is
QE, E, OTHER = 1, 2, 4  # the kinds of models at a leaf, as bits
UNCOUNTED = 8  # one more bit: it does not count for the consistent mass
MODELS = QE | E | OTHER
KIND_NAMES = {QE: "q, e", E: "e, not q", OTHER: "not e"}  # 0: no model

# By channel: which kinds have it. They are arrays of numpy or tensors of torch.
CHANNELS: Mapping[str, Callable[[Any], Any]] = {
    "consistent": lambda kinds: (kinds != 0) & ((kinds & UNCOUNTED) == 0),
    "a": lambda kinds: (kinds & MODELS) == QE,
    "b": lambda kinds: (kinds & QE) != 0,
    "c": lambda kinds: (kinds & MODELS) == E,
    "d": lambda kinds: (kinds & E) != 0,
    "some e": lambda kinds: (kinds & (QE | E)) != 0,
    "every e is qe": lambda kinds: ((kinds & QE) != 0) & ((kinds & E) == 0),
    "every is e": lambda kinds: (kinds != 0) & ((kinds & OTHER) == 0),
    "every is e, some qe": lambda kinds: ((kinds & QE) != 0) & ((kinds & OTHER) == 0),
}


class Mixed(NamedTuple):
    """The product rule x·whole(y) + part(x)·y of a channel, with two other channels."""

    whole: str
    part: str


MIXED: Mapping[str, Mixed] = {
    "c": Mixed("every is e", "every is e, some qe"),
    "d": Mixed("some e", "every e is qe"),
}


@dataclass(frozen=True, slots=True)
class LeafValues:
    """The distinct values of a circuit's leaves."""

    kinds: NDArray[np.int64]
    qe: NDArray[np.float64]  # the share of the models that satisfy query and evidence,
    e: NDArray[np.float64]  # and of those that satisfy the evidence

    def channel(self, name: str) -> NDArray[np.float64]:
        """The numbers of a channel at the leaves; for ``qe`` and ``e``, the shares."""
        if name in ("qe", "e"):
            return self.qe if name == "qe" else self.e
        values: NDArray[np.float64] = CHANNELS[name](self.kinds).astype(np.float64)
        return values


def kinds_text(kinds: int) -> str:
    """The kinds of models at a leaf, in words.

    >>> kinds_text(QE | OTHER), kinds_text(0)
    ('q, e | not e', 'no model')
    """
    return " | ".join(name for bit, name in KIND_NAMES.items() if kinds & bit) or "no model"


# --- layers --------------------------------------------------------------------------------------

Integers = NDArray[np.int64]
Numbers = NDArray[Any]  # [nodes] or [nodes, batch], of any type


@dataclass(frozen=True, slots=True)
class Layer:
    """Nodes whose children are all in earlier layers; the edges of a sum are side by side."""

    sums: Integers
    starts: Integers  # the first edge of each sum
    weights: Integers  # by edge: the number of a leaf weight, -1 for a weight of 1
    children: Integers  # by edge
    products: Integers
    left: Integers  # by product
    right: Integers

    def sum(self, terms: Numbers) -> Numbers:
        """The sums of terms, one for each edge."""
        sums: Numbers = np.add.reduceat(terms, self.starts)
        return sums

    @property
    def lengths(self) -> Integers:
        """The number of edges of each sum."""
        return np.diff(np.append(self.starts, len(self.children)))

    def kept(self, alive: NDArray[np.bool_]) -> Layer:
        """The layer without the nodes that are not ``alive`` [nodes of the circuit]."""
        sums, products = alive[self.sums], alive[self.products]
        lengths = self.lengths
        edges = np.repeat(sums, lengths)
        return Layer(
            self.sums[sums],
            np.cumsum(lengths[sums]) - lengths[sums],
            self.weights[edges],
            self.children[edges],
            self.products[products],
            self.left[products],
            self.right[products],
        )


@dataclass(frozen=True, slots=True)
class Layers:
    """The nodes of a circuit bottom up, or those below some of its roots."""

    layers: tuple[Layer, ...]
    value: Integers  # by node: the number of a leaf's value; -1 for other nodes
    roots: Integers  # one for each question

    def __len__(self) -> int:
        return len(self.value)

    @property
    def root(self) -> int:
        """The root, if there is one question."""
        (root,) = self.roots.tolist()
        return int(root)

    def below(self, question: int) -> Layers:
        """The nodes that a question needs, with the same numbers."""
        root = self.roots[question : question + 1]
        alive = np.zeros(len(self), dtype=np.bool_)
        alive[root] = True
        kept = []
        for layer in reversed(self.layers):  # a parent is marked before its children
            reduced = layer.kept(alive)
            for children in (reduced.children, reduced.left, reduced.right):
                alive[children] = True
            kept.append(reduced)
        return Layers(tuple(reversed(kept)), np.where(alive, self.value, -1), root)


def decode(arrays: Mapping[str, NDArray[np.generic]]) -> Layers:
    """The layers of a circuit that is given as flat arrays (see :meth:`Circuit.arrays`)."""
    op, begin, end, weight, child = (
        arrays[name].astype(np.int64) for name in ("op", "begin", "end", "weight", "child")
    )
    layers = []
    for first, last in pairwise(arrays["layers"].astype(np.int64).tolist()):
        nodes = np.arange(first, last)
        sums, products = nodes[op[nodes] == SUM], nodes[op[nodes] == PRODUCT]
        lengths = end[sums] - begin[sums]
        starts = np.cumsum(lengths) - lengths
        edges = np.repeat(begin[sums] - starts, lengths) + np.arange(lengths.sum())
        left, right = child[begin[products]], child[begin[products] + 1]
        layers.append(Layer(sums, starts, weight[edges], child[edges], products, left, right))
    value = np.where(op == LEAF, begin, -1)
    return Layers(tuple(layers), value, arrays["roots"].astype(np.int64))


Add = Callable[[Layer, Sequence[Numbers]], Iterable[Numbers]]
Multiply = Callable[[Layer, Sequence[Numbers], Sequence[Numbers]], Iterable[Numbers]]


def sweep(
    layers: Layers, leaves: Sequence[Numbers], add: Add, multiply: Multiply
) -> tuple[Numbers, ...]:
    """The channels at every node [nodes, …batch], from those of the leaf values.

    The caller defines addition and multiplication: of probabilities, of logarithms with maxima
    instead of sums, of bounds, of numbers in a finite field, of sets of bits.

    ``add`` gets a layer and the channels at the children of its sums (by edge), and returns the
    channels of the sums; ``multiply`` gets those at the left and the right factors of the products.
    Nodes that are not in the layers stay 0.

    >>> from dpasp import loads
    >>> circuit = loads("0.3::a. 0.5::b. c :- a. c :- b. #query c.").circuit()
    >>> layers = circuit.layers.below(0)                 # the part that the first question needs
    >>> wide = np.append([0.3, 0.7, 0.5, 0.5], 1.0)      # the edge weight -1 is a 1
    >>> (values,) = sweep(
    ...     layers,
    ...     [circuit.values.channel("b")],
    ...     add=lambda layer, below: [layer.sum(wide[layer.weights] * below[0])],
    ...     multiply=lambda layer, left, right: [left[0] * right[0]],
    ... )
    >>> float(values[layers.root])                       # the mass b of the question
    0.65
    """
    leaf = np.flatnonzero(layers.value >= 0)
    channels = tuple(
        np.zeros((len(layers), *leaf_values.shape[1:]), dtype=leaf_values.dtype)
        for leaf_values in leaves
    )
    for channel, leaf_values in zip(channels, leaves, strict=True):
        channel[leaf] = leaf_values[layers.value[leaf]]
    for layer in layers.layers:
        if len(layer.sums):
            below = [channel[layer.children] for channel in channels]
            for channel, values in zip(channels, add(layer, below), strict=True):
                channel[layer.sums] = values
        if len(layer.products):
            left = [channel[layer.left] for channel in channels]
            right = [channel[layer.right] for channel in channels]
            for channel, values in zip(channels, multiply(layer, left, right), strict=True):
                channel[layer.products] = values
    return channels


def same_in_columns(values: Numbers, batch: int) -> Numbers:
    """The values of leaves [values] as [values, batch], with equal columns."""
    return np.repeat(values[:, np.newaxis], batch, axis=1)
